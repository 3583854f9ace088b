"""Planning and reading of the streaming source against a broker, called as Spark calls it."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from threading import Timer

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from millstream.clients import Producer
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.stream_reader import StreamReader
from millstream.streams.runtime.errors import DataLoss
from tests.integration.spark.formats.checkpoints import OffsetsOf
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

pytestmark = pytest.mark.spark


def reader(topics, *names: str, **options: str) -> StreamReader:
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": ",".join(names)}
    return StreamReader(parse_source_options(given | options))


def values(source: StreamReader, start: dict, end: dict) -> list[bytes]:
    return [
        value
        for partition in source.partitions(start, end)
        for batch in source.read(partition)
        for value in batch.column("value").to_pylist()
    ]


def test_earliest_latest_and_given_offsets_are_where_a_query_starts(topics) -> None:
    topic = topics.new(partitions=2)
    topics.put(topic, [{"value": b"%d" % i, "partition": i % 2} for i in range(6)])
    assert reader(topics, topic, startingOffsets="earliest").initialOffset() == OffsetsOf(
        topic, 0, 0
    )
    assert reader(topics, topic).initialOffset() == OffsetsOf(topic, 3, 3)
    given = f'{{"{topic}": {{"0": 2, "1": -1}}}}'
    assert reader(topics, topic, startingOffsets=given).initialOffset() == OffsetsOf(topic, 2, 3)


def test_a_limit_bounds_what_a_micro_batch_reads(topics) -> None:
    topic = topics.new(partitions=2)
    topics.put(topic, [{"value": b"x", "partition": i % 2} for i in range(20)])
    end = reader(topics, topic).latestOffset(OffsetsOf(topic, 0, 0), ReadMaxRows(6))
    assert end == OffsetsOf(topic, 3, 3)


def test_topics_of_a_task_are_read_to_the_same_time(topics) -> None:
    dense, sparse = topics.new("dense"), topics.new("sparse")
    topics.put(dense, [{"value": b"x", "timestamp_ms": at} for at in range(1_000, 1_200)])
    topics.put(sparse, [{"value": b"x", "timestamp_ms": at} for at in range(1_000, 1_200, 20)])
    source = reader(topics, dense, sparse, copartition="true")
    start = {"v": 1} | {"offsets": {dense: {"0": 0}, sparse: {"0": 0}}}
    read = []
    while len(read) < 3:
        start = source.latestOffset(start, ReadMaxRows(60))
        read.append((start["offsets"][dense]["0"], start["offsets"][sparse]["0"]))
    assert read == [(50, 3), (103, 6), (159, 8)]


def test_without_copartition_partitions_come_forward_in_proportion(topics) -> None:
    topic = topics.new(partitions=2)
    topics.put(topic, [{"value": b"x", "partition": int(i >= 30)} for i in range(40)])
    end = reader(topics, topic).latestOffset(OffsetsOf(topic, 0, 0), ReadMaxRows(20))
    assert end == OffsetsOf(topic, 15, 5)


def slices(source: StreamReader, start: dict) -> list[list[int]]:
    """The times that each micro-batch reads of all that is there now."""
    source.prepareForTriggerAvailableNow()
    read = []
    while (end := source.latestOffset(start, source.getDefaultReadLimit())) != start:
        rows = [rows for each in source.partitions(start, end) for rows in source.read(each)]
        times_us = [batch.column("timestamp").cast(pa.int64()).to_pylist() for batch in rows]
        read.append([at_us // 1000 for mine in times_us for at_us in mine])
        start = end
    return [times for times in read if times]


def in_a_transaction(
    topics, topic: str, partition: int, *times: int, aborted: bool = False
) -> None:
    async def put() -> None:
        settings = {"transactional_id": f"{topic}-writer"}
        async with Producer(bootstrap_servers=topics.bootstrap_servers, **settings) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            for at in times:
                await producer.send(topic, value=b"x", partition=partition, timestamp_ms=at)
            await (producer.abort_transaction() if aborted else producer.commit_transaction())

    asyncio.run(put())


@pytest.mark.parametrize("limit", [{"maxRecordsPerTrigger": "20"}, {"maxBytesPerTrigger": "600"}])
def test_micro_batches_are_slices_of_time_whatever_else_lies_in_the_log(topics, limit) -> None:
    """Markers have the time of the clock, and what was aborted is far ahead: neither is a record."""
    topic = topics.new(partitions=3)
    for at in range(1_000, 1_400, 100):
        in_a_transaction(topics, topic, 0, *range(at, at + 100, 5))
        in_a_transaction(topics, topic, 1, 9_000, 9_001, aborted=True)
        in_a_transaction(topics, topic, 1, *range(at, at + 100, 20))
    given = limit | {"kafka.isolation.level": "read_committed"}
    read = slices(reader(topics, topic, **given), OffsetsOf(topic, 0, 0, 0))
    assert sorted(at for times in read for at in times) == sorted(
        [*range(1_000, 1_400, 5), *range(1_000, 1_400, 20)]
    )
    assert len(read) >= 4
    for earlier, later in pairwise(read):
        assert max(earlier) <= min(later)


def test_a_planned_micro_batch_is_read_as_it_was_planned_when_the_option_has_changed(
    topics,
) -> None:
    topic = topics.new(partitions=2)
    for partition, step in ((0, 1), (1, 10)):
        times = range(1_000, 1_000 + 40 * step, step)
        topics.put(
            topic, [{"value": b"x", "partition": partition, "timestamp_ms": at} for at in times]
        )
    start, limit = OffsetsOf(topic, 0, 0), {"maxRecordsPerTrigger": "20"}
    planned = reader(topics, topic, **limit).latestOffset(start, ReadMaxRows(20))
    assert planned == OffsetsOf(topic, 10, 1), "both to 1009"
    other = reader(topics, topic, **limit, sliceByTimestamp="false")
    assert len(values(other, start, planned)) == 11
    assert other.latestOffset(start, ReadMaxRows(20)) == OffsetsOf(topic, 10, 10)


def test_available_now_ends_where_the_topic_ended_at_the_start(topics) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"before"}])
    source = reader(topics, topic)
    source.prepareForTriggerAvailableNow()
    topics.put(topic, [{"value": b"after"}])
    assert source.latestOffset(OffsetsOf(topic, 0), ReadAllAvailable()) == OffsetsOf(topic, 1)


def test_a_range_is_read_again_exactly(topics) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"%d" % i} for i in range(9)])
    source = reader(topics, topic)
    for _ in range(2):
        assert values(source, OffsetsOf(topic, 2), OffsetsOf(topic, 5)) == [b"2", b"3", b"4"]


def test_an_idle_topic_is_waited_for_and_not_asked_in_a_loop(topics) -> None:
    topic = topics.new()
    source = reader(topics, topic, pollTimeoutMs="700")
    source.latestOffset(OffsetsOf(topic, 0), ReadAllAvailable())
    began, cpu = time.monotonic(), time.process_time()
    assert source.latestOffset(OffsetsOf(topic, 0), ReadAllAvailable()) == OffsetsOf(topic, 0)
    assert time.monotonic() - began >= 0.6
    assert time.process_time() - cpu < 0.2


def test_a_partition_that_has_just_had_a_record_is_watched_again(topics) -> None:
    """The broker may hold the fetch that follows a record for long; it must be for all partitions."""
    topic = topics.new(partitions=3)
    patience = {
        "pollTimeoutMs": str(LONG_ENOUGH_MS),
        "kafka.fetch.max.wait.ms": str(LONG_ENOUGH_MS),
    }
    source = reader(topics, topic, **patience)
    end = OffsetsOf(topic, 0, 0, 0)
    for expected in range(1, 4):
        writing = Timer(0.3, topics.put, (topic, [{"value": b"x", "partition": 1}]))
        writing.start()
        began = time.monotonic()
        end = source.latestOffset(end, ReadAllAvailable())
        writing.join()
        assert end == OffsetsOf(topic, 0, expected, 0)
        assert time.monotonic() - began < LONG_ENOUGH_S / 2


def test_a_new_partition_is_found_and_read_from_its_start(topics) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"old"}])
    source = reader(topics, topic, discoveryIntervalMs="50", pollTimeoutMs="100")
    start = source.latestOffset(OffsetsOf(topic, 0), ReadAllAvailable())
    assert start == OffsetsOf(topic, 1)
    topics.admin(lambda admin: admin.create_partitions({topic: 2}))
    topics.put(topic, [{"value": b"new", "partition": 1}])
    deadline = time.monotonic() + LONG_ENOUGH_S
    while (end := source.latestOffset(start, ReadAllAvailable())) == start:
        assert time.monotonic() < deadline, "the partition was not found"
    assert end == OffsetsOf(topic, 1, 1)
    assert values(source, start, end) == [b"new"]


def test_lost_records_are_an_error_that_says_which(topics) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"%d" % i} for i in range(3)])
    source = reader(topics, topic)
    with pytest.raises(DataLoss, match=rf"offsets 7 to 9 of {topic}-0.*holds 0 to 3"):
        values(source, OffsetsOf(topic, 7), OffsetsOf(topic, 9))
    with pytest.raises(DataLoss, match=rf"{topic}-0 was read up to offset 9 and now ends at 3"):
        source.latestOffset(OffsetsOf(topic, 9), ReadAllAvailable())


def test_a_checkpoint_of_other_topics_is_no_loss_of_data(topics) -> None:
    topic = topics.new()
    with pytest.raises(
        ConfigError,
        match=rf"made by a query that read topic former, this one reads {topic}: give this query a checkpointLocation of its own$",
    ):
        reader(topics, topic).latestOffset(OffsetsOf("former", 3), ReadAllAvailable())


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("earliest", [b"0", b"1", b"2"]),
        ("false", [b"0", b"1", b"2"]),
        ("latest", []),
        ("skip", []),
    ],
)
def test_a_log_that_was_cut_is_read_again_only_with_earliest(
    topics, policy: str, expected: list[bytes]
) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"%d" % i} for i in range(3)])
    source = reader(topics, topic, failOnDataLoss=policy, pollTimeoutMs="0")
    assert values(source, OffsetsOf(topic, 7), OffsetsOf(topic, 9)) == []
    end = source.latestOffset(OffsetsOf(topic, 9), ReadAllAvailable())
    assert end == OffsetsOf(topic, 3)
    assert values(source, OffsetsOf(topic, 9), end) == expected
    repeated = reader(topics, topic, failOnDataLoss=policy)
    assert values(repeated, OffsetsOf(topic, 9), end) == expected


@pytest.mark.parametrize(
    ("policy", "planned", "repeated"),
    [("earliest", [5, 6], [6]), ("skip", [5, 6], [6]), ("latest", [], [])],
)
def test_retention_is_met_when_planning_and_when_reading(
    topics, policy: str, planned: list[int], repeated: list[int]
) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"%d" % i} for i in range(7)])

    def cut(offset: int) -> None:
        topics.admin(lambda admin: admin.delete_records({TopicPartition(topic, 0): offset}))

    cut(5)
    source = reader(topics, topic, failOnDataLoss=policy)
    end = source.latestOffset(OffsetsOf(topic, 2), ReadAllAvailable())
    assert end == OffsetsOf(topic, 7)
    assert values(source, OffsetsOf(topic, 2), end) == [b"%d" % i for i in planned]
    partitions = source.partitions(OffsetsOf(topic, 2), end)
    cut(6)
    read = [row for p in partitions for b in source.read(p) for row in b.to_pylist()]
    assert [row["offset"] for row in read] == repeated
    with pytest.raises(DataLoss, match=rf"offsets 2 to 6 of {topic}-0 are not in the log.*6 to 7"):
        reader(topics, topic).latestOffset(OffsetsOf(topic, 2), ReadAllAvailable())


def test_a_checkpoint_of_another_version_is_refused(topics) -> None:
    topic = topics.new()
    with pytest.raises(ConfigError, match="version 3"):
        reader(topics, topic).latestOffset({"v": 3, "offsets": {}}, ReadAllAvailable())


def test_copartition_reads_equal_numbers_together(topics) -> None:
    left, right = topics.new("left", 2), topics.new("right", 2)
    for topic in (left, right):
        topics.put(topic, [{"value": b"x", "partition": p} for p in range(2)])
    source = reader(topics, left, right, copartition="true")
    end = source.latestOffset({"v": 1, "offsets": {}}, ReadAllAvailable())
    parts = source.partitions({"v": 1, "offsets": {}}, end)
    assert [[(r.topic, r.partition) for r in part.ranges] for part in parts] == [
        [(left, 0), (right, 0)],
        [(left, 1), (right, 1)],
    ]


@pytest.mark.parametrize("mode", ["on_checkpoints", "disabled"])
def test_a_planner_may_be_stopped_twice_and_asked_again(topics, mode: str) -> None:
    """What it closes is no state: where a query is stands in the log of its checkpoint."""
    topic = topics.new()
    topics.put(topic, [{"value": b"a"}, {"value": b"b"}])
    options = {} if mode == "disabled" else {"group.id": topic, "offsetCommitMode": mode}
    source = reader(topics, topic, startingOffsets="earliest", **options)
    start = source.initialOffset()
    end = source.latestOffset(start, ReadAllAvailable())
    source.stop()
    source.stop()
    assert source.latestOffset(start, ReadAllAvailable()) == end
    assert values(source, start, end) == [b"a", b"b"]
