"""The settings, clients and places that all stream threads of an instance share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from millstream.protocol.generated.streams_group_heartbeat import Endpoint
from millstream.protocol.generated.streams_group_heartbeat import Topology as ToldTopology
from millstream.runtime import Clock
from millstream.streams.application.clients import ClientSupplier
from millstream.streams.application.group.membership import StreamsMembershipPolicy
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.host_info import HostInfo
from millstream.streams.restore_listener import StateRestoreListener
from millstream.streams.runtime.snapshots.description import SnapshotPlan
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.steps import Observer, observe_nothing
from millstream.streams.runtime.upstreams.watch import UpstreamWatch
from millstream.streams.topology.topology import Topology

COMMIT_INTERVAL_MS: Final = 30_000
"""Kafka Streams' commit.interval.ms."""
COMMIT_INTERVAL_EXACTLY_ONCE_MS: Final = 100
"""The same with exactly once (EOS_DEFAULT_COMMIT_INTERVAL_MS)."""
REBALANCE_TIMEOUT_MS: Final = 300_000
"""As max.poll.interval.ms of Kafka."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationEnvironment:
    """The facts about an instance that has been started. The processes of its stream threads are sent the same."""

    topology: Topology
    config: StreamsConfig
    supplier: ClientSupplier
    clock: Clock
    policy: StreamsMembershipPolicy
    state_directory: str
    client_id: str
    observe: Observer = observe_nothing
    restore_listener: StateRestoreListener | None = None
    upstreams: UpstreamWatch = field(default_factory=UpstreamWatch, compare=False)

    @property
    def is_exact(self) -> bool:
        return self.config.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2

    @property
    def commit_interval_ms(self) -> int:
        if self.config.commit_interval_ms is not None:
            return self.config.commit_interval_ms
        return COMMIT_INTERVAL_EXACTLY_ONCE_MS if self.is_exact else COMMIT_INTERVAL_MS

    def spec(self, sub_topology: int, topics: tuple[str, ...] | None) -> TaskSpec:
        """Returns what the tasks of a sub-topology are made from that read these topics."""
        return TaskSpec(
            topology=self.topology,
            sub_topology=sub_topology,
            config=self.config,
            state_directory=self.state_directory,
            topics=topics,
            snapshots=self.snapshots,
        )

    @property
    def snapshots(self) -> SnapshotPlan | None:
        """The place of snapshots of stores; None where there are to be none."""
        config = self.config
        if config.checkpoint_directory is None:
            return None
        directory = str(Path(config.checkpoint_directory).resolve())
        return SnapshotPlan(directory, config.checkpoint_interval_ms)


def membership_policy(
    config: StreamsConfig, told: ToldTopology | None, own_host: HostInfo | None, process_id: str
) -> StreamsMembershipPolicy:
    """Returns what all members of an instance say of it.

    `told` is the topology; None where the coordinator is told of none.
    """
    return StreamsMembershipPolicy(
        group_id=config.application_id,
        topology=told,
        process_id=process_id,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        endpoint=None if own_host is None else Endpoint(own_host.host, own_host.port),
    )
