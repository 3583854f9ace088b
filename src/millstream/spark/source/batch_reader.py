"""`spark.read.format("millstream")`: the records between two sets of offsets, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from millstream.model import Offset
from millstream.spark.source.options import LATEST, SourceOptions
from millstream.spark.source.reading import (
    RangesPartition,
    look_up,
    read_ranges,
    split,
    starting_offsets,
)

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[RangesPartition]:
        end = look_up(self._options, LATEST)
        wanted = self._options.ending_offsets
        if wanted != "latest":
            end |= {
                tp: Offset(min(end[tp], to)) for tp, to in wanted.items() if tp in end and to >= 0
            }
        # Spark reads with no partitions as with one that it makes up; an empty one says what is meant.
        return split(
            starting_offsets(self._options), end, copartition=self._options.copartition
        ) or [RangesPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangesPartition), "partitions() makes nothing else"
        return read_ranges(self._options, partition.ranges)
