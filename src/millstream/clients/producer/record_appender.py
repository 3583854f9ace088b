"""Puts records and Arrow batches into the producer's batches, waiting for the topic and for memory where it must.

Owns the path that every record takes, so it does there only what each record needs.
"""

from __future__ import annotations

import asyncio
import contextlib
import operator
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Final, Protocol, SupportsIndex

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.cluster.core.cluster_metadata import TopicMetadata
from millstream.clients.config import ProducerConfig
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.values import Headers
from millstream.clients.producer.buffer_memory import BufferMemory
from millstream.clients.producer.core.accumulator import RecordAccumulator
from millstream.clients.producer.core.default_partitioner import DefaultPartitioner
from millstream.clients.producer.core.interceptors import DeliveryCallback
from millstream.clients.producer.core.outgoing import (
    OutgoingRecord,
    as_bytes,
    checked_headers,
    plain_record,
)
from millstream.clients.producer.core.partitioner import Partitioner
from millstream.clients.producer.core.producer_batch import (
    RECORD_OVERHEAD_BYTES,
    ProducerBatch,
    headers_size_bytes,
)
from millstream.clients.producer.delivery import BatchDelivery, Delivery, PlacedRecord, Settlements
from millstream.clients.producer.transaction.core.transaction import Transaction
from millstream.errors import InvalidPartitions, MessageTooLarge
from millstream.net.client.tasks import TaskScope
from millstream.records.builder import BatchOptions
from millstream.runtime import Clock

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.records.record import Header

AnyHeaders = Sequence[tuple[str, bytes | None]]
Lock = contextlib.AbstractContextManager[object]
Waiting = Coroutine[object, object, PlacedRecord]

_TIMESTAMP_END: Final = 2**63


class Sending(Protocol):
    """The part of a `Sender` that those need who put records into batches."""

    @property
    def cluster(self) -> Cluster: ...
    @property
    def accumulator(self) -> RecordAccumulator: ...
    @property
    def memory(self) -> BufferMemory: ...
    @property
    def settlements(self) -> Settlements: ...
    @property
    def scope(self) -> TaskScope: ...
    @property
    def lock(self) -> Lock: ...
    def wake(self) -> None: ...


