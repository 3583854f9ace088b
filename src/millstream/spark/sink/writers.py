"""`writeStream.format("millstream")` and `write.format("millstream")`: rows of any DataFrame into topics.

At least once: a task returns when its records are acknowledged, and a micro-batch or task that is repeated writes again.
Rows of one partition keep their order. Exactly-once needs the broker's transactions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from millstream.clients import BatchDelivery, Producer
from millstream.errors import ConfigError
from millstream.spark.connections import connections
from millstream.spark.sink_options import SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa

_RECORD_COLUMNS = ("key", "value", "timestamp", "headers")


@dataclass
class Written(WriterCommitMessage):
    records: int


class StreamWriter(DataSourceStreamArrowWriter):
    """Made anew by Spark for each micro-batch; its connections are those of the worker."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_rows(self._options, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Nothing to do: every record is acknowledged."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Leaves records that tasks have written; the repeated micro-batch writes them again."""


class BatchWriter(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_rows(self._options, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing to do: every record is acknowledged."""

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Leaves records that tasks have written."""


def write_rows(options: SinkOptions, batches: Iterator[pa.RecordBatch]) -> Written:
    """Writes all rows and waits for their acknowledgements. Raises the first error."""
    link = connections(options.kafka)
    producer = link.producer()
    deliveries: list[BatchDelivery] = []
    records = 0
    try:
        for batch in batches:
            records += batch.num_rows
            deliveries += link.run(_send(producer, options.topic, batch))
        link.run(_acknowledged(producer, deliveries))
    except BaseException:
        link.discard_producer()
        raise
    return Written(records)


async def _send(
    producer: Producer, topic: str | None, batch: pa.RecordBatch
) -> list[BatchDelivery]:
    return [
        await producer.send_batch(name, rows, partition=partition)
        for name, of_topic in _by_topic(topic, batch)
        for partition, rows in _by_partition(of_topic)
    ]


async def _acknowledged(producer: Producer, deliveries: list[BatchDelivery]) -> None:
    await producer.flush()
    for delivery in deliveries:
        await delivery


def _by_topic(topic: str | None, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The option goes before the column, as in Spark's Kafka connector."""
    import pyarrow.compute as pc

    if topic is not None:
        yield topic, batch
        return
    names = batch.column("topic")
    if names.null_count:
        raise ConfigError("a row has no topic: its column topic is null")
    for name in pc.unique(names).to_pylist():
        yield name, batch.filter(pc.equal(names, name))


def _by_partition(batch: pa.RecordBatch) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    """Null, or no such column: the key decides."""
    import pyarrow.compute as pc

    rows = batch.select([name for name in _RECORD_COLUMNS if name in batch.schema.names])
    if "partition" not in batch.schema.names:
        yield None, rows
        return
    partitions = batch.column("partition")
    for partition in pc.unique(partitions).to_pylist():
        mine = pc.is_null(partitions) if partition is None else pc.equal(partitions, partition)
        yield partition, rows.filter(mine)
