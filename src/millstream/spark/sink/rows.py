"""Rows of a DataFrame as records: which topic and partition each belongs to, in the order in which they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from millstream.clients import BatchDelivery, Producer
from millstream.errors import ConfigError
from millstream.spark.connections import Connections
from millstream.spark.sink.encoding.encoding import Encoding, encode
from millstream.spark.sink.options import NullTopic, SinkOptions
from millstream.spark.sink.routing import row_partitioner, with_partitions, with_selected_topics
from millstream.spark.sink.row_checks import illegal_name
from millstream.spark.sink.unwritable_rows import UnwritableRows

if TYPE_CHECKING:
    import pyarrow as pa

_RECORD_COLUMNS = ("key", "value", "timestamp", "headers")


class RowSender:
    """Hands rows to producers, for one task.

    Rows that cannot be written go to the topic for dead letters, where there is one.
    """

    def __init__(self, link: Connections, options: SinkOptions) -> None:
        self._options = options
        self._partitioner = row_partitioner(options.routing.partitioner)
        letters = options.routing.dead_letter_topic
        self._dead_letters = None if letters is None else UnwritableRows(link, options, letters)

    async def send(self, producer: Producer, batch: pa.RecordBatch) -> list[BatchDelivery]:
        """Rows of one partition keep their order. Raises ConfigError for a row without a topic."""
        deliveries: list[BatchDelivery] = []
        for topic, of_topic in by_topic(self._options, batch):
            rows = await self._with_partitions(producer, topic, of_topic)
            if self._dead_letters is not None:
                rows, letters = await self._dead_letters.sorted_out(producer, topic, rows)
                deliveries += letters
            deliveries += [
                await producer.send_batch(topic, mine, partition=partition)
                for partition, mine in _by_partition(rows)
                if mine.num_rows
            ]
        return deliveries

    async def _with_partitions(
        self, producer: Producer, topic: str, rows: pa.RecordBatch
    ) -> pa.RecordBatch:
        if self._partitioner is None or illegal_name(topic) is not None:
            return rows
        partitions = await producer.partitions_for(topic)
        return with_partitions(self._partitioner, rows, len(partitions))


def rows_to_write(
    options: SinkOptions, encoding: Encoding | None, batch: pa.RecordBatch
) -> pa.RecordBatch:
    """Returns the rows with the topics that a selector gives them, without those that are skipped, encoded.

    Functions see them before.
    """
    selector = options.routing.topic_selector
    rows = batch if selector is None else with_selected_topics(selector, batch)
    rows = _without_skipped(options, rows)
    return rows if encoding is None else encode(encoding, rows)


def _without_skipped(options: SinkOptions, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows without a topic are left out where `nullTopic` is `skip`."""
    import pyarrow.compute as pc

    if options.topic is None and options.null_topic is NullTopic.SKIP:
        names = batch.column("topic")
        if names.null_count:
            return batch.filter(pc.is_valid(names))
    return batch


def by_topic(options: SinkOptions, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The option goes before the column, as in Spark's Kafka connector."""
    import pyarrow.compute as pc

    if options.topic is not None:
        yield options.topic, batch
        return
    names = batch.column("topic")
    if names.null_count:
        raise ConfigError(
            "a row has no topic: its column topic is null, or topicSelector gave None. Leave such rows out with a filter, or with "
            "nullTopic=skip"
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
