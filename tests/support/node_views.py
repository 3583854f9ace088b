"""Views of nodes for tests of metrics and health: as much of each part as is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from millstream.broker.metadata_log.driver import QuorumDescription
from millstream.broker.metadata_log.snapshots import WrittenSnapshot
from millstream.broker.metrics.node_metrics import NodeMetrics
from millstream.broker.metrics.node_view import BrokerView, NodeView
from millstream.broker.metrics.quorum_metrics import ControllerMetrics, QuorumMetrics
from millstream.broker.node_state import BrokerLife, BrokerState
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.quorum_description import ReplicaState
from millstream.raft.voter_set import ReplicaKey
from millstream.runtime import Instant
from tests.support.handler_services import NotGiven, no_quotas, node_view

NOW: Final = Instant(1_700_000_000_000, 60_000)
LEADING: Final = ReplicaState(name="leader", hears_leader=True)
FOLLOWING: Final = ReplicaState(name="follower", hears_leader=True)


def quorum(
    leader_id: int = 1,
    own: ReplicaState = LEADING,
    *,
    epoch: int = 7,
    voters: tuple[int, ...] = (1, 2, 3),
    **more: Any,  # Any: fields of a description
) -> QuorumDescription:
    return QuorumDescription(
        BrokerId(leader_id),
        LeaderEpoch(epoch),
        Offset(40),
        Offset(41),
        tuple(ReplicaKey(BrokerId(each)) for each in voters),
        own=own,
        **{
            "applied_end_offset": Offset(40),
            "committed_end_offset": Offset(40),
            "lag_ms": 0,
            **more,
        },
    )


@dataclass
class GivenController:
    """What metrics and health read of a `ControllerRunner`."""

    image: MetadataImage = field(default_factory=lambda: MetadataImage(cluster_id="c"))
    description: QuorumDescription = field(default_factory=quorum)
    is_active: bool = True
    silences: dict[BrokerId, int] = field(default_factory=dict)
    metrics: ControllerMetrics = field(default_factory=ControllerMetrics)

    def quorum(self) -> QuorumDescription:
        return self.description

    def leads(self) -> bool:
        return self.is_active

    def silences_ms(self) -> dict[BrokerId, int]:
        return self.silences


class NoDirectoryFailed:
    offline: tuple[str, ...] = ()
    full: tuple[str, ...] = ()


class NoSnapshot:
    written = WrittenSnapshot(0, 0)


class StillClock:
    def now(self) -> Instant:
        return NOW

    def wall_ms(self) -> int:
        return NOW.wall_ms


def given_node(**given: Any) -> NodeView:  # Any: parts of a node
    """Node 1, which runs: a controller alone, where nothing else is given."""
    life = BrokerLife()
    life.enter(BrokerState.RUNNING)
    parts = {
        "node_id": BrokerId(1),
        "life": life,
        "clock": StillClock(),
        "metrics": NodeMetrics(lambda: 0),
        "controller": GivenController(),
        "quorum": QuorumMetrics(),
        "snapshots": NoSnapshot(),
        "log_directories": NoDirectoryFailed(),
        "quotas": no_quotas(),
        "is_controller": True,
        "broker": None,
        "settings": {},
    }
    return node_view(**parts | given)


def given_broker(**given: Any) -> BrokerView:  # Any: parts of a broker
    names = ("partitions", "group_coordinator", "purgatory", "fetch_sessions")
    parts: dict[str, Any] = {
        name: NotGiven(name) for name in names
    }  # Any: fails when it is touched
    return BrokerView(**parts | given)
