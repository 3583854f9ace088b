from __future__ import annotations

from millstream.clients.admin import (
    ClusterDescription,
    LogDirDescription,
    QuorumInfo,
    QuorumReplica,
    ReplicaInfo,
    Results,
    TopicDescription,
)
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.console.views.brokers import BrokersView, DirectoryRow, brokers_view
from millstream.errors import KafkaError, KafkaStorageError, RequestTimedOut
from millstream.model import ZERO_UUID, TopicPartition
from millstream.net.client.core.addresses import Address


def replica(node_id: int, end: int, caught_up_ms: int) -> QuorumReplica:
    return QuorumReplica(node_id, ZERO_UUID, end, caught_up_ms, caught_up_ms)


CLUSTER = ClusterDescription(
    "c",
    1,
    [BrokerNode(n, Address("h", 9090 + n), None) for n in (1, 2, 3)],
    None,
    frozenset({3}),
)
QUORUM = QuorumInfo(
    100, 4, 30, [replica(100, 31, 900)], [replica(1, 31, 700), replica(2, 25, 100)], {}
)
TOPIC = TopicDescription("t", ZERO_UUID, False, [PartitionDescription(0, 1, 0, (1, 2), (1,))])
DIRECTORIES = {
    1: Results(
        {
            "/b": LogDirDescription(
                {TopicPartition("t", 0): ReplicaInfo(70, 0, False)}, 100, 30, False
            ),
            "/a": KafkaStorageError("it is offline"),
        }
    ),
    2: Results({"/c": LogDirDescription({}, 100, 100, True)}),
}


def view(quorum: QuorumInfo | KafkaError = QUORUM) -> BrokersView:
    return brokers_view(CLUSTER, quorum, [TOPIC], DIRECTORIES)


def test_brokers_and_controllers_are_rows_of_one_table() -> None:
    told = [
        (n.node_id, n.roles, n.state, n.place, n.lag, n.lag_ms, n.leader_count, n.replica_count)
        for n in view().nodes
    ]
    assert told == [
        (1, ("broker",), "active", "observer", 0, 200, 1, 1),
        (2, ("broker",), "cordoned", "observer", 6, 800, 0, 1),
        (3, ("broker",), "fenced", None, None, None, 0, 0),
        (100, ("controller",), None, "leader", 0, 0, 0, 0),
    ]


def test_replicas_that_are_out_of_sync_are_counted_where_they_are() -> None:
    assert [node.out_of_sync_count for node in view().nodes] == [0, 1, 0, 0]


def test_directories_are_told_with_what_is_in_them_or_why_not() -> None:
    assert view().nodes[0].directories == (
        DirectoryRow("/a", error="it is offline"),
        DirectoryRow("/b", is_cordoned=False, used_bytes=70, usable_bytes=30),
    )


def test_the_quorum_is_counted() -> None:
    found = view()
    assert (found.leader_id, found.epoch, found.high_watermark) == (100, 4, 30)
    assert (found.voter_count, found.observer_count, found.fenced_count) == (1, 2, 1)


def test_without_a_quorum_brokers_are_shown_all_the_same() -> None:
    found = view(RequestTimedOut("nobody leads"))
    assert (found.quorum_error, [node.node_id for node in found.nodes]) == (
        "nobody leads",
        [1, 2, 3],
    )
    assert [node.lag for node in found.nodes] == [None, None, None]
