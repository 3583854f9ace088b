"""Writes the rows of one Spark partition in one transaction, exactly once however often Spark runs it.

The order of effects: `init_transactions` fences every other attempt and aborts what it left; the mark says whether the micro-batch is
written; records, mark and the end of the transaction. An attempt that fails anywhere leaves nothing that a reader with
read_committed sees, and the next one starts with the fence again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from millstream.clients import Admin, BatchDelivery, OffsetAndMetadata, Producer
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.producer.transaction.core.errors import (
    TransactionalProducerFailed,
    TransactionFailed,
)
from millstream.errors import KafkaError, UnstableOffsetCommit
from millstream.spark.connections import Connections, acknowledged
from millstream.spark.sink.marks import (
    Attempt,
    BatchMark,
    RowDigest,
    attempt_after,
    require_same,
)
from millstream.spark.sink.options import SinkOptions
from millstream.spark.sink.rows import RowSender

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """One attempt at a Spark partition of a micro-batch. `prefix` begins the transactional id and the name of the group."""

    prefix: str
    partition: int
    mark: BatchMark

    @property
    def transactional_id(self) -> str:
        return f"{self.prefix}-{self.partition}"


def write_exactly_once(
    link: Connections, write: BatchWrite, options: SinkOptions, batches: Iterator[pa.RecordBatch]
) -> int:
    """Returns how many rows the topics have of this Spark partition, now or from before. Raises BatchChanged, and what clients raise."""
    producer = link.transactional_producer(write.transactional_id)
    try:
        with causes_raised():
            link.run(producer.init_transactions())
            marks = link.run(marks_of(link.admin(), write.transactional_id))
            if attempt_after(marks, write.mark) is Attempt.COMPARE:
                return _compared(write, marks, batches)
            return _written(link, producer, write, options, batches)
    except BaseException:
        link.discard_transactional_producer(write.transactional_id)
        raise


@contextmanager
def causes_raised() -> Iterator[None]:
    """Raises what a transaction has failed with in the place of its failure, whose advice is for callers of a producer: Spark begins anew."""
    try:
        yield
    except (TransactionFailed, TransactionalProducerFailed) as error:
        cause = error.__cause__
        if not isinstance(cause, KafkaError):
            raise
        raise type(cause)(str(cause)) from error


def _compared(write: BatchWrite, marks: list[BatchMark], batches: Iterator[pa.RecordBatch]) -> int:
    digest = RowDigest()
    for batch in batches:
        digest.add(batch)
    require_same(marks, _finished(write.mark, digest), write.partition)
    return digest.records


def _written(
    link: Connections,
    producer: Producer,
    write: BatchWrite,
    options: SinkOptions,
    batches: Iterator[pa.RecordBatch],
) -> int:
    digest, deliveries = RowDigest(), list[BatchDelivery]()
    sender = RowSender(link, options)
    for batch in batches:
        if not batch.num_rows:
            continue
        if not deliveries:
            link.run(producer.begin_transaction())
        digest.add(batch)
        deliveries += link.run(sender.send(producer, batch))
    if deliveries:
        link.run(_commit(producer, write, _finished(write.mark, digest), deliveries))
    return digest.records


async def _commit(
    producer: Producer, write: BatchWrite, mark: BatchMark, deliveries: list[BatchDelivery]
) -> None:
    await acknowledged(producer, deliveries)
    last = deliveries[-1].last_record()
    marked = {last.topic_partition: OffsetAndMetadata(last.offset + 1, mark.encode())}
    await producer.send_offsets_to_transaction(
        marked, ConsumerGroupMetadata(write.transactional_id)
    )
    await producer.commit_transaction()


def _finished(mark: BatchMark, digest: RowDigest) -> BatchMark:
    return replace(mark, records=digest.records, digest=digest.value)


async def marks_of(admin: Admin, group_id: str) -> list[BatchMark]:
    """All that the group has: the topic of the last record may be another one each time. To be called where the producer has no open transaction."""
    groups = await admin.list_consumer_group_offsets([group_id], require_stable=True)
    committed = groups.result(group_id)
    try:
        found = [BatchMark.decode(committed.result(tp).metadata) for tp in committed]
    except UnstableOffsetCommit as error:
        raise UnstableOffsetCommit(
            f"{error} It is one of group {group_id}, of which none is open any more: brokers have lost its end. "
            "kafka-transactions.sh find-hanging names it and its partitions, abort ends it there"
        ) from error
    return [mark for mark in found if mark is not None]
