"""Rows of a DataFrame as records: which topic and partition each belongs to, in the order in which they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from millstream.clients import BatchDelivery, Producer
from millstream.errors import ConfigError
from millstream.spark.sink.options import NullTopic, SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa

_RECORD_COLUMNS = ("key", "value", "timestamp", "headers")


async def send(
    producer: Producer, options: SinkOptions, batch: pa.RecordBatch
) -> list[BatchDelivery]:
    """Hands the rows to the producer. Rows of one partition keep their order. Raises ConfigError for a row without a topic."""
    return [
        await producer.send_batch(name, rows, partition=partition)
        for name, of_topic in _by_topic(options, batch)
        for partition, rows in _by_partition(of_topic)
    ]


def without_skipped(options: SinkOptions, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that are to be written: without those that have no topic, where `nullTopic` is `skip`."""
    import pyarrow.compute as pc

    if options.topic is None and options.null_topic is NullTopic.SKIP:
        names = batch.column("topic")
        if names.null_count:
            return batch.filter(pc.is_valid(names))
    return batch


def _by_topic(options: SinkOptions, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The option goes before the column, as in Spark's Kafka connector."""
    import pyarrow.compute as pc

    if options.topic is not None:
        yield options.topic, batch
        return
    names = batch.column("topic")
    if names.null_count:
        raise ConfigError(
            "a row has no topic: its column topic is null. Leave such rows out with a filter, or with nullTopic=skip"
        )
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
