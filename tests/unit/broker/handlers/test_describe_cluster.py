"""DescribeCluster and DescribeTopicPartitions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millstream.broker.handlers import describe_cluster, describe_topic_partitions
from millstream.errors import InvalidRequest, MismatchedEndpointType, UnsupportedEndpointType
from millstream.protocol.generated.describe_cluster import DescribeClusterRequest
from millstream.protocol.generated.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from millstream.protocol.generated.metadata_records import PartitionChangeRecord

UNKNOWN_TOPIC, INVALID_TOPIC = 3, 17


def cluster(node: object, version: int = 2, **fields: object) -> object:
    return node.answer(describe_cluster.handle, DescribeClusterRequest(**fields), version)


def pages(
    node: object, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> tuple[list, tuple | None]:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    response = node.answer(describe_topic_partitions.handle, request, 0)
    topics = [
        (t.name, t.error_code, [p.partition_index for p in t.partitions]) for t in response.topics
    ]
    following = response.next_cursor
    return topics, None if following is None else (following.topic_name, following.partition_index)


def test_the_cluster_is_its_brokers_and_a_way_to_the_controller(node: object) -> None:
    answer = cluster(node, include_cluster_authorized_operations=True)
    assert (answer.cluster_id, answer.controller_id, answer.cluster_authorized_operations) == (
        "cluster",
        1,
        8096,
    )
    assert [(b.broker_id, b.host, b.port, b.is_fenced) for b in answer.brokers] == [
        (1, "host-1", 9091, False)
    ]


def test_fenced_brokers_are_told_on_request(make_node: Callable) -> None:
    node = make_node()
    node.add_broker(2, fenced=True)
    assert [b.broker_id for b in cluster(node).brokers] == [1]
    told = cluster(node, include_fenced_brokers=True).brokers
    assert [(b.broker_id, b.is_fenced) for b in told] == [(1, False), (2, True)]


def test_only_brokers_are_served_here(node: object) -> None:
    with pytest.raises(MismatchedEndpointType):
        cluster(node, 1, endpoint_type=2)
    with pytest.raises(UnsupportedEndpointType):
        cluster(node, 1, endpoint_type=3)


@pytest.fixture
def three(node: object) -> object:
    """Topics a, b, c with 2, 1 and 3 partitions."""
    for name, count in (("b", 1), ("a", 2), ("c", 3)):
        node.create(name, count)
    return node


def test_topics_come_by_name_all_of_them_or_those_asked_for(three: object) -> None:
    assert pages(three) == ([("a", 0, [0, 1]), ("b", 0, [0]), ("c", 0, [0, 1, 2])], None)
    assert pages(three, "c", "a", "c") == ([("a", 0, [0, 1]), ("c", 0, [0, 1, 2])], None)


def test_a_partition_without_a_leader_is_no_error(three: object) -> None:
    """Unlike in Metadata, whose answer has LEADER_NOT_AVAILABLE then."""
    topic_id = three.live.image.topic("b").topic_id
    three.replay(PartitionChangeRecord(partition_id=0, topic_id=topic_id, leader=-1))
    asked = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="b")])
    (told,) = three.answer(describe_topic_partitions.handle, asked, 0).topics[0].partitions
    assert (told.error_code, told.leader_id) == (0, -1)


def test_a_full_page_says_where_the_next_one_starts(three: object) -> None:
    assert pages(three, limit=1) == ([("a", 0, [0])], ("a", 1))
    assert pages(three, limit=2) == ([("a", 0, [0, 1])], ("b", 0))
    assert pages(three, limit=4) == ([("a", 0, [0, 1]), ("b", 0, [0]), ("c", 0, [0])], ("c", 1))


def test_pages_together_are_everything(three: object) -> None:
    seen, cursor = [], None
    while True:
        topics, cursor = pages(three, limit=2, cursor=cursor)
        seen += [(name, n) for name, _, numbers in topics for n in numbers]
        if cursor is None:
            break
    assert seen == [("a", 0), ("a", 1), ("b", 0), ("c", 0), ("c", 1), ("c", 2)]


def test_a_cursor_may_stand_at_a_topic_that_is_gone_or_past_the_last_partition(
    three: object,
) -> None:
    assert pages(three, cursor=("aa", 5))[0] == [("b", 0, [0]), ("c", 0, [0, 1, 2])]
    assert pages(three, "c", cursor=("c", 77)) == ([("c", 0, [])], None)
    with pytest.raises(InvalidRequest):
        pages(three, cursor=("a", -1))


def test_a_cursor_stands_at_one_of_the_topics_named(three: object) -> None:
    with pytest.raises(InvalidRequest, match="should contain the cursor topic: aa"):
        pages(three, "b", "c", cursor=("aa", 0))


def test_a_page_holds_at_least_one_partition_and_at_most_what_the_broker_allows(
    three: object,
) -> None:
    assert pages(three, "c", limit=0) == ([("c", 0, [0])], ("c", 1))
    three.configure(max_request_partition_size_limit=2)
    assert pages(three, "c", limit=100) == ([("c", 0, [0, 1])], ("c", 2))


def test_unknown_topics_are_named_among_the_others(three: object) -> None:
    assert pages(three, "a b", "nope", "b") == (
        [("a b", INVALID_TOPIC, []), ("b", 0, [0]), ("nope", UNKNOWN_TOPIC, [])],
        None,
    )
