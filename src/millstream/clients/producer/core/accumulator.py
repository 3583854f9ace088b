"""Records waiting to be sent, gathered into batches by partition, within a bound of memory.

Owns which batch a record joins and how many bytes are taken. Must not know brokers or requests.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.clients.core.values import Headers
from millstream.clients.producer.core.interceptors import DeliveryCallback
from millstream.clients.producer.core.partition_queue import PartitionQueue
from millstream.clients.producer.core.producer_batch import (
    BATCH_OVERHEAD_BYTES,
    BatchColumns,
    ProducerBatch,
)
from millstream.model import TopicPartition


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
    ) -> tuple[ProducerBatch, int, bool] | None:
        """Add a record to the partition's open batch. None when there is none, or it has no room: start one.

        Returns the batch, the record's index in it, and whether the sender should look now: the batch is new (its
        linger time runs) or full.
        """
        batch = queue.tail
        if batch is None or not batch.is_open:
            return None
        index = batch.record_count
        if index and batch.size_bytes + size_bytes > self._batch_bytes:
            return None
        columns = batch.columns
        assert columns is not None, "an open batch keeps its records as columns"
        columns.timestamps.append(timestamp_ms)
        columns.keys.append(key)
        columns.values.append(value)
        if headers:
            columns.headers[index] = headers
        if callback is not None:
            batch.add_callback(index, callback)
        batch.record_count = index + 1
        batch.size_bytes += size_bytes
        self.memory_used += size_bytes
        return batch, index, not index or batch.size_bytes >= self._batch_bytes

    def start_batch(self, queue: PartitionQueue, now_ms: int) -> ProducerBatch:
        """Returns an empty batch for the records that come next, which close the one before it."""
        batch = ProducerBatch(
            queue.topic_partition,
            (self._next_order,),
            now_ms,
            now_ms + self._limits.delivery_timeout_ms,
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
        batch.columns = None
        batch.encoded = encoded
        batch.record_count = record_count
        batch.size_bytes = len(encoded)
        return batch

    def is_full(self, batch: ProducerBatch) -> bool:
        return batch.encoded is not None or batch.size_bytes >= self._limits.batch_bytes

    def split(self, batch: ProducerBatch, columns: BatchColumns) -> None:
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
            half.columns = columns.slice(start, stop)
            half.batch_headers = batch.batch_headers
            if part and batch.batch_headers:  # the first half has them already
                own = half.columns.headers.get(0, ())
                half.columns.headers[0] = [*batch.batch_headers, *own]
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
