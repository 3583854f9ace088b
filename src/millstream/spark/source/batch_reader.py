"""`spark.read.format("millstream")`: the records between two sets of offsets, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from millstream.model import ZERO_UUID
from millstream.runtime import Clock
from millstream.runtime.system import SystemClock
from millstream.spark.source.options import SourceOptions
from millstream.spark.source.planning import batch_range, link_of, topic_ids
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
        link = link_of(self._options)
        link.require_listener()
        # Spark plans several batches in one process, and what came since the one before belongs to this one.
        link.look_anew()
        # Before offsets are: where a topic is made anew meanwhile they are not taken for those of the other one.
        ids = {name: str(id_) for name, id_ in topic_ids(self._options).items() if id_ != ZERO_UUID}
        start, end = batch_range(self._options, self._clock.now().wall_ms)
        # Spark reads with no partitions as with one that it makes up; an empty one says what is meant.
        ranges = split(start, end, self._options, ids, link.leader_epochs(start))
        return ranges or [RangesPartition(())]

    @rows_in_one_line
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangesPartition), "partitions() makes nothing else"
        return read_ranges(self._options, partition.ranges, self._decoding, self._clock)
