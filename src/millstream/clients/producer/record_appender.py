"""Puts records and Arrow batches into the producer's batches, waiting for the topic and for memory where it must.

Owns the path that every record takes, so it does there only what each record needs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING

from millstream.clients.cluster.core.cluster_metadata import TopicMetadata
from millstream.clients.config import ProducerConfig
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.values import Headers
from millstream.clients.producer.core.interceptors import DeliveryCallback
from millstream.clients.producer.core.outgoing import (
    OutgoingRecord,
    as_bytes,
    checked_headers,
    plain_record,
)
from millstream.clients.producer.core.partitioner import DefaultPartitioner, Partitioner
from millstream.clients.producer.core.producer_batch import (
    RECORD_OVERHEAD_BYTES,
    ProducerBatch,
    headers_size_bytes,
)
from millstream.clients.producer.delivery import BatchDelivery, Delivery
from millstream.clients.producer.sender import Sender
from millstream.clients.producer.transaction.core.transaction import Transaction
from millstream.errors import InvalidPartitions, MessageTooLarge
from millstream.records.builder import BatchOptions
from millstream.runtime import Clock

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.records.record import Header

Appended = tuple[ProducerBatch, int, bool]
"""The batch, the record's index in it, and whether the sender should look now."""
Lock = contextlib.AbstractContextManager[object]
Waiting = Coroutine[object, object, Appended]

_TIMESTAMP_END = 2**63


class RecordAppender:
    """Appends records to the producer's batches, which `lock` guards against threads beside the event loop."""

    def __init__(
        self,
        config: ProducerConfig,
        sender: Sender,
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
        self._accumulator = sender.accumulator
        self._memory = sender.memory
        self.lock: Lock = sender.lock
        self._record_bytes_max = config.max_request_size

    def append(  # noqa: PLR0917 - for each record, and keywords take their time
        self,
        topic: str,
        value: object,
        key: object,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int | None,
        callback: DeliveryCallback | None,
        *,
        waited: bool = False,
    ) -> Appended | Waiting:
        """Puts a record of bytes into a batch at once, or gives a coroutine that does so when it can. The coroutine is to be awaited
        on the event loop. Threads beside the loop hold `lock` meanwhile.

        Raises what is wrong with the record, or with the transaction.
        """
        size = RECORD_OVERHEAD_BYTES
        if value is not None:
            value = value if type(value) is bytes else as_bytes("value", value)
            size += len(value)
        if key is not None:
            key = key if type(key) is bytes else as_bytes("key", key)
            size += len(key)
        if headers:
            headers = checked_headers(headers)
            size += headers_size_bytes(headers)
        if self._transaction is not None:
            self._transaction.check_open()
        metadata = self._cluster.snapshot.topics.get(topic)
        if (
            metadata is None
            or size > self._record_bytes_max
            or not self._memory.admits(size, waited=waited)
        ):
            return self.append_in_time(
                topic, plain_record(value, key, headers, partition, timestamp_ms, callback)
            )
        if partition is None:
            partition = self._partitioner.partition(metadata, key, value, size)
        elif partition not in metadata.partitions:
            raise _no_partition(topic, partition, len(metadata.partitions))
        if timestamp_ms is None:
            timestamp_ms = self._clock.wall_ms()
        elif not 0 <= timestamp_ms < _TIMESTAMP_END:
            raise ValueError(
                f"timestamp_ms must not be negative and not above {_TIMESTAMP_END - 1}, got {timestamp_ms};"
                " leave it out to take the current time"
            )
        accumulator = self._accumulator
        queue = accumulator.queue(topic, partition)
        appended = accumulator.append(queue, timestamp_ms, key, value, headers, callback, size)
        if appended is None:
            accumulator.start_batch(queue, self._clock.now().monotonic_ms)
            appended = accumulator.append(queue, timestamp_ms, key, value, headers, callback, size)
            assert appended is not None, "a batch that was just started takes a record of any size"
        return appended

    async def append_in_time(self, topic: str, record: OutgoingRecord) -> Appended:
        """Calls `append` after waiting for what it needs: one budget, max_block_ms, for all of it."""
        deadline_ms = self.block_deadline_ms()
        value, key, headers = record[:3]
        size = RECORD_OVERHEAD_BYTES + len(value or b"") + len(key or b"")
        size += headers_size_bytes(headers) if headers else 0
        while True:
            await self._wait_for_topic_and_room(topic, size, deadline_ms)
            with self.lock:
                appended = self.append(topic, *record, waited=True)
            if isinstance(appended, tuple):
                return appended
            appended.close()  # the topic is gone again

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
        await self._wait_for_topic_and_room(topic, 0, self.block_deadline_ms())
        metadata = self._cluster.snapshot.topics[topic]
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
            if partition not in topic.partitions:
                raise _no_partition(topic.name, partition, len(topic.partitions))
            return [(partition, records)]
        if not isinstance(self._partitioner, DefaultPartitioner):
            raise IllegalState(
                "send_batch() does not call partitioners for each row; pass partition= with each batch"
            )
        sticky = self._partitioner.without_key(topic, records.nbytes)
        if self._config.partitioner_ignore_keys:
            return [(sticky, records)]
        return rows_by_partition(records, None, len(topic.partitions), sticky)


def _no_partition(topic: str, partition: int, count: int) -> InvalidPartitions:
    return InvalidPartitions(f"{topic} has partitions 0 to {count - 1}, not {partition}")
