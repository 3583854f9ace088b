"""The parts of a node that its metrics and its health are read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.fetch.fetch_sessions import FetchSessions
from millstream.broker.long_work import LongWork
from millstream.broker.metadata_log.controller_runner import ControllerRunner
from millstream.broker.metadata_log.snapshots import MetadataSnapshots
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.metrics.quorum_metrics import QuorumMetrics
from millstream.broker.node_state import BrokerLife
from millstream.broker.quotas.node_quotas import NodeQuotas
from millstream.broker.requests.purgatory import Purgatory
from millstream.broker.services import Partitions
from millstream.controller.partitions.replica_health import (
    ReplicaHealth,
    all_partitions,
    replica_health,
)
from millstream.controller.partitions.topic_replication import ReplicationOf, reader_of_all
from millstream.log.directory.log_directories import LogDirectories
from millstream.metadata.effective_config import BrokerSettings
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId
from millstream.runtime import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerView:
    """The parts that only a broker has."""

    partitions: Partitions
    group_coordinator: GroupCoordination
    purgatory: Purgatory
    fetch_sessions: FetchSessions


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A read-only view of the parts of a node, whatever its roles are."""

    node_id: BrokerId
    life: BrokerLife
    clock: Clock
    metrics: NodeMetrics
    controller: ControllerRunner
    """The controller of this node where it has that role; on every node the metadata and the quorum."""
    quorum: QuorumMetrics
    snapshots: MetadataSnapshots
    log_directories: LogDirectories
    long_work: LongWork
    quotas: NodeQuotas
    is_controller: bool
    broker: BrokerView | None
    """None on a node that is a controller alone."""
    settings: Mapping[str, str]
    """What the node was started with: the defaults of topics are in it."""

    def cluster_replicas(self) -> ReplicaHealth:
        """Counts all partitions of the cluster, as this node knows them."""
        image = self.controller.image
        return replica_health(all_partitions(image), self._settings_of_topics(image))

    def led_replicas(self) -> ReplicaHealth:
        """Counts the partitions that this node leads, as the controller has committed it."""
        image = self.controller.image
        led = (each for each in all_partitions(image) if each[1].leader == self.node_id)
        return replica_health(led, self._settings_of_topics(image))

    def _settings_of_topics(self, image: MetadataImage) -> ReplicationOf:
        broker = BrokerSettings.of(image, self.node_id, self.settings)
        return reader_of_all(image, broker.topic_defaults())
