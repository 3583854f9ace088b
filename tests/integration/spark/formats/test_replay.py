"""A micro-batch that is run again: a new reader gets the offsets of Spark's log and gives what the first one gave, or says what is missing."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from millstream.model import TopicPartition
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.stream_reader import StreamReader
from millstream.streams.runtime.errors import DataLoss

pytestmark = pytest.mark.spark

Document = dict[str, Any]  # the checkpoint's JSON


def reader(topics: Any, topic: str, **options: str) -> StreamReader:
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    return StreamReader(parse_source_options(given | {"startingOffsets": "earliest"} | options))


def rows(source: StreamReader, start: Document, end: Document) -> list[tuple[int, int, bytes]]:
    return [
        (row["partition"], row["offset"], row["value"])
        for partition in source.partitions(start, end)
        for batch in source.read(partition)
        for row in batch.to_pylist()
    ]


def put(topics: Any, topic: str, first: int, end: int) -> None:
    topics.put(topic, [{"value": b"%d" % n, "partition": n % 2} for n in range(first, end)])


def test_a_micro_batch_that_is_run_again_has_the_same_rows_in_the_same_order(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, 40)
    first = reader(topics, topic)
    start = first.initialOffset()
    end = first.latestOffset(start, ReadMaxRows(20))
    given = rows(first, start, end)
    put(topics, topic, 40, 60)
    assert len(given) == 20
    assert rows(reader(topics, topic), start, end) == given


def test_the_first_one_begins_where_it_has_begun_though_latest_is_elsewhere_by_now(
    topics: Any,
) -> None:
    """Spark asks the new reader where a query begins: its log has the ends of micro-batches alone."""
    topic = topics.new()
    topics.put(topic, [{"value": b"before"}])
    first = reader(topics, topic, startingOffsets="latest")
    start = first.initialOffset()
    assert first.latestOffset(start, ReadAllAvailable()) == start
    topics.put(topic, [{"value": b"a"}, {"value": b"b"}])
    end = first.latestOffset(start, ReadAllAvailable())
    topics.put(topic, [{"value": b"later"}] * 5)
    again = reader(topics, topic, startingOffsets="latest")
    anew = again.initialOffset()
    assert rows(again, anew, start) == []
    assert rows(again, anew, end) == [(0, 1, b"a"), (0, 2, b"b")]
    second_end = again.latestOffset(end, ReadAllAvailable())
    assert rows(reader(topics, topic), end, second_end) == [(0, n, b"later") for n in range(3, 8)]


def test_micro_batches_abut(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, 30)
    source, ends = reader(topics, topic), []
    at = source.initialOffset()
    read: list[tuple[int, int, bytes]] = []
    while (end := source.latestOffset(at, ReadMaxRows(7))) != at:
        read += rows(source, at, end)
        ends.append(end)
        at = end
    assert len(ends) >= 4
    assert sorted((p, offset) for p, offset, _ in read) == [
        (p, n) for p in (0, 1) for n in range(15)
    ]


def test_a_partition_that_was_added_later_is_not_in_it(topics: Any) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"a"}])
    first = reader(topics, topic)
    start = first.initialOffset()
    end = first.latestOffset(start, ReadAllAvailable())
    topics.admin(lambda admin: admin.create_partitions({topic: 2}))
    topics.put(topic, [{"value": b"later", "partition": 1}])
    assert rows(reader(topics, topic), start, end) == [(0, 0, b"a")]


def test_one_that_ends_inside_a_batch_of_records_is_cut_there(topics: Any) -> None:
    """The broker gives whole batches, which begin before the range and reach beyond it."""
    topic = topics.new()
    topics.put(topic, [{"value": b"%d" % n} for n in range(10)])
    version = {"v": 1}
    start, end = (version | {"offsets": {topic: {"0": n}}} for n in (3, 6))
    assert [offset for _, offset, _ in rows(reader(topics, topic), start, end)] == [3, 4, 5]


def test_what_is_no_longer_there_is_an_error_that_names_it(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, 20)
    first = reader(topics, topic)
    start = first.initialOffset()
    end = first.latestOffset(start, ReadAllAvailable())
    topics.admin(lambda admin: admin.delete_records({TopicPartition(topic, 1): 4}))
    with pytest.raises(DataLoss, match=rf"offsets 0 to 10 of {topic}-1 .* which holds 4 to 10"):
        rows(reader(topics, topic), start, end)


def test_a_topic_that_is_compacted_is_named_when_the_query_begins(
    topics: Any, caplog: pytest.LogCaptureFixture
) -> None:
    compacted = topics.new(cleanup_policy="compact")
    with caplog.at_level(logging.WARNING, "millstream.spark.source.planning"):
        reader(topics, topics.new()).initialOffset()
        assert caplog.messages == []
        reader(topics, compacted).initialOffset()
    (message,) = caplog.messages
    assert message.startswith(f"{compacted}: compacted")
