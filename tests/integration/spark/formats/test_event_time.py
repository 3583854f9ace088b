"""Event time and the limits of micro-batches of the source against a broker, and through Spark."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql.functions import window
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.datasource import ReadAllAvailable

from millstream.model import TopicPartition
from millstream.spark.source.event_time.record_times import BadTimestamp
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.stream_reader import StreamReader
from tests.integration.spark.formats.checkpoints import OffsetsOf, without_topic_ids
from tests.support.late_workers import started

pytestmark = pytest.mark.spark

WINDOW_MS = 10_000
BASE_MS = 1_700_000_000_000
FAST = [BASE_MS + n * 20_000 for n in range(12)]
SLOW = [BASE_MS + n * 5_000 for n in range(12)]
"""The times of two partitions that are read side by side."""


def reader(topics: Any, topic: str, **options: str) -> StreamReader:
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    return StreamReader(parse_source_options(given | options))


def offsets(topic: str, *numbers: int) -> dict[str, Any]:
    return {"v": 1, "offsets": {topic: {str(p): offset for p, offset in enumerate(numbers)}}}


def put(topics: Any, topic: str, partition: int, *times: int) -> None:
    """A batch for each record."""
    for time in times:
        topics.put(topic, [{"value": b"x" * 100, "partition": partition, "timestamp_ms": time}])


def watermarks_of(source: StreamReader, start: dict[str, Any], end: dict[str, Any]) -> set[Any]:
    return {
        None if value is None else int(value.timestamp() * 1000)
        for partition in source.partitions(start, end)
        for rows in source.read(partition)
        for value in rows.column("wm").to_pylist()
    }


def test_rows_carry_the_watermark_before_their_micro_batch(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, 9_000)
    put(topics, topic, 1, 4_000)
    source = reader(topics, topic, watermark="periodic", maxOutOfOrderness="1 second")
    start = offsets(topic, 0, 0) | {"kept": 1}
    first = source.latestOffset(start, ReadAllAvailable())
    latest = {topic: {"0": 9_000, "1": 4_000}}
    assert without_topic_ids(first) == offsets(topic, 1, 1) | {
        "kept": 1,
        "watermarks": {"watermark": 3_000, "latest": latest},
    }
    assert watermarks_of(source, start, first) == {None}
    put(topics, topic, 1, 3_500, 6_000)
    second = source.latestOffset(first, ReadAllAvailable())
    assert watermarks_of(source, first, second) == {3_000}
    assert second["watermarks"]["watermark"] == 5_000
    restarted = reader(topics, topic, watermark="periodic", pollTimeoutMs="0")
    assert watermarks_of(restarted, first, second) == {3_000}
    assert restarted.latestOffset(second, ReadAllAvailable()) == second


ANY_TIME = {"message_timestamp_after_max_ms": str(2**63 - 1)}


@pytest.mark.parametrize("time_ms", [BASE_MS * 1_000_000, BASE_MS * 1_000, 2**63 - 1])
def test_a_record_in_the_wrong_unit_ends_the_query_and_its_checkpoint_goes_on(
    topics: Any, time_ms: int
) -> None:
    """The micro-batch is written down before it is read, so it must be one that can be read with the option that the error names."""
    topic = topics.new(**ANY_TIME)
    put(topics, topic, 0, BASE_MS, time_ms)
    start = offsets(topic, 0)
    failing = reader(topics, topic, watermark="periodic")
    end = failing.latestOffset(start, ReadAllAvailable())
    assert end["watermarks"] == {"watermark": BASE_MS, "latest": {topic: {"0": BASE_MS}}}
    with pytest.raises(BadTimestamp, match=rf"{topic}-0 offset 1 .*badTimestamps=null goes on"):
        watermarks_of(failing, start, end)
    put(topics, topic, 0, BASE_MS + 5)
    going_on = reader(topics, topic, watermark="periodic", badTimestamps="null")
    assert watermarks_of(going_on, start, end) == {None}
    after = going_on.latestOffset(end, ReadAllAvailable())
    assert after["watermarks"]["watermark"] == BASE_MS + 5
    assert watermarks_of(going_on, end, after) == {BASE_MS}
    poisoned = end | {"watermarks": {"watermark": time_ms, "latest": {topic: {"0": time_ms}}}}
    again = going_on.latestOffset(poisoned, ReadAllAvailable())
    assert again["watermarks"]["watermark"] == BASE_MS + 5


def test_topics_that_are_read_together_may_have_any_timestamps(topics: Any) -> None:
    first, second = topics.new(**ANY_TIME), topics.new(**ANY_TIME)
    put(topics, first, 0, 0, 2**63 - 1, 3, BASE_MS)
    put(topics, second, 0, 2**63 - 1, 5)
    source = reader(topics, f"{first},{second}", copartition="true", maxRecordsPerTrigger="2")
    source.prepareForTriggerAvailableNow()
    position = offsets(first, 0) | {"offsets": {first: {"0": 0}, second: {"0": 0}}}
    for _ in range(8):
        position = source.latestOffset(position, source.getDefaultReadLimit())
    assert position["offsets"] == {first: {"0": 4}, second: {"0": 2}}


def test_an_idle_partition_does_not_hold_the_watermark(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, 9_000)
    source = reader(topics, topic, watermark="periodic", idleTimeout="0 seconds")
    end = source.latestOffset(offsets(topic, 0, 0), ReadAllAvailable())
    assert end["watermarks"]["watermark"] == 9_000
    put(topics, topic, 1, 4_000)
    late = source.latestOffset(end, ReadAllAvailable())
    assert late["offsets"] == {topic: {"0": 1, "1": 1}}
    assert late["watermarks"] == {"watermark": 9_000, "latest": {topic: {"0": 9_000, "1": 4_000}}}


def test_partitions_come_forward_together(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, 0, 60_000, 120_000)
    put(topics, topic, 1, *range(0, 60_000, 10_000))
    options = {"watermark": "periodic", "maxWatermarkDrift": "20 seconds"}
    source = reader(topics, topic, **options, maxRecordsPerTrigger="5")
    source.prepareForTriggerAvailableNow()
    position, seen = offsets(topic, 0, 0), []
    for _ in range(12):
        end = source.latestOffset(position, source.getDefaultReadLimit())
        if end == position:
            break
        seen.append(tuple(end["offsets"][topic].values()))
        position = end
    assert seen[-1] == (3, 6)
    assert all(slow >= 5 for fast, slow in seen if fast >= 2)  # 60 s is read with 40 s


def test_a_micro_batch_is_limited_in_bytes(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, 1, 2, 3)
    put(topics, topic, 1, 1)
    tiny = reader(topics, topic, maxBytesPerTrigger="1")
    end = tiny.latestOffset(offsets(topic, 0, 0), ReadAllAvailable())
    assert end == OffsetsOf(topic, 1, 1)
    batch_bytes = 61 + 100 + 9  # a record of 100 bytes and its own head
    more = reader(topics, topic, maxBytesPerTrigger=str(3 * batch_bytes))
    assert more.latestOffset(offsets(topic, 0, 0), ReadAllAvailable()) == OffsetsOf(topic, 2, 1)


def test_a_micro_batch_waits_until_enough_is_there(topics: Any) -> None:
    topic = topics.new()
    put(topics, topic, 0, 1, 2)
    options = {"minOffsetsPerTrigger": "3", "pollTimeoutMs": "10"}
    source = reader(topics, topic, **options)
    first = source.latestOffset(offsets(topic, 0), ReadAllAvailable())
    assert first == OffsetsOf(topic, 2)  # the first of a start waits for nothing
    put(topics, topic, 0, 3, 4)
    assert source.latestOffset(first, ReadAllAvailable()) == first
    put(topics, topic, 0, 5)
    assert source.latestOffset(first, ReadAllAvailable()) == OffsetsOf(topic, 5)
    put(topics, topic, 0, 6)
    ending = reader(topics, topic, **options)
    ending.prepareForTriggerAvailableNow()
    assert ending.latestOffset(offsets(topic, 5), ReadAllAvailable()) == OffsetsOf(topic, 6)
    at_once = reader(topics, topic, **options, maxTriggerDelay="0 seconds")
    assert at_once.latestOffset(offsets(topic, 5), ReadAllAvailable()) == OffsetsOf(topic, 6)


def test_what_retention_took_is_a_loss_that_the_reading_task_names(topics: Any) -> None:
    topic = topics.new()
    put(topics, topic, 0, 1_000, 2_000, 3_000)
    topics.admin(lambda admin: admin.delete_records({TopicPartition(topic, 0): 2}))
    source = reader(topics, topic, watermark="periodic", failOnDataLoss="false")
    start = offsets(topic, 0)
    end = source.latestOffset(start, ReadAllAvailable())
    assert end["offsets"] == {topic: {"0": 3}}
    rows = [rows for each in source.partitions(start, end) for rows in source.read(each)]
    assert [row["offset"] for batch in rows for row in batch.to_pylist()] == [2]


@contextmanager
def one_stateful_operator(spark: Any) -> Iterator[None]:
    name = "spark.sql.streaming.statefulOperator.allowMultiple"
    before = spark.conf.get(name)
    spark.conf.set(name, "false")
    try:
        yield
    finally:
        spark.conf.set(name, before)


def written(rows: Any, path: Path) -> list[dict[str, Any]]:
    """What a query over all that is there writes."""

    def run() -> None:
        query = (
            rows.writeStream.format("parquet")
            .option("path", str(path / "out"))
            .option("checkpointLocation", str(path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(400)

    started(run)
    found: list[dict[str, Any]] = (
        ds.dataset(sorted((path / "out").glob("*.parquet"))).to_table().to_pylist()
    )
    return found


def rows_of(spark: Any, topics: Any, topic: str, **options: str) -> Any:
    """All rows of a topic, a few in each micro-batch."""
    return (
        spark.readStream.format("millstream")
        .options(subscribe=topic, startingOffsets="earliest")
        .options(
            **{"bootstrap.servers": topics.bootstrap_servers, "maxRecordsPerTrigger": "8"} | options
        )
        .load()
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_query_that_met_a_record_in_the_wrong_unit_goes_on_with_its_checkpoint(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    topic = topics.new(**ANY_TIME)
    put(topics, topic, 0, BASE_MS, BASE_MS * 1_000_000, BASE_MS + 7)

    def rows(**more: str) -> list[dict[str, Any]]:
        columns = "offset", "unix_millis(timestamp) AS at", "unix_millis(wm) AS wm"
        found = rows_of(spark, topics, topic, watermark="periodic", **more)
        # The files of later micro-batches have no names of their own order.
        return sorted(written(found.selectExpr(*columns), tmp_path), key=lambda row: row["offset"])

    with pytest.raises(Exception, match=rf"{topic}-0 offset 1 has the timestamp {BASE_MS}000000"):
        rows()
    assert rows(badTimestamps="null") == [
        {"offset": 0, "at": BASE_MS, "wm": None},
        {"offset": 1, "at": None, "wm": None},
        {"offset": 2, "at": BASE_MS + 7, "wm": None},
    ]
    put(topics, topic, 0, BASE_MS + 9)
    assert rows(badTimestamps="null")[3:] == [{"offset": 3, "at": BASE_MS + 9, "wm": BASE_MS + 7}]


def closed_windows(spark: Any, rows: Any, time: str, path: Path) -> dict[int, int]:
    """The counts of the windows that are closed when all has been read; `time` is the column of event times."""
    counts = (
        rows.withWatermark(time, "0 seconds")
        .groupBy(window(time, "10 seconds"))
        .count()
        .selectExpr("unix_millis(window.start) AS start", "count")
    )
    # Two watermarks in one query; the lesser is Spark's.
    with one_stateful_operator(spark):
        return {row["start"]: row["count"] for row in written(counts, path)}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_windows_by_our_watermark_keep_the_records_of_a_slow_partition(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, *FAST)
    put(topics, topic, 1, *SLOW)
    rows = rows_of(spark, topics, topic, watermark="periodic").withWatermark("wm", "0 seconds")
    found = closed_windows(spark, rows, "timestamp", tmp_path)
    reference = Counter(at - at % WINDOW_MS for at in FAST + SLOW)
    closed = {start: n for start, n in reference.items() if start + WINDOW_MS <= max(SLOW)}
    assert all(n == reference[start] for start, n in found.items())
    assert len(found) >= len(closed) // 2


ORDERS = 16_000
LAST_MS = BASE_MS + 3_600_000


def put_orders(topics: Any, topic: str) -> None:
    """10 ms apart, each partition in order of time. Every 20 s another one of the four has the most of them.

    The last of each partition is an hour later and closes all windows before it.
    """
    choice = random.Random(5)
    times: list[list[int]] = [[], [], [], []]
    for number in range(ORDERS):
        dense = 8 * number // ORDERS % 4
        (of,) = choice.choices(range(4), [9 if each == dense else 1 for each in range(4)])
        times[of].append(BASE_MS + number * 10)
    for partition, mine in enumerate(times):
        mine.append(LAST_MS)
        columns = {
            "key": pa.array([b"c%d" % (at // 10 * 7919 % 100) for at in mine], pa.binary()),
            "value": pa.array([b"%d" % at for at in mine], pa.binary()),
            "timestamp": pa.array(mine, pa.int64()).cast(pa.timestamp("ms", tz="UTC")),
        }
        topics.put_arrow(topic, pa.table(columns), partition)


class Interrupted(Exception):
    """The sink of a query has failed."""


def counted_orders(rows: Any, path: Path, interrupted_at: int) -> int:
    """How many orders the windows of 10 s by customer count, with a delay of 2 s and a query that fails once and is started again."""
    counts = rows.withWatermark("timestamp", "2 seconds").groupBy(
        window("timestamp", "10 seconds"), "key"
    )
    counted: dict[int, int] = {}
    failures = [interrupted_at]

    def keep(closed: Any, batch: int) -> None:
        if batch in failures:
            failures.remove(batch)
            raise Interrupted
        counted[batch] = closed.agg({"count": "sum"}).collect()[0][0] or 0

    query = counts.count().writeStream.foreachBatch(keep).trigger(availableNow=True)
    query = query.option("checkpointLocation", str(path))
    with pytest.raises(Exception, match="Interrupted"):
        started(lambda: query.start().awaitTermination(400))
    assert started(lambda: query.start().awaitTermination(400))
    return sum(counted.values())


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("is_sliced", [True, False])
def test_windows_over_a_backlog_count_every_order_where_micro_batches_are_slices_of_time(
    spark: Any, topics: Any, tmp_path: Path, is_sliced: bool
) -> None:
    """Without it micro-batches carry Spark's watermark as far as their fastest partition has come."""
    topic = topics.new("orders", partitions=4)
    put_orders(topics, topic)
    more = {} if is_sliced else {"sliceByTimestamp": "false"}
    rows = rows_of(spark, topics, topic, **more, maxRecordsPerTrigger="3000")
    counted = counted_orders(rows, tmp_path, interrupted_at=2)
    if is_sliced:
        assert counted == ORDERS
    else:
        assert counted < ORDERS * 0.9


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_timers_of_transform_with_state_go_off_by_the_watermark_of_the_slow_partition(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    """`wm` alone is Spark's watermark then: each timer goes off when all records before it have been counted."""
    topic = topics.new(partitions=2)
    put(topics, topic, 0, *FAST)
    put(topics, topic, 1, *SLOW)

    class Counting(StatefulProcessor):  # here, so that it travels to the workers as it is
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.count = handle.getValueState("count", "n long")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803 - Spark's names
            before = self.count.get()[0] if self.count.exists() else 0
            self.count.update((before + sum(map(len, rows)),))
            self.handle.registerTimer(int(key[0]) + 10_000)
            return iter(())

        def handleExpiredTimer(  # noqa: N802 - Spark's name
            self,
            key: Any,
            timerValues: Any,  # noqa: N803 - Spark's name
            expiredTimerInfo: Any,  # noqa: N803 - Spark's name
        ) -> Iterator[Any]:
            import pandas as pd

            yield pd.DataFrame({"start": [key[0]], "count": [self.count.get()[0]]})
            self.count.clear()

        def close(self) -> None:
            pass

    rows = (
        rows_of(spark, topics, topic, watermark="periodic")
        .withWatermark("wm", "0 seconds")
        .selectExpr("unix_millis(timestamp) div 10000 * 10000 AS start", "wm")
    )
    counts = rows.groupBy("start").transformWithStateInPandas(
        statefulProcessor=Counting(),
        outputStructType="start long, count long",
        outputMode="append",
        timeMode="EventTime",
    )
    found = [(row["start"], row["count"]) for row in written(counts, tmp_path)]
    reference = Counter(at - at % WINDOW_MS for at in FAST + SLOW)
    assert sorted(found) == sorted((start, reference[start]) for start, _ in found)
    assert len(found) >= 3
