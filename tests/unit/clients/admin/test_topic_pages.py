"""Pages of DescribeTopicPartitions (KIP-966): what is asked next, and what is put together."""

from __future__ import annotations

import pytest

from millstream.clients.admin.topics.descriptions import TopicPages
from millstream.errors import KafkaError, UnknownServerError, UnknownTopicOrPartition
from millstream.protocol.generated.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


def page(
    *topics: tuple[str, list[int]], cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(
                name=name,
                partitions=[
                    DescribeTopicPartitionsResponsePartition(partition_index=each)
                    for each in partitions
                ],
            )
            for name, partitions in topics
        ],
        next_cursor=None if cursor is None else Cursor(*cursor),
    )


def asked(pages: TopicPages) -> tuple[list[str], Cursor | None]:
    request = pages.next_request()
    return [topic.name for topic in request.topics], request.cursor


def partitions(pages: TopicPages, name: str) -> list[int]:
    topic = pages.result(name)
    assert not isinstance(topic, KafkaError)
    return [each.partition for each in topic.partitions]


def test_a_topic_that_is_cut_in_two_continues_on_the_next_page() -> None:
    pages = TopicPages(["b", "a", "c"], partitions_per_page=3)
    assert asked(pages) == (["a", "b", "c"], None)
    assert pages.next_request().response_partition_limit == 3
    pages.take(page(("a", [0, 1]), ("b", [0]), cursor=("b", 1)))
    assert asked(pages) == (["b", "c"], Cursor("b", 1))
    pages.take(page(("b", [1, 2]), ("c", [0]), cursor=("c", 1)))
    assert asked(pages) == (["c"], Cursor("c", 1))
    pages.take(page(("c", [1])))
    assert pages.is_complete
    assert [partitions(pages, name) for name in "abc"] == [[0, 1], [0, 1, 2], [0, 1]]


def test_a_topic_that_is_not_there_has_its_error() -> None:
    pages = TopicPages(["a", "b"], partitions_per_page=3)
    gone = DescribeTopicPartitionsResponseTopic(name="a", error_code=3)
    pages.take(DescribeTopicPartitionsResponse(topics=[gone]))
    assert isinstance(pages.result("a"), UnknownTopicOrPartition)
    assert isinstance(pages.result("b"), UnknownServerError)


def test_no_topics_are_complete_at_once() -> None:
    assert TopicPages([], partitions_per_page=3).is_complete


def test_a_broker_that_does_not_get_on_is_an_error() -> None:
    pages = TopicPages(["a", "b"], partitions_per_page=3)
    pages.take(page(("a", [0]), cursor=("a", 1)))
    with pytest.raises(UnknownServerError, match="again and again"):
        pages.take(page(("a", [1]), cursor=("a", 1)))
