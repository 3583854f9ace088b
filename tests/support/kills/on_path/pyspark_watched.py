"""`format("watched")`: source and sink of `format("millstream")`, which come to a moment when a micro-batch is planned and when it is written.

Spark finds it as it finds `pyspark_millstream`, also for Declarative Pipelines, in which no program may register a format. It plans a stream,
and ends micro-batches of `writeStream`, in processes that have nothing of the daemon of its workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import WriterCommitMessage

from millstream.spark.data_source import MillstreamSource
from millstream.spark.sink.encoding.encoding import encoding_of
from millstream.spark.sink.options import parse_sink_options
from millstream.spark.sink.writers import StreamWriter
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.reading import RangesPartition
from millstream.spark.source.rows.decoding import decoding_of
from millstream.spark.source.stream_reader import StreamReader
from tests.support.kills.orders import Orders
from tests.support.kills.sink_moments import SinkMoment, observe_sinks

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class WatchedReader(StreamReader):
    orders = Orders.from_environment()

    def partitions(
        self,
        start: dict[str, Any],  # JSON
        end: dict[str, Any],  # JSON
    ) -> Sequence[RangesPartition]:
        """Spark asks when the micro-batch is in its log of offsets."""
        planned = super().partitions(start, end)
        self.orders.observe(SinkMoment.PLANNED)
        return planned


class WatchedWriter(StreamWriter):
    is_observed = False

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Spark calls it between the last task and its log of commits, in a process of its own that may end transactions."""
        if not WatchedWriter.is_observed:
            WatchedWriter.is_observed = True
            observe_sinks()
        super().commit(messages, batchId)
        Orders.from_environment().observe(SinkMoment.WRITTEN)


class DefaultSource(MillstreamSource):
    @classmethod
    def name(cls) -> str:
        return "watched"

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802 - Spark's name
        options = parse_source_options(self.options)
        return WatchedReader(options, decoding_of(options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802 - Spark's signature
        options = parse_sink_options(self.options, schema)
        return WatchedWriter(options, encoding_of(options, schema))
