"""What makes a node ready, and a cluster healthy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from millstream.broker.http.health import cluster_health, reasons_not_ready, replicas_to_tell
from millstream.broker.metrics.node_view import NodeView
from millstream.broker.node_state import BrokerLife, BrokerState
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import (
    NO_LEADER,
    MetadataImage,
    PartitionImage,
    TopicImage,
    TopicsImage,
    frozen_mapping,
)
from millstream.model import ZERO_UUID, BrokerId, Offset, TopicPartition
from millstream.raft.quorum_description import ReplicaState
from tests.support.node_views import (
    FOLLOWING,
    GivenController,
    given_broker,
    given_node,
    quorum,
)

ME = BrokerId(1)


@dataclass
class Directories:
    offline: dict[str, str]
    full: tuple[str, ...] = ()


class NoPartitions:
    def all(self) -> list[object]:
        return []


def node(
    state: BrokerState = BrokerState.RUNNING,
    *,
    fenced: bool = False,
    offline: tuple[str, ...] = (),
    full: tuple[str, ...] = (),
    partition_leader: BrokerId = ME,
    **more: Any,  # Any: parts of a node
) -> NodeView:
    life = BrokerLife()
    life.enter(state)
    broker = BrokerRegistration(
        broker_id=ME, broker_epoch=1, incarnation_id=ZERO_UUID, fenced=fenced
    )
    partition = PartitionImage(partition=0, replicas=(ME,), isr=(ME,), leader=partition_leader)
    topics = TopicsImage(frozen_mapping({"t": TopicImage("t", ZERO_UUID, (partition,))}))
    image = MetadataImage(brokers=frozen_mapping({ME: broker}), topics=topics)
    parts = {
        "life": life,
        "controller": GivenController(image),
        "log_directories": Directories(dict.fromkeys(offline, "broken"), full),
        "broker": given_broker(partitions=NoPartitions()),
    }
    return given_node(**parts | more)


def controller(
    own: ReplicaState, *, leader: int = 2, is_active: bool = False, lag_ms: int | None = 0
) -> NodeView:
    """Node 1, a controller alone."""
    description = replace(quorum(leader, own), lag_ms=lag_ms, committed_end_offset=Offset(45))
    return given_node(controller=GivenController(description=description, is_active=is_active))


def test_a_running_unfenced_broker_is_ready() -> None:
    assert reasons_not_ready(node()) == []


def test_a_broker_that_starts_or_goes_down_is_not() -> None:
    assert reasons_not_ready(node(BrokerState.RECOVERY)) == ["the node is RECOVERY"]
    assert reasons_not_ready(node(BrokerState.SHUTTING_DOWN)) == ["the node is SHUTTING_DOWN"]


def test_every_reason_is_told() -> None:
    lost = GivenController(
        description=quorum(2, ReplicaState(name="candidate", votes="for: 1; silent: 2, 3"))
    )
    both = node(offline=("/d1",), controller=lost)
    assert reasons_not_ready(both) == [
        "log directory /d1 has failed",
        "the broker is not registered with the controller",
        "the metadata quorum has no leader that answers: this node is candidate in epoch 7; votes of 3: for: 1; silent: 2, 3; 2 are needed",
    ]
    assert reasons_not_ready(node(fenced=True)) == ["the broker is fenced"]


def test_a_node_whose_disk_is_full_is_not_ready_and_names_the_directory() -> None:
    assert reasons_not_ready(node(full=("/d2",))) == [
        "the disk of log directory /d2 is full: nothing can be written there"
    ]


def test_a_broker_that_lost_its_controllers_goes_on_serving_and_stays_ready() -> None:
    lost = GivenController(node().controller.image, quorum(2, ReplicaState(name="observer")))
    assert reasons_not_ready(node(controller=lost, is_controller=False)) == []


def test_a_controller_is_ready_once_it_leads_or_follows_and_has_caught_up() -> None:
    assert reasons_not_ready(controller(FOLLOWING)) == []
    assert (
        reasons_not_ready(
            controller(ReplicaState(name="leader", hears_leader=True), leader=1, is_active=True)
        )
        == []
    )
    (reason,) = reasons_not_ready(controller(FOLLOWING, lag_ms=6_000))
    assert reason == "the controller is 5 records of the metadata log behind the leader"
    assert reasons_not_ready(controller(FOLLOWING, lag_ms=None)) == [reason]
    (reason,) = reasons_not_ready(
        controller(ReplicaState(name="leader", hears_leader=True), leader=1)
    )
    assert reason == "the controller leads the quorum, and nothing is committed in its epoch yet"


def test_a_node_that_waits_for_a_controller_says_so_while_it_starts() -> None:
    lost = GivenController(description=quorum(-1, ReplicaState(name="observer"), epoch=0))
    assert reasons_not_ready(node(BrokerState.STARTING, controller=lost)) == [
        "the node is STARTING",
        "the metadata quorum has no leader that answers: this node is observer in epoch 0; its voters are 1, 2, 3, and 2 are needed",
    ]


def test_a_healthy_cluster_has_nothing_to_look_at() -> None:
    assert cluster_health(node()).is_healthy


def test_a_partition_without_a_leader_is_unhealthy_and_no_reason_to_send_nobody_here() -> None:
    lost = node(partition_leader=NO_LEADER)
    health = cluster_health(lost)
    assert (health.leaderless_partitions, health.is_healthy) == (1, False)
    assert reasons_not_ready(lost) == []
    assert replicas_to_tell(lost) == {
        "partitions": 1, "offline": 1, "under_replicated": 0, "under_min_isr": 0, "at_min_isr": 1, "preferred_leader_imbalance": 0,
    }  # fmt: skip


def test_replicas_are_told_by_a_controller_alone_too() -> None:
    of_broker = node()
    alone = given_node(controller=of_broker.controller)
    assert replicas_to_tell(alone) == replicas_to_tell(of_broker)
    assert cluster_health(alone).at_min_isr_partitions == 1


@dataclass
class _Health:
    failure: str | None


@dataclass
class _Log:
    health: _Health


@dataclass
class _Partition:
    log: _Log


@dataclass
class Hosted:
    """Two replicas, of which the first one has failed."""

    def all(self) -> list[tuple[TopicPartition, _Partition]]:
        return [
            (TopicPartition("t", 0), _Partition(_Log(_Health("broken")))),
            (TopicPartition("t", 1), _Partition(_Log(_Health(None)))),
        ]


def test_a_replica_here_that_cannot_be_used_is_a_reason_of_its_own() -> None:
    assert reasons_not_ready(node(broker=given_broker(partitions=Hosted()))) == [
        "1 replica of this node cannot be used: t-0"
    ]
    of_directory = node(offline=("/d1",), broker=given_broker(partitions=Hosted()))
    assert reasons_not_ready(of_directory) == ["log directory /d1 has failed"]


def test_a_fenced_broker_and_a_failed_directory_are_counted() -> None:
    health = cluster_health(node(fenced=True, offline=("/d1", "/d2")))
    assert (health.fenced_brokers, health.failed_log_directories) == (1, 2)
