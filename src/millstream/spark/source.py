"""`spark.readStream.format("millstream")`: a streaming source in pure Python, Arrow all the way.

Spark's offset log decides what is read: a range is written down before it is processed and read again, exactly, when the
batch is repeated. One long-lived process plans (`latestOffset`, `partitions`); pooled workers read (`read`).

Rows: key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, and with includeHeaders
headers array<struct<key: string, value: binary>>.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from millstream.clients import Consumer
from millstream.errors import MillstreamError, OffsetOutOfRange
from millstream.model import Offset, TopicPartition
from millstream.spark import offsets as plan
from millstream.spark.connections import Connections, connections
from millstream.spark.source_options import EARLIEST, LATEST, SourceOptions, parse_source_options

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FORMAT: Final = "millstream"
_COLUMNS: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
)
_HEADERS: Final = ", headers array<struct<key: string, value: binary>>"

Offsets = Mapping[TopicPartition, Offset]


class DataLoss(MillstreamError):
    """Records that a batch was to read are no longer in the log."""


class MillstreamSource(DataSource):
    """Register once a session: `register(session)`; `millstream.spark.configure` has done it."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        options = parse_source_options(self.options)
        return _COLUMNS + (_HEADERS if options.include_headers else "")

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: ARG002, N802 - Spark's signature
        return StreamReader(parse_source_options(self.options))


def register(session: SparkSession) -> None:
    session.dataSource.register(MillstreamSource)


@dataclass(frozen=True, slots=True)
class OffsetRange:
    topic: str
    partition: int
    start: Offset
    end: Offset


@dataclass(frozen=True)
class RangesPartition(InputPartition):
    """What one Spark task reads, in this order."""

    ranges: tuple[OffsetRange, ...]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Planning in the driver's process, reading in workers; pickled in between, so it opens connections when it needs them."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._last: Offsets | None = None
        """The end of an availableNow query."""

    # Planning.

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name; the values are JSON
        wanted = self._options.starting_offsets
        if wanted == "latest":
            return plan.to_json(self._look_up(LATEST))
        start = self._look_up(EARLIEST)
        if wanted != "earliest":
            ends = self._look_up(LATEST) if LATEST in wanted.values() else {}
            for partition in start:
                offset = wanted.get(partition, EARLIEST)
                if offset == LATEST:
                    start[partition] = ends[partition]
                elif offset >= 0:
                    start[partition] = offset
        return plan.to_json(start)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        limit = self._options.records_per_trigger_max
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._last = self._look_up(LATEST)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name; JSON
        begin: Offsets = plan.from_json(start)
        available = self._wait_for_records(begin) if self._last is None else self._last
        begin = self._with_new_partitions(begin, available)
        records_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return plan.to_json(plan.admitted(begin, available, records_max))

    def partitions(
        self, start: dict[str, Any], end: dict[str, Any]
    ) -> Sequence[RangesPartition]:  # JSON
        finish: Offsets = plan.from_json(end)
        begin = self._with_new_partitions(plan.from_json(start), finish)
        finish = plan.advanced(begin, finish)
        ranges = [
            OffsetRange(tp.topic, tp.partition, begin[tp], finish[tp])
            for tp in sorted(begin, key=lambda tp: (tp.partition, tp.topic))
            if finish[tp] > begin[tp]
        ]
        if not self._options.copartition:
            return [RangesPartition((each,)) for each in ranges]
        numbers = dict.fromkeys(each.partition for each in ranges)
        return [
            RangesPartition(tuple(r for r in ranges if r.partition == number)) for number in numbers
        ]

    def _with_new_partitions(self, begin: Offsets, end: Offsets) -> Offsets:
        """A partition that was added since the query began is read from its start."""
        if end.keys() <= begin.keys():
            return begin
        return {**self._look_up(EARLIEST), **begin}

    def _wait_for_records(self, begin: Offsets) -> Offsets:
        """Long poll: returns at once when there is something to read, after pollTimeoutMs when there is not."""
        available = self._look_up(LATEST)
        if self._options.poll_timeout_ms and all(
            available[tp] <= begin.get(tp, Offset(0)) for tp in available
        ):
            self._link().run(self._first_record(begin))
            available = self._look_up(LATEST)
        return available

    async def _first_record(self, begin: Offsets) -> None:
        timeout_ms = self._options.poll_timeout_ms
        async with Consumer(bootstrap_servers=self._options.bootstrap_servers) as consumer:
            consumer.assign(begin)
            for partition, offset in begin.items():
                consumer.seek(partition, offset)
            await consumer.poll(max_records=1, timeout_ms=timeout_ms)

    def _look_up(self, timestamp: Offset) -> dict[TopicPartition, Offset]:
        link = self._link()
        reader = link.reader()
        return {
            TopicPartition(topic, partition): Offset(offset)
            for topic in self._options.topics
            for partition, offset in link.run(reader.offsets(topic, timestamp)).items()
        }

    def _link(self) -> Connections:
        return connections(self._options.bootstrap_servers)

    # Reading, in a worker.

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangesPartition), "partitions() makes nothing else"
        for each in partition.ranges:
            yield from self._read_range(each)

    def _read_range(self, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
        link = self._link()
        start = wanted.start
        while True:
            batches = link.reader().read(
                wanted.topic,
                wanted.partition,
                start,
                wanted.end,
                headers=self._options.include_headers,
            )
            try:
                for batch in link.iterate(batches):
                    yield as_rows(batch, wanted.topic, wanted.partition)
            except OffsetOutOfRange as error:
                earliest = self._look_up(EARLIEST)[TopicPartition(wanted.topic, wanted.partition)]
                if self._options.fail_on_data_loss or earliest <= start:
                    raise DataLoss(
                        f"offsets {start} to {wanted.end} of {wanted.topic}-{wanted.partition} are not all in the log, "
                        f"which starts at {earliest}: retention or a delete was faster than the query. "
                        "Set failOnDataLoss=false to go on with what is left"
                    ) from error
                start = min(earliest, wanted.end)
                if start == wanted.end:
                    return
            else:
                return


def as_rows(records: pa.RecordBatch, topic: str, partition: int) -> pa.RecordBatch:
    """Adds topic and partition, and turns milliseconds into Spark's timestamps, without a Python object a row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = records.num_rows
    columns = [
        records.column("key"),
        records.column("value"),
        pa.repeat(pa.scalar(topic), rows),
        pa.repeat(pa.scalar(partition, pa.int32()), rows),
        records.column("offset"),
        pc.multiply(records.column("timestamp"), 1000).cast(pa.timestamp("us", tz="UTC")),
    ]
    names = ["key", "value", "topic", "partition", "offset", "timestamp"]
    if "headers" in records.schema.names:
        columns.append(records.column("headers").cast(_headers_type()))
        names.append("headers")
    return pa.RecordBatch.from_arrays(columns, names)


def _headers_type() -> pa.DataType:
    """Spark compares types with the names of list items and their nullability."""
    import pyarrow as pa

    header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    return pa.list_(pa.field("element", header))
