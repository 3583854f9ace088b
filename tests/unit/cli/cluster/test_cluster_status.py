"""The cluster on one screen: what is told of each node, and the numbers above."""

from __future__ import annotations

import pytest

from millstream.cli.cluster.quorum import described_quorum
from millstream.cli.cluster.status import ClusterAnswers, head_lines, node_rows, summary
from millstream.cli.cluster.troubled_partitions import troubled_rows
from millstream.clients.admin import ClusterDescription, QuorumInfo, QuorumReplica, TopicDescription
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.cluster.core.cluster_metadata import BrokerNode
from millstream.errors import KafkaError, NotLeaderOrFollower, RequestTimedOut
from millstream.model import ZERO_UUID
from millstream.net.client.core.addresses import Address


def replica(node_id: int, end: int, caught_up_ms: int | None = 1_000) -> QuorumReplica:
    return QuorumReplica(node_id, ZERO_UUID, end, caught_up_ms, caught_up_ms)


QUORUM = QuorumInfo(
    2, 5, 40, [replica(1, 38, 400), replica(2, 41), replica(3, -1, None)], [replica(4, 41)], {}
)
BROKERS = [BrokerNode(1, Address("one", 9092), None), BrokerNode(4, Address("four", 9092), "east"), BrokerNode(5, Address("five", 9092), None)]  # fmt: skip
PARTITIONS = [
    PartitionDescription(0, 1, 0, (1, 4), (1,)),
    PartitionDescription(1, 4, 0, (4,), (4,)),
    PartitionDescription(2, -1, 0, (5,), ()),
]
OF_BROKERS = ClusterAnswers(
    ClusterDescription("c", 1, BROKERS, None, frozenset({5})),
    QUORUM,
    {1: "one:9093", 2: "two:9093", 3: "three:9093"},
    [TopicDescription("t", ZERO_UUID, False, PARTITIONS)],
    frozenset({4}),
    {"t": 1},
)


def test_every_node_has_its_roles_and_its_place() -> None:
    told = {row["node"]: (row["roles"], row["address"], row["state"], row["quorum"], row["leads"]) for row in node_rows(OF_BROKERS)}  # fmt: skip
    assert told == {
        1: (["broker", "controller"], "one:9092", "active", "follower", 1),
        2: (["controller"], "two:9093", None, "leader", None),
        3: (["controller"], "three:9093", None, "follower", None),
        4: (["broker"], "four:9092", "cordoned", "observer", 1),
        5: (["broker"], "five:9092", "fenced", None, 0),
    }


def test_lag_is_behind_the_leader_and_unknown_where_nothing_was_heard() -> None:
    told = {row["node"]: (row["lag"], row["lag_ms"]) for row in node_rows(OF_BROKERS)}
    assert told == {1: (3, 600), 2: (0, 0), 3: (None, None), 4: (0, 0), 5: (None, None)}


def test_the_numbers_above_the_nodes() -> None:
    assert head_lines(summary(OF_BROKERS)) == [
        "cluster     c",
        "controller  node 2, epoch 5, high watermark 40",
        "quorum      3 voters, 1 observer, 3 records behind at most",
        "brokers     2 active, 1 fenced, 1 cordoned",
        "partitions  3 of 1 topic, 1 without a leader, 2 under-replicated, 1 under min ISR, 0 not led by their first replica",
    ]


def test_controllers_tell_of_no_brokers_and_no_topics() -> None:
    answers = ClusterAnswers(
        ClusterDescription("c", 2, [BrokerNode(2, Address("two", 9093), None)]),
        QUORUM,
        {2: "two:9093"},
    )
    rows = node_rows(answers)
    assert [(row["node"], row["roles"], row["leads"]) for row in rows] == [
        (1, ["controller"], None),
        (2, ["controller"], None),
        (3, ["controller"], None),
        (4, ["observer"], None),
    ]
    assert len(head_lines(summary(answers))) == 3


def test_a_quorum_without_a_leader_says_so() -> None:
    lost = ClusterAnswers(OF_BROKERS.cluster, QUORUM._replace(leader_id=-1), {}, [])
    assert head_lines(summary(lost))[1] == "controller  none, epoch 5, high watermark 40"
    assert {row["lag"] for row in node_rows(lost)} == {None}


def test_what_a_broker_has_and_is_out_of_sync_with() -> None:
    told = {
        row["node"]: (row["leads"], row["replicas"], row["out_of_sync"])
        for row in node_rows(OF_BROKERS)
    }
    none = (None, None, None)
    assert told == {1: (1, 1, 0), 2: none, 3: none, 4: (1, 2, 1), 5: (0, 1, 1)}


@pytest.mark.parametrize(
    ("partition", "state"),
    [
        (PartitionDescription(0, 1, 0, (1, 2, 3), (1, 2, 3)), None),
        (PartitionDescription(0, 2, 0, (1, 2, 3), (1, 2, 3)), "not led by its first replica"),
        (PartitionDescription(0, 1, 0, (1, 2, 3, 4), (1, 2, 3)), "under-replicated"),
        (PartitionDescription(0, 1, 0, (1, 2, 3), (1, 2)), "at min ISR"),
        (PartitionDescription(0, 1, 0, (1, 2, 3), (1,)), "under min ISR"),
        (PartitionDescription(0, -1, 0, (1, 2, 3), ()), "no leader"),
        (PartitionDescription(0, 1, 0, (1,), (1,)), None),
    ],
)
def test_a_partition_is_told_where_it_is_not_as_it_should_be(
    partition: PartitionDescription, state: str | None
) -> None:
    rows = troubled_rows([TopicDescription("t", ZERO_UUID, False, [partition])], {"t": 2})
    assert [row["state"] for row in rows] == ([] if state is None else [state])


def test_the_worst_is_told_first_and_who_fell_out() -> None:
    rows = troubled_rows(OF_BROKERS.topics or (), {})
    assert [(row["partition"], row["state"], row["out_of_sync"]) for row in rows] == [
        (2, "no leader", (5,)),
        (0, "under-replicated", (4,)),
    ]


class AskedAdmin:
    """Raises or returns these, one for each question."""

    def __init__(self, *answers: QuorumInfo | KafkaError) -> None:
        self._answers = list(answers)

    def describe_metadata_quorum(self, *, timeout_ms: int) -> QuorumInfo:
        assert timeout_ms == 5_000
        answer = self._answers.pop(0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer


def test_a_node_that_says_nothing_is_not_the_only_one_that_is_asked() -> None:
    assert described_quorum(AskedAdmin(RequestTimedOut(), NotLeaderOrFollower(), QUORUM)) is QUORUM


def test_what_a_node_knows_of_a_quorum_without_a_leader_is_told_although_others_are_silent() -> (
    None
):
    lacking = NotLeaderOrFollower("2 are needed")
    with pytest.raises(NotLeaderOrFollower, match="2 are needed"):
        described_quorum(AskedAdmin(RequestTimedOut(), lacking, RequestTimedOut()))
    with pytest.raises(RequestTimedOut):
        described_quorum(AskedAdmin(*[RequestTimedOut()] * 3))
