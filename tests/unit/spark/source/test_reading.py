"""What one Spark task reads, and in which order: ranges of offsets and the rows that come of records."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from millstream.model import Offset, TopicPartition
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


def test_a_record_without_a_timestamp_has_the_one_before_1970() -> None:
    records = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([None], pa.binary()),
            "value": pa.array([b"v"], pa.binary()),
            "offset": pa.array([7], pa.int64()),
            "timestamp": pa.array([-1], pa.int64()),
        }
    )
    (row,) = as_rows(records, "a", 2).to_pylist()
    before = datetime(1970, 1, 1, tzinfo=UTC) - timedelta(milliseconds=1)
    assert row == {
        "key": None, "value": b"v", "topic": "a", "partition": 2, "offset": 7, "timestamp": before
    }  # fmt: skip
