"""What one Spark task reads, and in which order: ranges of offsets and the rows that come of records."""

from __future__ import annotations

import pickle
import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from millstream.model import Offset, TopicPartition
from millstream.spark.source.event_time.record_times import BadTimestamp, BadTimestamps
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.reading import OffsetRange, RangesPartition, as_rows, split

OPTIONS = parse_source_options({"bootstrap.servers": "b:1", "subscribe": "a,b"})


def test_a_plan_is_the_same_in_whatever_order_partitions_are_listed() -> None:
    ends = {TopicPartition(topic, number): Offset(3) for topic in "ab" for number in range(5)}
    expected = [
        RangesPartition((OffsetRange(topic, number, Offset(0), Offset(3)),))
        for number in range(5)
        for topic in "ab"
    ]
    for seed in range(5):
        listed = list(ends)
        random.Random(seed).shuffle(listed)
        begin = dict.fromkeys(listed, Offset(0))
        assert split(begin, {tp: ends[tp] for tp in reversed(listed)}, OPTIONS) == expected


def test_a_partition_without_new_records_has_no_task() -> None:
    begin = {TopicPartition("a", number): Offset(3) for number in range(3)}
    end = begin | {TopicPartition("a", 1): Offset(5)}
    (task,) = split(begin, end, OPTIONS)
    assert task.ranges == (OffsetRange("a", 1, Offset(3), Offset(5)),)
    assert split(begin, begin, OPTIONS) == []


def with_times(*times_ms: int) -> pa.RecordBatch:
    """Offsets from 7."""
    count = len(times_ms)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([None] * count, pa.binary()),
            "value": pa.array([b"v"] * count, pa.binary()),
            "offset": pa.array(range(7, 7 + count), pa.int64()),
            "timestamp": pa.array(times_ms, pa.int64()),
        }
    )


@pytest.mark.parametrize(
    ("time_ms", "told"),
    [
        (1_700_000_000_000_000_000, "after the year 9999, and looks like nanoseconds"),
        (1_700_000_000_000_000, "after the year 9999, and looks like microseconds"),
        (2**63 - 1, "after the year 9999"),
        (253_402_300_800_000, "after the year 9999"),
        (-62_135_596_800_001, "before the year 1"),
        (-(2**63), "before the year 1"),
    ],
)
def test_a_timestamp_that_no_column_holds_is_told_with_its_record(time_ms: int, told: str) -> None:
    """Multiplied to microseconds it would be another time."""
    with pytest.raises(BadTimestamp) as failed:
        as_rows(with_times(5, time_ms, -1, time_ms), TopicPartition("a", 2))
    sentence = str(failed.value)
    assert sentence == (
        f"a-2 offset 8 has the timestamp {time_ms}, which in milliseconds since 1970 is {told}. badTimestamps=null goes on: the column is "
        "null there, and the record counts for no watermark"
    )
    assert str(pickle.loads(pickle.dumps(failed.value))) == sentence  # as Spark hands it on


def test_a_timestamp_that_no_column_holds_is_null_where_that_is_wanted() -> None:
    rows = with_times(0, 2**63 - 1, 253_402_300_799_999, -62_135_596_800_000, -(2**63))
    found = as_rows(rows, TopicPartition("a", 2), BadTimestamps.NULL)
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)
    assert found.column("timestamp").to_pylist() == [
        datetime.fromtimestamp(0, UTC), None, last, first, None,
    ]  # fmt: skip


def test_a_record_without_a_timestamp_has_the_one_before_1970() -> None:
    records = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([None], pa.binary()),
            "value": pa.array([b"v"], pa.binary()),
            "offset": pa.array([7], pa.int64()),
            "timestamp": pa.array([-1], pa.int64()),
        }
    )
    (row,) = as_rows(records, TopicPartition("a", 2)).to_pylist()
    before = datetime(1970, 1, 1, tzinfo=UTC) - timedelta(milliseconds=1)
    assert row == {
        "key": None, "value": b"v", "topic": "a", "partition": 2, "offset": 7, "timestamp": before
    }  # fmt: skip
