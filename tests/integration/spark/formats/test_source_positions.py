"""Starts, ends, subscriptions and commits of the source against a broker, called as Spark calls it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from millstream.clients.admin import NewPartitions
from millstream.clients.blocking import Admin, Producer
from millstream.clients.core.values import OffsetAndMetadata
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark.source.batch_reader import BatchReader
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.stream_reader import StreamReader
from millstream.streams.runtime.errors import DataLoss
from tests.integration.spark.formats.checkpoints import OffsetsOf
from tests.patience import LONG_ENOUGH_S, wait_until
from tests.support.late_workers import started

pytestmark = pytest.mark.spark


@pytest.fixture
def admin(topics: Any) -> Iterator[Admin]:
    with Admin(bootstrap_servers=topics.bootstrap_servers) as made:
        yield made


def stream(topics: Any, **options: str) -> StreamReader:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return StreamReader(
        parse_source_options({"bootstrap.servers": topics.bootstrap_servers} | named)
    )


def batch(topics: Any, **options: str) -> list[bytes]:
    named = {name.replace("_", "."): value for name, value in options.items()}
    given = {"bootstrap.servers": topics.bootstrap_servers} | named
    reader = BatchReader(parse_source_options(given, is_batch=True))
    return [
        value
        for partition in reader.partitions()
        for rows in reader.read(partition)
        for value in rows.column("value").to_pylist()
    ]


def filled(topics: Any, partitions: int = 1, **configs: str) -> str:
    """Ten records a partition; that of number n has the time 1000 + n."""
    topic = topics.new(partitions=partitions, **configs)
    records = [
        {"value": b"%d" % n, "partition": p, "timestamp_ms": 1_000 + n}
        for n in range(10)
        for p in range(partitions)
    ]
    topics.put(topic, records)
    return str(topic)


def commit(admin: Admin, group: str, topic: str, **by_partition: int) -> None:
    committed = {
        TopicPartition(topic, int(number.removeprefix("p"))): OffsetAndMetadata(offset)
        for number, offset in by_partition.items()
    }
    admin.alter_consumer_group_offsets(group, committed).raise_errors()


def committed(admin: Admin, group: str, topic: str, partition: int = 0) -> int | None:
    found = admin.list_consumer_group_offsets([group]).result(group)
    position = found.get(TopicPartition(topic, partition))
    return position.offset if isinstance(position, OffsetAndMetadata) else None


def test_a_query_begins_where_its_group_is(topics: Any, admin: Admin) -> None:
    topic = filled(topics, partitions=3)
    group = f"group of {topic}"
    commit(admin, group, topic, p0=4, p2=10)
    begun = stream(topics, subscribe=topic, group_id=group, startingOffsets="committed")
    assert begun.initialOffset() == OffsetsOf(topic, 4, 0, 10)
    latest = stream(topics, subscribe=topic, group_id=group, startingOffsets="committed:latest")
    assert latest.initialOffset() == OffsetsOf(topic, 4, 10, 10)
    far = stream(
        topics,
        subscribe=topic,
        group_id=group,
        startingOffsets="committed:latest",
        maxOffsetBehind="3",
    )
    assert far.initialOffset() == OffsetsOf(topic, 10, 10, 10)
    with pytest.raises(ConfigError, match=f"committed nothing for {topic}-1"):
        stream(
            topics, subscribe=topic, group_id=group, startingOffsets="committed:fail"
        ).initialOffset()


def test_a_commit_that_retention_has_overtaken_is_a_loss(topics: Any, admin: Admin) -> None:
    topic = filled(topics)
    group = f"group of {topic}"
    commit(admin, group, topic, p0=2)
    admin.delete_records({TopicPartition(topic, 0): 5}).raise_errors()
    given = {"subscribe": topic, "group_id": group, "startingOffsets": "committed"}
    with pytest.raises(DataLoss, match=r"committed offset 2 .* the log holds 5 to 10"):
        stream(topics, **given).initialOffset()
    going_on = stream(topics, **given, failOnDataLoss="false")
    assert going_on.initialOffset() == OffsetsOf(topic, 5)


def test_a_query_begins_at_a_time_or_before_the_end(topics: Any) -> None:
    topic = filled(topics, partitions=2)
    at_time = stream(topics, subscribe=topic, startingTimestamp="1007")
    assert at_time.initialOffset() == OffsetsOf(topic, 7, 7)
    by_partition = f'{{"{topic}": {{"0": 1003}}}}'
    some = stream(topics, subscribe=topic, startingOffsetsByTimestamp=by_partition)
    assert some.initialOffset() == OffsetsOf(topic, 3, 0)
    back = stream(topics, subscribe=topic, startingOffsets="-4 offsets")
    assert back.initialOffset() == OffsetsOf(topic, 6, 6)
    recent = stream(topics, subscribe=topic, startingOffsets="-10 minutes")
    assert recent.initialOffset() == OffsetsOf(topic, 10, 10)
    with pytest.raises(ConfigError, match="no record at or after timestamp 2000"):
        stream(topics, subscribe=topic, startingTimestamp="2000").initialOffset()


def test_a_batch_ends_at_a_time_or_where_a_group_is(topics: Any, admin: Admin) -> None:
    topic = filled(topics)
    assert batch(topics, subscribe=topic, endingTimestamp="1003") == [b"0", b"1", b"2"]
    assert batch(topics, subscribe=topic, startingTimestamp="1008") == [b"8", b"9"]
    group = f"group of {topic}"
    commit(admin, group, topic, p0=2)
    read = batch(topics, subscribe=topic, group_id=group, endingOffsets="committed")
    assert read == [b"0", b"1"]


def at(topic: str, *offsets: int) -> str:
    return json.dumps({topic: {str(p): offset for p, offset in enumerate(offsets)}})


@pytest.mark.parametrize("loss", ["fail", "earliest", "skip"])
def test_a_query_that_reads_only_what_is_committed_now_is_not_behind_the_end(
    topics: Any, loss: str
) -> None:
    topic = filled(topics)
    given = {"subscribe": topic, "failOnDataLoss": loss, "pollTimeoutMs": "50"}
    servers = topics.bootstrap_servers
    with Producer(bootstrap_servers=servers, transactional_id=f"writer of {topic}") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        for n in range(3):
            producer.send(topic, b"open %d" % n)
        producer.flush()
        of_all = stream(topics, **given)
        read = of_all.latestOffset(OffsetsOf(topic, 0), ReadAllAvailable())
        assert read == OffsetsOf(topic, 13)
        source = stream(topics, **given, kafka_isolation_level="read_committed")
        assert source.latestOffset(read, ReadAllAvailable()) == read
        producer.commit_transaction()
    topics.put(topic, [{"value": b"more"}])
    assert source.latestOffset(read, ReadAllAvailable()) == OffsetsOf(topic, 15)
    with pytest.raises(DataLoss, match="was read up to offset 16 and now ends at 15"):
        stream(topics, subscribe=topic).latestOffset(OffsetsOf(topic, 16), ReadAllAvailable())


def test_a_micro_batch_that_was_planned_behind_an_open_transaction_waits_for_its_end(
    topics: Any,
) -> None:
    """When it is run again with read_committed. The end of the log was taken for the last stable offset, and what lies
    behind it for lost.
    """
    topic, servers = topics.new(), topics.bootstrap_servers
    given = {"subscribe": topic, "startingOffsets": "earliest", "failOnDataLoss": "latest"}
    with Producer(bootstrap_servers=servers, transactional_id=f"writer of {topic}") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, value=b"open").result()
        before = stream(topics, **given)
        start = before.initialOffset()
        end = before.latestOffset(start, ReadAllAvailable())
        again = stream(topics, kafka_isolation_level="read_committed", **given)
        (task,) = again.partitions(start, end)
        producer.commit_transaction()
    assert [rows.column("value").to_pylist() for rows in again.read(task)] == [[b"open"]]


def test_a_batch_has_what_came_since_the_one_before(topics: Any, admin: Admin) -> None:
    topic = filled(topics)
    read = {"subscribePattern": f"{topic}|{topic}-more"}
    assert len(batch(topics, **read)) == 10
    admin.create_partitions({topic: NewPartitions(2)}).raise_errors()
    topics.create(f"{topic}-more")
    topics.put(topic, [{"value": b"in a new partition", "partition": 1}])
    topics.put(f"{topic}-more", [{"value": b"in a new topic"}])
    assert set(batch(topics, **read)) >= {b"in a new partition", b"in a new topic"}
    assert b"in a new partition" in batch(topics, subscribe=topic)


def test_a_batch_does_not_read_a_topic_that_was_made_anew_since_it_was_planned(
    topics: Any, admin: Admin
) -> None:
    topic = filled(topics)
    options = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    reader = BatchReader(parse_source_options(options, is_batch=True))
    (partition,) = reader.partitions()
    admin.delete_topics([topic]).raise_errors()
    topics.create(topic)
    topics.put(topic, [{"value": b"of another topic"}] * 10)
    with pytest.raises(DataLoss, match=rf"offsets 0 to 10 of {topic}-0 are gone"):
        list(reader.read(partition))


@pytest.mark.parametrize("loss", ["false", "earliest", "latest", "skip"])
@pytest.mark.parametrize(
    "range_",
    [
        {"startingOffsets": 4, "endingOffsets": 2},
        {"startingOffsets": 12},
        {"startingOffsets": 12, "endingOffsets": 10},
        {"startingOffsets": 15, "endingOffsets": 20},
        {"startingOffsets": -1, "endingOffsets": 2},
        {"startingOffsetsByTimestamp": 1004, "endingOffsetsByTimestamp": 1002},
        {"startingOffsetsByTimestamp": 2000, "endingOffsetsByTimestamp": 1002},
    ],
)
def test_a_batch_whose_start_lies_behind_its_end_reads_nothing(
    topics: Any, loss: str, range_: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    """Spark's connector fails or gives nothing, and never a record outside the range. The other partition is read."""
    topic = filled(topics, partitions=2)
    options = {name: json.dumps({topic: {"0": value}}) for name, value in range_.items()}
    read = batch(topics, subscribe=topic, failOnDataLoss=loss, **options)
    assert read == [b"%d" % n for n in range(10)]
    assert f"of {topic}-0" in caplog.text
    options = {name: json.dumps({topic: {"0": v, "1": v}}) for name, v in range_.items()}
    assert batch(topics, subscribe=topic, failOnDataLoss=loss, **options) == []


