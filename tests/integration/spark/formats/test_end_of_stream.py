"""The end of a stream that a function finds, against a broker, and through Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millstream.clients import ConsumerRecord
from millstream.clients.blocking import Admin
from millstream.model import Offset, TopicPartition
from millstream.spark.source.end_of_stream import EndOfStreamFailed
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.planning import topic_ids
from millstream.spark.source.record_scan import ScannedRanges, questions_of, scan_records
from millstream.spark.source.stream_reader import StreamReader
from millstream.streams.runtime.errors import DataLoss
from tests.integration.spark.formats.checkpoints import OffsetsOf
from tests.support.late_workers import started

pytestmark = pytest.mark.spark


def is_end(record: ConsumerRecord) -> bool:
    return record.value == b"end"


def no_longer_asked(record: ConsumerRecord) -> bool:
    raise LookupError(f"offset {record.offset} was looked at")


def reader(topics: Any, topic: str, function: str = "is_end", **options: str) -> StreamReader:
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    if function:
        given["endOfStream"] = f"{__name__}:{function}"
    return StreamReader(parse_source_options(given | {"pollTimeoutMs": "0"} | options))


def put(topics: Any, topic: str, partition: int, words: str) -> None:
    values = [word.encode() for word in words.split()]
    topics.put(topic, [{"value": value, "partition": partition} for value in values])


def offsets(topic: str, *numbers: int) -> dict[str, Any]:
    return {"v": 1, "offsets": {topic: {str(p): offset for p, offset in enumerate(numbers)}}}


def planned(source: StreamReader, start: Any) -> Any:
    return source.latestOffset(start, source.getDefaultReadLimit())


def read(source: StreamReader, start: Any, end: Any) -> list[str]:
    batches = [rows for each in source.partitions(start, end) for rows in source.read(each)]
    return sorted(value.decode() for rows in batches for value in rows.column("value").to_pylist())


def is_nothing_new(source: StreamReader, end: Any) -> bool:
    """Spark compares documents as text."""
    return json.dumps(planned(source, end)) == json.dumps(end)


def test_a_partition_ends_before_the_record_and_the_others_go_on(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, "a b end c")
    put(topics, topic, 1, "x")
    source, start = reader(topics, topic), offsets(topic, 0, 0)
    first = planned(source, start)
    assert first == OffsetsOf(topic, 2, 1)
    assert first["endOfStream"] == {"scope": "partition", "ends": {topic: {"0": 2}}}
    assert read(source, start, first) == ["a", "b", "x"]
    put(topics, topic, 0, "d")
    assert is_nothing_new(source, first)
    put(topics, topic, 1, "y")
    second = planned(source, first)
    assert read(source, first, second) == ["y"]
    assert second["endOfStream"] == first["endOfStream"]


def test_a_query_ends_after_the_micro_batch_that_meets_the_record(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, "end")
    put(topics, topic, 1, "x y z")
    options = {"endOfStreamScope": "query", "maxRecordsPerTrigger": "2"}
    source, start = reader(topics, topic, **options), offsets(topic, 0, 0)
    end = planned(source, start)
    assert end == OffsetsOf(topic, 0, 1)
    assert read(source, start, end) == ["x"]
    topics.admin(lambda admin: admin.create_partitions({topic: 3}))
    topics.admin(lambda admin: admin.delete_records({TopicPartition(topic, 1): 3}))
    assert is_nothing_new(source, end)
    assert is_nothing_new(reader(topics, topic, "no_longer_asked", **options), end)


def test_a_micro_batch_that_is_run_again_asks_no_function(topics: Any) -> None:
    topic = topics.new()
    put(topics, topic, 0, "a end b")
    start = offsets(topic, 0)
    end = planned(reader(topics, topic), start)
    repeated = reader(topics, topic, "no_longer_asked")
    assert read(repeated, start, end) == ["a"]
    assert is_nothing_new(repeated, end)


def test_a_first_record_that_ends_its_partition_makes_one_micro_batch_of_nothing(
    topics: Any,
) -> None:
    topic = topics.new()
    put(topics, topic, 0, "end")
    source, start = reader(topics, topic), offsets(topic, 0)
    source.prepareForTriggerAvailableNow()
    end = planned(source, start)
    assert json.dumps(end) != json.dumps(start)
    assert read(source, start, end) == []
    assert is_nothing_new(source, end)


def test_without_the_option_the_query_goes_on_with_the_record_that_ended_it(topics: Any) -> None:
    topic = topics.new()
    put(topics, topic, 0, "a end b")
    end = planned(reader(topics, topic), offsets(topic, 0))
    source = reader(topics, topic, "")
    further = planned(source, end)
    assert read(source, end, further) == ["b", "end"]
    assert "endOfStream" not in further


def test_an_ended_partition_may_lose_its_records_and_its_topic(topics: Any) -> None:
    topic = topics.new()
    put(topics, topic, 0, "a end b c")
    source = reader(topics, topic, discoveryIntervalMs="1", failOnDataLoss="earliest")
    failing = reader(topics, topic, discoveryIntervalMs="1")
    end = planned(source, offsets(topic, 0))
    topics.admin(lambda admin: admin.delete_records({TopicPartition(topic, 0): 3}))
    assert is_nothing_new(failing, end)
    topics.admin(lambda admin: admin.delete_topics([topic]))
    assert is_nothing_new(failing, end)
    topics.create(topic)
    put(topics, topic, 0, "new end")
    anew = planned(source, end)
    assert read(source, end, anew) == ["new"]
    with pytest.raises(DataLoss, match=rf"topic {topic} was deleted and created anew"):
        planned(failing, end)


def test_records_that_are_gone_before_they_were_searched_are_a_loss(topics: Any) -> None:
    topic = topics.new()
    put(topics, topic, 0, "a b c end")
    topics.admin(lambda admin: admin.delete_records({TopicPartition(topic, 0): 2}))
    source = reader(topics, topic, failOnDataLoss="earliest", watermark="periodic")
    start = offsets(topic, 0)
    end = planned(source, start)
    assert end == OffsetsOf(topic, 3)
    assert read(source, start, end) == ["c"]


@pytest.mark.parametrize(("policy", "start", "ends"), [("earliest", 2, {0: 3}), ("latest", 5, {})])
def test_retention_that_overtakes_the_search_shortens_the_range(
    topics: Any, policy: str, start: int, ends: dict[int, int]
) -> None:
    topic = topics.new()
    put(topics, topic, 0, "end b c end d")
    topics.admin(lambda admin: admin.delete_records({TopicPartition(topic, 0): 2}))
    partition = TopicPartition(topic, 0)
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    given |= {"endOfStream": f"{__name__}:is_end"}
    ranges = {partition: Offset(0)}, {partition: Offset(5)}

    def search(on_loss: str) -> ScannedRanges:
        options = parse_source_options(given | {"failOnDataLoss": on_loss})
        return scan_records(options, questions_of(options), *ranges, topic_ids(options))

    assert search(policy) == (
        {partition: start},
        {TopicPartition(topic, number): end for number, end in ends.items()},
        {},
    )
    with pytest.raises(DataLoss, match=rf"offsets 0 to 5 of {topic}-0 are not all in the log"):
        search("fail")


def test_many_partitions_end_each_at_its_own_record(topics: Any) -> None:
    topic = topics.new(partitions=11)
    records = [
        {"value": b"end" if n == p else b"x", "partition": p} for p in range(11) for n in range(10)
    ]
    topics.put(topic, records)
    end = planned(reader(topics, topic), offsets(topic, *[0] * 11))
    assert end == OffsetsOf(topic, *range(11))
    assert end["endOfStream"]["ends"] == {topic: {str(p): p for p in range(10)}}


def test_an_ended_partition_does_not_hold_the_watermark(topics: Any) -> None:
    topic = topics.new(partitions=2)

    def put_at(time_ms: int, partition: int, value: bytes) -> None:
        topics.put(topic, [{"value": value, "partition": partition, "timestamp_ms": time_ms}])

    put_at(1_000, 0, b"a")
    put_at(1_000, 0, b"end")
    put_at(5_000, 1, b"x")
    source = reader(topics, topic, watermark="periodic", pollTimeoutMs="5000")
    first = planned(source, offsets(topic, 0, 0))
    assert first["watermarks"]["watermark"] == 1_000
    put_at(7_000, 1, b"y")
    assert planned(source, first)["watermarks"]["watermark"] == 7_000


def test_an_ended_partition_is_not_asked_in_a_loop(topics: Any) -> None:
    topic = topics.new()
    put(topics, topic, 0, "end b")
    for scope in ("partition", "query"):
        source = reader(topics, topic, endOfStreamScope=scope, pollTimeoutMs="300")
        end = planned(source, offsets(topic, 0))
        began = time.monotonic()
        assert is_nothing_new(source, end)
        assert time.monotonic() - began >= 0.25


def test_a_function_that_raises_names_the_record(topics: Any) -> None:
    topic = topics.new()
    put(topics, topic, 0, "a b")
    source = reader(topics, topic, "no_longer_asked")
    with pytest.raises(
        EndOfStreamFailed,
        match=rf"no_longer_asked does not say whether {topic}-0 offset 1 ends .* it raised LookupError: offset 1 was",
    ):
        planned(source, offsets(topic, 1))


@contextmanager
def told_soon_when_idle(spark: Any) -> Iterator[None]:
    name = "spark.sql.streaming.noDataProgressEventInterval"
    spark.conf.set(name, "50")
    try:
        yield
    finally:
        spark.conf.unset(name)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_query_is_stopped_at_the_end_and_again_when_it_is_restarted(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    topic = topics.new(partitions=2)
    group = f"group of {topic}"
    put(topics, topic, 0, "a end b")
    put(topics, topic, 1, "x y")
    rows = (
        spark.readStream.format("millstream")
        .options(subscribe=topic, startingOffsets="earliest", endOfStreamScope="query")
        .options(**{"bootstrap.servers": topics.bootstrap_servers, "group.id": group})
        .option("endOfStream", f"{__name__}:is_end")
        .load()
    )

    def count_rows() -> int:
        sink = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
        query = sink.start()
        assert query.awaitTermination(400)
        assert query.exception() is None
        return sum(progress.numInputRows for progress in query.recentProgress)

    with told_soon_when_idle(spark):
        assert started(count_rows) == 3
        put(topics, topic, 1, "z")
        assert started(count_rows) == 0
    with Admin(bootstrap_servers=topics.bootstrap_servers) as admin:
        found = admin.list_consumer_group_offsets([group]).result(group)
        assert [found.result(TopicPartition(topic, p)).offset for p in (0, 1)] == [1, 2]
