"""`spark.read.format("millstream")`: the records between two sets of offsets, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from millstream.runtime import Clock
from millstream.runtime.system import SystemClock
from millstream.spark.source.options import SourceOptions
from millstream.spark.source.planning import batch_range, link_of
from millstream.spark.source.reading import RangesPartition, read_ranges, split
from millstream.spark.source.rows.decoding import Decoding
from millstream.spark.told_errors import in_one_line, rows_in_one_line

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    def __init__(
        self,
        options: SourceOptions,
        decoding: Decoding | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._options = options
        self._decoding = decoding
        self._clock = SystemClock() if clock is None else clock

    @in_one_line
    def partitions(self) -> Sequence[RangesPartition]:
        link_of(self._options).require_listener()
        now_ms = self._clock.now().wall_ms
        start, end = batch_range(self._options, now_ms)
        # Spark reads with no partitions as with one that it makes up; an empty one says what is meant.
        return split(start, end, self._options) or [RangesPartition(())]

    @rows_in_one_line
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangesPartition), "partitions() makes nothing else"
        return read_ranges(self._options, partition.ranges, self._decoding, self._clock)