def test_a_batch_whose_start_lies_behind_its_end_fails_where_losses_do(topics: Any) -> None:
    topic = filled(topics)
    with pytest.raises(
        ConfigError,
        match=rf"begins at offset 4 of {topic}-0 \(given\) and ends before it, at 2: give",
    ):
        batch(topics, subscribe=topic, startingOffsets=at(topic, 4), endingOffsets=at(topic, 2))
    with pytest.raises(ConfigError, match=r"offset 12 of .* and ends before it, at 10"):
        batch(topics, subscribe=topic, startingOffsets=at(topic, 12))
    with pytest.raises(ConfigError, match=r"\(timestamp 1004\) and ends before it, at 2"):
        batch(topics, subscribe=topic, startingTimestamp="1004", endingTimestamp="1002")


def test_a_batch_of_records_that_are_gone_reads_what_is_left_of_its_range(
    topics: Any, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    topic = filled(topics)
    admin.delete_records({TopicPartition(topic, 0): 5}).raise_errors()

    def read(start: int, end: int, loss: str = "false") -> list[bytes]:
        bounds = {"startingOffsets": at(topic, start), "endingOffsets": at(topic, end)}
        return batch(topics, subscribe=topic, failOnDataLoss=loss, **bounds)

    assert read(2, 8) == [b"5", b"6", b"7"]
    assert read(2, 4) == read(4, 2) == read(8, 2) == []
    assert read(-2, 3) == []
    assert read(7, 12) == [b"7", b"8", b"9"]
    assert f"is to end at offset 12 of {topic}-0 and ends at 10" in caplog.text
    with pytest.raises(DataLoss, match=r"offsets 2 to 8 of .* which holds 5 to 10"):
        read(2, 8, "true")


def test_a_batch_of_a_time_range_leaves_out_partitions_without_a_record_in_it(topics: Any) -> None:
    """Partition 0 has times from 1000 to 1009, partition 1 to 1001, and partition 2 nothing."""
    topic = topics.new(partitions=3)
    sizes = (10, 2)
    topics.put(
        topic,
        [
            {"value": b"%d-%d" % (p, n), "partition": p, "timestamp_ms": 1_000 + n}
            for p, size in enumerate(sizes)
            for n in range(size)
        ],
    )
    first = "1970-01-01T00:00:01.001Z"
    assert sorted(batch(topics, subscribe=topic, startingTimestamp=first, endingTimestamp="1003")) == [
        b"0-1", b"0-2", b"1-1",
    ]  # fmt: skip
    assert batch(topics, subscribe=topic, startingTimestamp="1008") == [b"0-8", b"0-9"]
    assert batch(topics, subscribe=topic, startingTimestamp="5000") == []
    each = json.dumps({topic: {"0": 1009, "1": 1000, "2": "2026-11-29"}})
    read = batch(topics, subscribe=topic, startingOffsetsByTimestamp=each)
    assert sorted(read) == [b"0-9", b"1-0", b"1-1"]
    with pytest.raises(ConfigError, match="has no record at or after timestamp 1008"):
        batch(
            topics,
            subscribe=topic,
            startingTimestamp="1008",
            startingOffsetsByTimestampStrategy="error",
        )


def test_topics_are_found_by_pattern_also_those_that_come_later(topics: Any) -> None:
    stem = topics.new("found")
    first = f"{stem}-one"
    topics.create(first)
    source = stream(
        topics,
        subscribePattern=f"{stem}-.*",
        startingOffsets="earliest",
        discoveryIntervalMs="1",
        pollTimeoutMs="0",
    )
    start = source.initialOffset()
    assert start == OffsetsOf(first, 0)
    second = f"{stem}-two"
    topics.create(second)
    topics.put(second, [{"value": b"x"}])
    deadline = time.monotonic() + LONG_ENOUGH_S
    while second not in (end := source.latestOffset(start, ReadAllAvailable()))["offsets"]:
        assert time.monotonic() < deadline
    assert end["offsets"] == {first: {"0": 0}, second: {"0": 1}}
    assert [each.ranges[0].topic for each in source.partitions(start, end)] == [second]


def test_partitions_are_assigned_by_number(topics: Any) -> None:
    topic = filled(topics, partitions=3)
    source = stream(topics, assign=f'{{"{topic}": [2, 0]}}', startingOffsets="earliest")
    assert source.initialOffset()["offsets"] == {topic: {"0": 0, "2": 0}}
    with pytest.raises(ConfigError, match=f"assign names partition 3 of {topic}"):
        stream(topics, assign=f'{{"{topic}": [3]}}').initialOffset()


@pytest.mark.parametrize(
    ("options", "lengths"),
    [
        ({"minPartitions": "4"}, [5, 5, 5, 5]),
        ({"minPartitions": "1"}, [10, 10]),
        ({"maxRecordsPerPartition": "4"}, [3, 3, 4, 3, 3, 4]),
        ({"minPartitions": "100"}, [1] * 20),
    ],
)
def test_ranges_are_cut_into_spark_partitions(
    topics: Any, options: dict[str, str], lengths: list[int]
) -> None:
    topic = filled(topics, partitions=2)
    source = stream(topics, subscribe=topic, **options)
    pieces = source.partitions(OffsetsOf(topic, 0, 0), OffsetsOf(topic, 10, 10))
    assert [each.ranges[0].end - each.ranges[0].start for each in pieces] == lengths
    read = [
        (rows.column("partition")[0].as_py(), value)
        for piece in pieces
        for rows in source.read(piece)
        for value in rows.column("value").to_pylist()
    ]
    assert read == [(p, b"%d" % n) for p in range(2) for n in range(10)]


def completed(source: StreamReader, at: dict[str, Any]) -> None:
    """As Spark asks when a micro-batch is in the checkpoint."""
    source.latestOffset(at, ReadAllAvailable())


def test_offsets_are_committed_once_a_micro_batch_is_in_the_checkpoint(
    topics: Any, admin: Admin
) -> None:
    topic = filled(topics)
    group = f"group of {topic}"
    source = stream(topics, subscribe=topic, group_id=group, pollTimeoutMs="50")
    end = source.latestOffset(OffsetsOf(topic, 0), ReadAllAvailable())
    source.partitions(OffsetsOf(topic, 0), end)
    assert committed(admin, group, topic) in {None, 0}  # planned is not done
    deadline = time.monotonic() + LONG_ENOUGH_S
    while committed(admin, group, topic) != 10:
        completed(source, end)
        assert time.monotonic() < deadline


def test_the_last_offsets_are_committed_when_a_query_stops(topics: Any, admin: Admin) -> None:
    topic = filled(topics)
    group = f"group of {topic}"
    source = stream(
        topics,
        subscribe=topic,
        group_id=group,
        offsetCommitMode="PERIODIC",
        offsetCommitIntervalMs="3600000",
    )
    completed(source, OffsetsOf(topic, 2))
    completed(source, OffsetsOf(topic, 7))
    source.stop()
    assert committed(admin, group, topic) == 7


@pytest.mark.slow
def test_a_query_that_ends_has_committed_all_it_has_read(
    spark: Any, topics: Any, admin: Admin, tmp_path: Path
) -> None:
    topic = filled(topics)
    group = f"group of {topic}"
    rows = spark.readStream.format("millstream").options(
        subscribe=topic,
        startingOffsets="earliest",
        maxRecordsPerTrigger="4",
        **{"bootstrap.servers": topics.bootstrap_servers, "group.id": group},
    )

    def run() -> None:
        sink = rows.load().writeStream.format("noop").option("checkpointLocation", str(tmp_path))
        assert sink.trigger(availableNow=True).start().awaitTermination(400)

    started(run)
    assert committed(admin, group, topic) == 10


def test_a_group_with_members_is_left_alone(
    topics: Any, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    from millstream.clients.blocking import Consumer

    topic = filled(topics)
    group = f"group of {topic}"
    consumer = Consumer(
        bootstrap_servers=topics.bootstrap_servers, group_id=group, auto_offset_reset="earliest"
    )
    with consumer, caplog.at_level(logging.WARNING):
        consumer.subscribe([topic])
        assert consumer.poll(timeout_ms=LONG_ENOUGH_S * 1000)
        source = stream(topics, subscribe=topic, group_id=group, pollTimeoutMs="50")
        completed(source, OffsetsOf(topic, 3))
        source.stop()
    assert f"offsets were not committed in group {group}" in caplog.text


def test_a_second_query_in_a_group_is_told(topics: Any, caplog: pytest.LogCaptureFixture) -> None:
    topic = filled(topics)
    group = f"group of {topic}"
    first, second = (
        stream(topics, subscribe=topic, group_id=group, pollTimeoutMs="20") for _ in range(2)
    )
    offset = 0

    def is_told() -> bool:
        nonlocal offset
        offset = offset % 9 + 1
        completed(first, OffsetsOf(topic, offset))
        completed(second, OffsetsOf(topic, offset))
        return "another query or consumer commits offsets in group" in caplog.text

    with caplog.at_level(logging.WARNING):
        wait_until(is_told)
        first.stop()
        second.stop()


def test_at_most_once_commits_before_it_reads_and_never_reads_again(
    topics: Any, admin: Admin
) -> None:
    topic = filled(topics)
    group = f"group of {topic}"
    given = {"subscribe": topic, "group_id": group, "offsetCommitMode": "AT_MOST_ONCE"}
    source = stream(topics, **given)
    end = source.latestOffset(OffsetsOf(topic, 0), ReadAllAvailable())
    assert committed(admin, group, topic) == 10
    assert len(source.partitions(OffsetsOf(topic, 0), end)) == 1
    after_a_restart = stream(topics, **given)
    assert after_a_restart.partitions(OffsetsOf(topic, 0), end) == []


def before_the_last(partitions: list[TopicPartition]) -> dict[TopicPartition, int | str]:
    return {tp: "-1 offset" if tp.partition else 7 for tp in partitions}


def test_a_function_says_where_a_query_begins(topics: Any) -> None:
    topic = filled(topics, partitions=2)
    function = f"{__name__}:before_the_last"
    begun = stream(topics, subscribe=topic, startingOffsetsFunction=function)
    assert begun.initialOffset() == OffsetsOf(topic, 7, 9)


def test_a_checkpoint_goes_before_the_start_option_and_says_so(
    topics: Any, caplog: pytest.LogCaptureFixture
) -> None:
    topic = filled(topics)
    told = "goes on where its checkpoint says, startingOffsets has no effect"
    new = stream(topics, subscribe=topic, startingOffsets="earliest")
    new.latestOffset(new.initialOffset(), ReadAllAvailable())
    by_default = stream(topics, subscribe=topic)
    by_default.latestOffset(OffsetsOf(topic, 4), ReadAllAvailable())
    assert told not in caplog.text
    restarted = stream(topics, subscribe=topic, startingOffsets="earliest")
    for _ in range(2):
        end = restarted.latestOffset(OffsetsOf(topic, 4), ReadAllAvailable())
    assert end == OffsetsOf(topic, 10)
    assert caplog.text.count(told) == 1


def test_partitions_that_json_does_not_name_or_names_in_vain_are_told(
    topics: Any, caplog: pytest.LogCaptureFixture
) -> None:
    topic = filled(topics, partitions=3)
    given = f'{{"{topic}": {{"0": 4}}, "other": {{"0": 1}}}}'
    begun = stream(topics, subscribe=topic, startingOffsets=given)
    assert begun.initialOffset() == OffsetsOf(topic, 4, 0, 0)
    assert f"names what the query does not read: {TopicPartition('other', 0)}" in caplog.text
    assert f"does not name all that the query reads: {topic}-1, {topic}-2" in caplog.text
