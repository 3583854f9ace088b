"""What makes a node ready, and a cluster healthy."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.broker.http.health import cluster_health, reasons_not_ready
from millstream.broker.metrics.node_view import NodeView
from millstream.broker.node.broker_state import BrokerLife, BrokerState
from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import (
    NO_LEADER,
    MetadataImage,
    PartitionImage,
    TopicImage,
    TopicsImage,
    frozen_mapping,
)
from millstream.model import ZERO_UUID, BrokerId
from tests.support.handler_services import GivenMetadata, GivenQuorum, node_view

ME = BrokerId(1)


@dataclass
class Directories:
    offline: dict[str, str]


class NoPartitions:
    def all(self) -> list[object]:
        return []


def node(
    state: BrokerState = BrokerState.RUNNING,
    *,
    fenced: bool = False,
    leader: BrokerId = ME,
    offline: tuple[str, ...] = (),
    partition_leader: BrokerId = ME,
) -> NodeView:
    life = BrokerLife()
    life.enter(state)
    broker = BrokerRegistration(
        broker_id=ME, broker_epoch=1, incarnation_id=ZERO_UUID, fenced=fenced
    )
    partition = PartitionImage(partition=0, replicas=(ME,), isr=(ME,), leader=partition_leader)
    topics = TopicsImage(frozen_mapping({"t": TopicImage("t", ZERO_UUID, (partition,))}))
    image = MetadataImage(brokers=frozen_mapping({ME: broker}), topics=topics)
    return node_view(
        node_id=ME,
        life=life,
        metadata=GivenMetadata(image),
        controller=GivenQuorum(leader_id=leader),
        log_directories=Directories(dict.fromkeys(offline, "broken")),
        partitions=NoPartitions(),
    )


def test_a_running_unfenced_broker_is_ready() -> None:
    assert reasons_not_ready(node()) == []


def test_a_broker_that_starts_or_goes_down_is_not() -> None:
    assert reasons_not_ready(node(BrokerState.RECOVERY)) == ["the broker is RECOVERY"]
    assert reasons_not_ready(node(BrokerState.SHUTTING_DOWN)) == ["the broker is SHUTTING_DOWN"]


def test_every_reason_is_told() -> None:
    assert reasons_not_ready(node(fenced=True, leader=NO_LEADER, offline=("/d1",))) == [
        "the broker is fenced",
        "the metadata quorum has no leader",
        "log directory /d1 has failed",
    ]


def test_a_healthy_cluster_has_nothing_to_look_at() -> None:
    assert cluster_health(node()).is_healthy


def test_a_partition_without_a_leader_is_unhealthy() -> None:
    health = cluster_health(node(partition_leader=NO_LEADER))
    assert (health.leaderless_partitions, health.is_healthy) == (1, False)


def test_a_fenced_broker_and_a_failed_directory_are_counted() -> None:
    health = cluster_health(node(fenced=True, offline=("/d1", "/d2")))
    assert (health.fenced_brokers, health.failed_log_directories) == (1, 2)
