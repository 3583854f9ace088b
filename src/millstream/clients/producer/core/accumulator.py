"""Records waiting to be sent, gathered into batches by partition, within a bound of memory.

Owns which batch a record joins and how many bytes are taken. Must not know brokers or requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from millstream.clients.core.values import Headers
from millstream.clients.producer.core.interceptors import DeliveryCallback
from millstream.clients.producer.core.partition_queue import PartitionQueue
from millstream.clients.producer.core.producer_batch import (
    BATCH_OVERHEAD_BYTES,
    ProducerBatch,
)
from millstream.model import TopicPartition
from millstream.records.batch import BATCH_HEADER_BYTES
from millstream.records.record import Record
from millstream.runtime.native import load_leaf

writer: Final = load_leaf("millstream.records.writer")


@dataclass(frozen=True, slots=True)
class AccumulatorLimits:
    batch_bytes: int
    memory_bytes: int
    delivery_timeout_ms: int


class RecordAccumulator:
    def __init__(self, limits: AccumulatorLimits) -> None:
        self._limits = limits
        self._batch_bytes = limits.batch_bytes
        self._next_order = 0
        self._queues: dict[str, dict[int, PartitionQueue]] = {}
        self._busy: dict[TopicPartition, PartitionQueue] = {}
        self._unsettled: dict[ProducerBatch, None] = {}
        self.memory_used = 0

    @property
    def busy_queues(self) -> list[PartitionQueue]:
        """Queues with something unsettled."""
        return list(self._busy.values())

    @property
    def is_busy(self) -> bool:
        """Tells whether something is unsettled."""
        return bool(self._busy)

    @property
    def unsettled_count(self) -> int:
        return len(self._unsettled)

    @property
    def next_order(self) -> int:
        """The order of the next batch: every batch that exists now sorts before it."""
        return self._next_order

    def has_unsettled_before(self, order: int) -> bool:
        return any(batch.order[0] < order for batch in self._unsettled)

    def has_room(self, size_bytes: int) -> bool:
        """A record larger than the whole memory is let in alone, so that it cannot wait for ever."""
        return self.memory_used + size_bytes <= self._limits.memory_bytes or self.memory_used == 0

    def queue(self, topic: str, partition: int) -> PartitionQueue:
        queues = self._queues.get(topic)
        if queues is None:
            queues = self._queues[topic] = {}
        queue = queues.get(partition)
        if queue is None:
            queue = queues[partition] = PartitionQueue(TopicPartition(topic, partition))
        return queue

    def queue_lengths(self, topic: str) -> dict[int, int]:
        """Returns the number of batches that wait, by partition; partitions that are left out have none."""
        return {
            partition: len(queue.waiting)
            for partition, queue in self._queues.get(topic, {}).items()
            if queue.waiting
        }

    def append(  # noqa: PLR0917 - for each record, and keywords take their time
        self,
        queue: PartitionQueue,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None,
        callback: DeliveryCallback | None,
        size_bytes: int,
    ) -> int:
        """Add a record to the newest batch of the partition.

        Returns its index there; -1 when that batch takes no more: start one.
        """
        batch = queue.tail
        if batch is None or not batch.is_open:
            return -1
        index = batch.record_count
        if index and batch.size_bytes + size_bytes > self._batch_bytes:
            return -1
        records = batch.records
        assert records is not None, "an open batch takes records one by one"
        records.append(timestamp_ms, key, value, headers)
        if callback is not None:
            batch.add_callback(index, callback)
        batch.record_count = index + 1
        batch.size_bytes += size_bytes
        self.memory_used += size_bytes
        return index

    def concerns_sender(self, batch: ProducerBatch, index: int) -> bool:
        """Tells whether the sender should look, now that a record has this index: the batch is new (its
        linger time runs) or full.
        """
        return not index or batch.size_bytes >= self._batch_bytes

    def start_batch(self, queue: PartitionQueue, now_ms: int) -> ProducerBatch:
        """Returns an empty batch for the records that come next, which close the one before it."""
        before = queue.tail
        batch = ProducerBatch(
            queue.topic_partition,
            (self._next_order,),
            now_ms,
            now_ms + self._limits.delivery_timeout_ms,
            writer.RecordBuffer(BATCH_HEADER_BYTES, None if before is None else before.records),
        )
        self._next_order += 1
        self.memory_used += BATCH_OVERHEAD_BYTES
        self._unsettled[batch] = None
        queue.waiting.append(batch)
        queue.tail = batch
        self._busy[queue.topic_partition] = queue
        return batch

    def append_encoded(
        self, queue: PartitionQueue, encoded: bytearray, record_count: int, now_ms: int
    ) -> ProducerBatch:
        """Queue a batch that is finished but for its producer's numbers."""
        batch = self.start_batch(queue, now_ms)
        batch.is_open = False
        self.memory_used += len(encoded) - batch.size_bytes
        batch.records = None
        batch.encoded = encoded
        batch.record_count = record_count
        batch.size_bytes = len(encoded)
        return batch

    def is_full(self, batch: ProducerBatch) -> bool:
        return batch.encoded is not None or batch.size_bytes >= self._limits.batch_bytes

    def split(self, batch: ProducerBatch, records: Sequence[Record]) -> None:
        """Replace a batch that the broker found too large by its halves, which keep its sequences.

        The caller has taken `batch` out of its queue.
        """
        middle = batch.record_count // 2
        bounds = ((0, middle), (middle, batch.record_count))
        halves = []
        for part, (start, stop) in enumerate(bounds):
            half = ProducerBatch(
                batch.topic_partition, (*batch.order, part), batch.created_ms, batch.deadline_ms
            )
            half.records = writer.RecordBuffer(BATCH_HEADER_BYTES)
            half.batch_headers = batch.batch_headers
            for index, record in enumerate(records[start:stop]):
                headers = record.headers
                if part and index == 0:  # the first half has them already
                    headers = [*batch.batch_headers, *headers]
                half.records.append(record.timestamp, record.key, record.value, headers)
            half.record_count = stop - start
            half.size_bytes = batch.size_bytes * (stop - start) // batch.record_count
            half.attempts = batch.attempts
            half.is_open = False
            half.callbacks = [
                (index - start, callback)
                for index, callback in batch.callbacks or ()
                if start <= index < stop
            ]
            if batch.base_sequence >= 0:
                half.producer_id = batch.producer_id
                half.producer_epoch = batch.producer_epoch
                half.base_sequence = (batch.base_sequence + start) & 0x7FFFFFFF
            halves.append(half)
        batch.halves = (halves[0], halves[1])
        batch.callbacks = None
        del self._unsettled[batch]
        self.memory_used -= batch.size_bytes
        for half in halves:
            self._unsettled[half] = None
            self.memory_used += half.size_bytes
            self.queue(*batch.topic_partition).put_back(half)

    def settle(self, batch: ProducerBatch) -> None:
        """Gives back the memory of `batch`, which has its outcome and has left its queue."""
        batch.is_open = False
        del self._unsettled[batch]
        self.memory_used -= batch.size_bytes
        queue = self.queue(*batch.topic_partition)
        if not queue.waiting and not queue.in_flight:
            self._busy.pop(batch.topic_partition, None)