class RecordAppender:
    """Appends records to the producer's batches, which `lock` guards against threads beside the event loop."""

    def __init__(
        self,
        config: ProducerConfig,
        sender: Sending,
        partitioner: Partitioner,
        transaction: Transaction | None,
        clock: Clock,
    ) -> None:
        self._config = config
        self._sender = sender
        self._partitioner = partitioner
        self._transaction = transaction
        self._clock = clock
        self._cluster = sender.cluster
        self._metadata = sender.cluster.metadata
        self._accumulator = sender.accumulator
        self._memory = sender.memory
        self._settlements = sender.settlements
        self.lock: Lock = sender.lock
        self._record_bytes_max = config.max_request_size
        self.placed: Callable[[ProducerBatch, int, Settlements], PlacedRecord] = Delivery
        """Makes what `send` returns."""
        self.wake_from_thread: Callable[[str], object] | None = None
        """Wakes the sender for a topic where `append` is called by threads beside the event loop;
        None where it is called on it."""

    def append(  # noqa: PLR0917 - for each record, and keywords take their time
        self,
        topic: str,
        value: object,
        key: object,
        headers: AnyHeaders | None,
        partition: SupportsIndex | None,
        timestamp_ms: SupportsIndex | None,
        callback: DeliveryCallback | None,
    ) -> PlacedRecord | Waiting:
        """Puts a record of bytes into a batch at once, or gives a coroutine that does so when it can.

        The coroutine is to be awaited on the event loop. Threads beside the loop hold `lock` meanwhile.

        Raises what is wrong with the record, or with the transaction.
        """
        delivery = self.place(topic, value, key, headers, partition, timestamp_ms, callback)
        if delivery is None:
            return self._append_later(
                topic, plain_record(value, key, headers, partition, timestamp_ms, callback)
            )
        return self.show(delivery)

    def place(  # noqa: PLR0917 - as `append`
        self,
        topic: str,
        value: object,
        key: object,
        headers: AnyHeaders | None,
        partition: SupportsIndex | None,
        timestamp_ms: SupportsIndex | None,
        callback: DeliveryCallback | None,
        *,
        has_waited: bool = False,
    ) -> PlacedRecord | None:
        """Puts a record into a batch as `append` does, but tells no sender. None when the record must wait."""
        size = RECORD_OVERHEAD_BYTES
        key_bytes: bytes | None = None
        value_bytes: bytes | None = None
        if value is not None:
            value_bytes = value if type(value) is bytes else as_bytes("value", value)
            size += len(value_bytes)
        if key is not None:
            key_bytes = key if type(key) is bytes else as_bytes("key", key)
            size += len(key_bytes)
        checked: Headers | None = None
        if headers:
            checked = checked_headers(headers)
            size += headers_size_bytes(checked)
        if self._transaction is not None:
            self._transaction.check_open()
        metadata = self._metadata.cluster.topics.get(topic)
        if (
            metadata is None
            or size > self._record_bytes_max
            or not self._memory.admits(size, waited=has_waited)
        ):
            return None
        if partition is None:
            number = self._partitioner.partition(metadata, key_bytes, value_bytes, size)
        else:
            number = _partition_in(metadata, partition)
        time_ms = self._clock.wall_ms() if timestamp_ms is None else _time_in_range(timestamp_ms)
        accumulator = self._accumulator
        queue = accumulator.queue(topic, number)
        index = accumulator.append(queue, time_ms, key_bytes, value_bytes, checked, callback, size)
        if index < 0:
            accumulator.start_batch(queue, self._clock.now().monotonic_ms)
            index = accumulator.append(
                queue, time_ms, key_bytes, value_bytes, checked, callback, size
            )
        batch = queue.tail
        assert batch is not None, (
            "the record is in the newest batch: one just started takes any size"
        )
        return self.placed(batch, index, self._settlements)

    async def place_in_time(self, topic: str, record: OutgoingRecord) -> PlacedRecord:
        """Calls `place` after waiting for what it needs: one budget, max_block_ms, for all of it."""
        deadline_ms = self.block_deadline_ms()
        value, key, headers, partition, timestamp_ms, callback = record
        size = RECORD_OVERHEAD_BYTES + len(value or b"") + len(key or b"")
        size += headers_size_bytes(headers) if headers else 0
        while True:
            await self._wait_for_topic_and_room(topic, size, deadline_ms)
            with self.lock:
                delivery = self.place(
                    topic, value, key, headers, partition, timestamp_ms, callback, has_waited=True
                )
            if delivery is not None:  # else the topic is gone again
                return delivery

    def show(self, delivery: PlacedRecord) -> PlacedRecord | Waiting:
        """Tells the sender of a record, if it should look.

        Returns a coroutine where the caller must let it run first.
        """
        if not self._accumulator.concerns_sender(delivery._batch, delivery._index):
            return delivery
        if self.wake_from_thread is None:
            return self.show_in_time(delivery)
        self.wake_from_thread(delivery._batch.topic_partition.topic)
        return delivery

    async def show_in_time(self, delivery: PlacedRecord) -> PlacedRecord:
        """Does as `show`, on the event loop, which the sender gets before it returns, however fast the caller is."""
        if self._accumulator.concerns_sender(delivery._batch, delivery._index):
            self.wake_sender(delivery._batch.topic_partition.topic)
            await asyncio.sleep(0)
        return delivery

    async def _append_later(self, topic: str, record: OutgoingRecord) -> PlacedRecord:
        return await self.show_in_time(await self.place_in_time(topic, record))

    async def append_rows(
        self,
        topic: str,
        records: pa.RecordBatch,
        partition: int | None,
        batch_headers: Sequence[Header] = (),
    ) -> BatchDelivery:
        """Appends whole encoded batches, cut by request size; each waits for its own bytes."""
        from millstream.clients.core.arrow_batches import encode_rows

        if self._transaction is not None:
            self._transaction.check_open()
        metadata, deadline_ms = None, self.block_deadline_ms()
        while metadata is None:  # the topic may go again while room is waited for
            await self._wait_for_topic_and_room(topic, 0, deadline_ms)
            metadata = self._cluster.snapshot.topics.get(topic)
        options = BatchOptions(
            codec=self._config.codec,
            level=self._config.compression_level,
            is_transactional=self._transaction is not None,
        )
        parts = []
        for target, rows in self._rows_by_partition(metadata, records, partition):
            wall_ms = self._clock.wall_ms()
            for encoded, count in encode_rows(
                rows, options, self._record_bytes_max, wall_ms, batch_headers
            ):
                await self._wait_for_topic_and_room(topic, len(encoded), self.block_deadline_ms())
                with self.lock:
                    if self._transaction is not None:
                        self._transaction.check_open()
                    batch = self._accumulator.append_encoded(
                        self._accumulator.queue(topic, target),
                        encoded,
                        count,
                        self._cluster.now_ms(),
                    )
                    batch.batch_headers = batch_headers
                parts.append(Delivery(batch, 0, self._sender.settlements))
                self._sender.wake()
        return BatchDelivery(parts)

    def wake_sender(self, topic: str) -> None:
        """Wakes the sender, on the event loop: there may be something to send."""
        self._cluster.use_topics(topic)
        self._sender.wake()

    def block_deadline_ms(self) -> int:
        return self._cluster.now_ms() + self._config.max_block_ms

    async def _wait_for_topic_and_room(self, topic: str, size: int, deadline_ms: int) -> None:
        """Raises MessageTooLarge, RequestTimedOut, and whatever is wrong with the topic."""
        self._sender.scope.check()
        if size > self._record_bytes_max:
            raise MessageTooLarge(
                f"a record of {size} bytes is larger than max_request_size ({self._record_bytes_max})"
            )
        if topic not in self._cluster.snapshot.topics:
            await self._cluster.topic(topic, deadline_ms)
        waited = False
        while not self._memory.admits(size, waited=waited):
            self._sender.wake()
            await self._memory.wait(size, deadline_ms)
            self._sender.scope.check()
            waited = True

    def _rows_by_partition(
        self, topic: TopicMetadata, records: pa.RecordBatch, partition: int | None
    ) -> list[tuple[int, pa.RecordBatch]]:
        from millstream.clients.core.arrow_batches import rows_by_partition

        if partition is not None:
            return [(_partition_in(topic, partition), records)]
        if not isinstance(self._partitioner, DefaultPartitioner):
            raise IllegalState(
                "send_batch() does not call partitioners for each row; pass partition= with each batch"
            )
        sticky = self._partitioner.without_key(topic, records.nbytes)
        if self._config.partitioner_ignore_keys:
            return [(sticky, records)]
        return rows_by_partition(records, None, len(topic.partitions), sticky)


def _partition_in(topic: TopicMetadata, partition: SupportsIndex) -> int:
    number = operator.index(partition)
    if number not in topic.partitions:
        raise _no_partition(topic.name, number, len(topic.partitions))
    return number


def _time_in_range(timestamp_ms: SupportsIndex) -> int:
    time_ms = operator.index(timestamp_ms)
    if not 0 <= time_ms < _TIMESTAMP_END:
        raise ValueError(
            f"timestamp_ms must not be negative and not above {_TIMESTAMP_END - 1}, got {time_ms};"
            " leave it out to take the current time"
        )
    return time_ms


def _no_partition(topic: str, partition: int, count: int) -> InvalidPartitions:
    return InvalidPartitions(f"{topic} has partitions 0 to {count - 1}, not {partition}")
