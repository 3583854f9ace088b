"""The row that tells a task which offsets its micro-batch covers."""

from __future__ import annotations

from millstream.spark.coverage import Range, announced, announcement
from millstream.spark.offsets import partition_offsets
from millstream.spark.reading import OffsetRange, RangesPartition, row_schema, split


def test_the_row_tells_partition_and_ranges() -> None:
    coverage = {"a": Range(0, 5), "b": Range(7, 7)}
    for headers in (True, False):
        row = announcement(3, coverage, row_schema(headers=headers))
        assert row.num_rows == 1
        assert announced(row) == (3, coverage)


def test_partitions_that_are_read_together_have_their_empty_ranges_too() -> None:
    begin = partition_offsets({"a": {"0": 1, "1": 4}, "b": {"0": 2, "1": 6}})
    end = partition_offsets({"a": {"0": 3, "1": 4}, "b": {"0": 2, "1": 6}})
    assert split(begin, end, copartition=True) == [
        RangesPartition((OffsetRange("a", 0, 1, 3), OffsetRange("b", 0, 2, 2)))
    ]
    assert split(begin, end, copartition=False) == [RangesPartition((OffsetRange("a", 0, 1, 3),))]
