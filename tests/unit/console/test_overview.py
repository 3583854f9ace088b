from __future__ import annotations

from millstream.clients.admin import (
    ClusterDescription,
    GroupListing,
    GroupState,
    GroupType,
    TopicDescription,
)
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.console.views.overview import BrokerRow, overview_view
from millstream.errors import RequestTimedOut
from millstream.model import ZERO_UUID
from millstream.net.client.core.addresses import Address

CLUSTER = ClusterDescription(
    "cluster-1",
    2,
    [BrokerNode(2, Address("::1", 9093), "east"), BrokerNode(1, Address("kafka", 9092))],
)


def partition(number: int, leader: int, isr: tuple[int, ...]) -> PartitionDescription:
    return PartitionDescription(number, leader, 0, (1, 2), isr)


def topic(name: str, *partitions: PartitionDescription, internal: bool = False) -> TopicDescription:
    return TopicDescription(name, ZERO_UUID, internal, list(partitions))


def test_brokers_are_sorted_and_know_what_they_lead() -> None:
    topics = [topic("a", partition(0, 1, (1, 2)), partition(1, 1, (1, 2)))]
    assert overview_view(CLUSTER, topics, []).brokers == (
        BrokerRow(1, "kafka:9092", None, is_controller=False, leader_count=2, replica_count=2),
        BrokerRow(2, "[::1]:9093", "east", is_controller=True, leader_count=0, replica_count=2),
    )


def test_internal_topics_are_counted_apart() -> None:
    topics = [
        topic("a", partition(0, 1, (1, 2))),
        topic("__x", partition(0, 1, (1, 2)), internal=True),
    ]
    view = overview_view(CLUSTER, topics, [])
    assert (view.topic_count, view.internal_topic_count, view.partition_count) == (1, 1, 2)


def test_partitions_that_need_a_hand_are_counted() -> None:
    topics = [topic("a", partition(0, 1, (1,)), partition(1, -1, ()), partition(2, 2, (1, 2)))]
    view = overview_view(CLUSTER, topics, [])
    assert (view.under_replicated_count, view.leaderless_count) == (2, 1)
    assert view.led_elsewhere_count == 1


def test_groups_are_counted_by_state() -> None:
    groups = [
        GroupListing("a", "consumer", GroupState.STABLE, GroupType.CLASSIC),
        GroupListing("b", "consumer", GroupState.EMPTY, GroupType.CLASSIC),
        GroupListing("c", "consumer", GroupState.STABLE, GroupType.CONSUMER),
        GroupListing("d", "consumer", GroupState.UNKNOWN, GroupType.UNKNOWN),
    ]
    view = overview_view(CLUSTER, [], groups)
    assert view.group_count == 4
    assert view.groups_by_state == {"Empty": 1, "Stable": 2, "Unknown": 1}


def test_groups_that_are_not_known_are_not_none() -> None:
    view = overview_view(CLUSTER, [], RequestTimedOut("broker 1 is silent"))
    assert (view.group_count, view.groups_by_state) == (None, {})
    assert view.groups_error == "broker 1 is silent"
