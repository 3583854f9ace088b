"""`writeStream.format("millstream")` and `write.format("millstream")`: rows of any DataFrame into topics.

At least once, unless the options say otherwise: a task returns when its records are acknowledged, and a micro-batch or
task that is repeated writes again. Exactly once is `transactions`'. Rows of one partition keep their order.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark import SparkFiles, TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from millstream.clients import BatchDelivery, Producer
from millstream.errors import ConfigError, MillstreamError
from millstream.quoting import counted
from millstream.runtime.system import SystemRandom
from millstream.spark.collecting import freeze_what_is_loaded
from millstream.spark.connections import Connections, connections, wait_until_acknowledged
from millstream.spark.sink.encoding.encoding import Encoding
from millstream.spark.sink.finishing import abandon_writes, finish_writes
from millstream.spark.sink.marks import BatchMark, prefix_in_query
from millstream.spark.sink.options import DeliveryGuarantee, SinkOptions
from millstream.spark.sink.rows import RowSender, rows_to_write
from millstream.spark.sink.transactions import BatchWrite, Unfinished, write_exactly_once
from millstream.spark.told_errors import in_one_line

if TYPE_CHECKING:
    import pyarrow as pa

_LOGGER = logging.getLogger(__name__)

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"
_RUN: Final = "spark.jobGroup.id"
"""Spark's names of what a task knows of its query. The group of its job is the id of the query's run."""


@dataclass
class Written(WriterCommitMessage):
    """The outcome of one task. `skipped` rows had no topic; of `lost_batches` no broker has taken the records.

    `unfinished` is to be ended with that of the other tasks.
    """

    records: int
    skipped: int = 0
    lost_batches: int = 0
    unfinished: Unfinished | None = None


class _Writer:
    """Travels from the driver to the tasks of one write."""

    def __init__(self, options: SinkOptions, encoding: Encoding | None) -> None:
        self.options = options
        self._encoding = encoding
        self._id = SystemRandom().randbytes(16).hex()

    @in_one_line
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        options = self.options
        rows = _Rows(options, self._encoding, iterator)
        link = connections(options.kafka)
        self._find_cluster(link)
        match options.delivery_guarantee:
            case DeliveryGuarantee.EXACTLY_ONCE:
                write = self._batch_write()
                records, left = write_exactly_once(link, write, options, iter(rows))
                return Written(records, rows.skipped, unfinished=left)
            case DeliveryGuarantee.AT_LEAST_ONCE:
                return Written(_write_acknowledged(link, options, iter(rows)), rows.skipped)
            case DeliveryGuarantee.NONE:
                records, lost_batches = _write_unacknowledged(link, options, iter(rows))
                return Written(records, rows.skipped, lost_batches)

    def _find_cluster(self, link: Connections) -> None:
        """Raises BrokerNotAvailable where nothing listens as a write begins, or the first
        micro-batch of a run of a query.

        A run that has written before has found the cluster: one that refuses then restarts, and is waited for. Spark's
        workers come and go in a run, so one of them tells the others of its executor.
        """
        task = TaskContext.get()
        assert task is not None, "Spark calls writers in tasks"
        if task.getLocalProperty(_BATCH) is None:
            link.require_listener(self._id)
        else:
            run = str(task.getLocalProperty(_RUN))
            link.require_listener(run, told_in=SparkFiles.getRootDirectory())

    def _batch_write(self) -> BatchWrite:
        task = TaskContext.get()
        assert task is not None, "Spark calls writers in tasks"
        query, batch = task.getLocalProperty(_QUERY), task.getLocalProperty(_BATCH)
        if query is None or batch is None:
            # No micro-batch: a write that is repeated is another one.
            mark = BatchMark(self._id, 0, self._id, self._id)
            prefix = self.options.transactional_id_prefix or f"millstream-{self._id}"
            return BatchWrite(prefix, task.partitionId(), mark, is_alone=True)
        mark = BatchMark(query, int(batch), str(task.getLocalProperty(_RUN)), self._id)
        return BatchWrite(self._prefix_of(query), task.partitionId(), mark)

    def _prefix_of(self, query: str) -> str:
        return prefix_in_query(self.options.transactional_id_prefix or "millstream", query)


class StreamWriter(_Writer, DataSourceStreamArrowWriter):
    """Made anew by Spark for each micro-batch; its connections are those of the worker."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's signature
        _finish(self, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's signature
        """Leaves what tasks have committed: the repeated micro-batch writes it again, or finds that it is there."""
        left = _unfinished(messages)
        if left:
            abandon_writes(connections(self.options.kafka), left)


class BatchWriter(_Writer, DataSourceArrowWriter):
    """Of one write of a DataFrame, in a batch or in `foreachBatch`."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        _finish(self, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Leaves what tasks have committed."""
        left = _unfinished(messages)
        if left:
            abandon_writes(connections(self.options.kafka), left)

    def _prefix_of(self, query: str) -> str:
        if self.options.transactional_id_prefix is not None:
            return super()._prefix_of(query)
        raise ConfigError(
            "an exactly-once write in foreachBatch needs an option transactionalIdPrefix, one for each write: by it the write knows what "
            f"it has written when query {query} repeats a micro-batch"
        )


class _Rows:
    """The rows that are written, in Arrow batches. `skipped` counts the others."""

    def __init__(
        self, options: SinkOptions, encoding: Encoding | None, batches: Iterator[pa.RecordBatch]
    ) -> None:
        self._options = options
        self._encoding = encoding
        self._batches = batches
        self.skipped = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            rows = rows_to_write(self._options, self._encoding, batch)
            self.skipped += batch.num_rows - rows.num_rows
            yield rows


def _finish(writer: _Writer, messages: list[WriterCommitMessage | None]) -> None:
    """Ends what tasks have left open.

    All else they have done: every record is acknowledged, every other transaction ended.
    """
    left = _unfinished(messages)
    if left:
        finish_writes(connections(writer.options.kafka), writer.options, left)
    freeze_what_is_loaded()


def _unfinished(messages: list[WriterCommitMessage | None]) -> list[Unfinished]:
    """Tasks that have failed have no message."""
    return [
        each.unfinished
        for each in messages
        if isinstance(each, Written) and each.unfinished is not None
    ]


def _write_acknowledged(
    link: Connections, options: SinkOptions, batches: Iterator[pa.RecordBatch]
) -> int:
    """Writes all rows and waits for their acknowledgements. Raises the first error."""
    producer, sender = link.producer(), RowSender(link, options)
    deliveries: list[BatchDelivery] = []
    records = 0
    try:
        for batch in batches:
            records += batch.num_rows
            deliveries += link.run(sender.send(producer, batch))
        link.run(wait_until_acknowledged(producer, deliveries))
    except BaseException:
        link.discard_producer()
        raise
    return records


def _write_unacknowledged(
    link: Connections, options: SinkOptions, batches: Iterator[pa.RecordBatch]
) -> tuple[int, int]:
    """Returns how many rows were handed to the producer, and how many of its batches were lost.

    A topic that is not there is an error.
    """
    producer, sender = link.unacknowledged_producer(), RowSender(link, options)
    deliveries: list[BatchDelivery] = []
    records = 0
    for batch in batches:
        records += batch.num_rows
        deliveries += link.run(sender.send(producer, batch))
    lost = link.run(_lost(producer, deliveries))
    if lost:
        _LOGGER.warning("lost: %s, the last because of: %s", counted(len(lost), "batch"), lost[-1])
    return records, len(lost)


async def _lost(producer: Producer, deliveries: list[BatchDelivery]) -> list[MillstreamError]:
    lost = []
    try:
        await producer.flush()
    except MillstreamError as error:
        _LOGGER.debug("not all was sent: %s", error)
    for delivery in deliveries:
        try:
            await delivery
        except MillstreamError as error:
            lost.append(error)
    return lost
