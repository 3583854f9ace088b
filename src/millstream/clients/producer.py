"""The asyncio producer: records and Arrow batches into topics.

Owns what callers see: checks, waiting for metadata and memory, transactions. What goes on behind it is in `sending`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, Unpack, cast

from millstream.clients.cluster import Cluster
from millstream.clients.core.accumulator import AccumulatorLimits, RecordAccumulator
from millstream.clients.core.cluster_metadata import TopicMetadata
from millstream.clients.core.config import ProducerConfig, ProducerSettings
from millstream.clients.core.interceptors import (
    DeliveryCallback,
    ProducerInterceptor,
    ProducerRecord,
)
from millstream.clients.core.misuse import IllegalState
from millstream.clients.core.outgoing import (
    AnySerializer,
    Outgoing,
    OutgoingRecord,
    as_bytes,
    checked_headers,
)
from millstream.clients.core.partitioner import (
    CustomPartitioner,
    DefaultPartitioner,
    PartitionChooser,
    PartitionLoad,
)
from millstream.clients.core.producer_batch import ProducerBatch, record_size_bytes
from millstream.clients.core.sender import Sender, SenderPolicy
from millstream.clients.core.serialization import LookupNeeded
from millstream.clients.core.settings import parse_settings
from millstream.clients.core.transaction import Transaction
from millstream.clients.core.type_variables import Key, Value
from millstream.clients.core.values import ConsumerGroupMetadata, Headers, OffsetAndMetadata
from millstream.clients.delivery import BatchDelivery, Delivery, Settlements
from millstream.clients.sending import Guard, Sending
from millstream.clients.tasks import ClientClosed, TaskScope
from millstream.clients.transactions import Transactions
from millstream.errors import InvalidPartitions, MessageTooLarge, RequestTimedOut
from millstream.model import TopicPartition
from millstream.records.builder import BatchOptions
from millstream.runtime.system import SystemClock, SystemRandom

if TYPE_CHECKING:
    import pyarrow as pa


class Producer(Generic[Key, Value]):
    """Use as `async with Producer(bootstrap_servers="localhost:9092") as producer`, or call `close()` in the end.

    Settings are keyword arguments with Kafka's names: see ProducerConfig. Keys and values are bytes unless serializers
    are given: functions of one value, objects with `encode(value)`, or with `serialize(topic, data, headers)`.
    """

    def __init__(
        self,
        *,
        key_serializer: AnySerializer[Key] | None = None,
        value_serializer: AnySerializer[Value] | None = None,
        partitioner: PartitionChooser | None = None,
        interceptors: Sequence[ProducerInterceptor[Key, Value]] = (),
        guard: Guard | None = None,
        **settings: Unpack[ProducerSettings],
    ) -> None:
        """`partitioner` chooses for every record that names no partition itself, e.g. RoundRobinPartitioner()."""
        config = parse_settings(ProducerConfig, settings)
        self.config = config
        self.guard: Guard = contextlib.nullcontext() if guard is None else guard
        """Held while batches are touched. The blocking twin gives a lock, and appends from its callers' threads."""
        self._clock = SystemClock()
        random = SystemRandom()
        self._scope = TaskScope("producer", self._background_failed)
        self._cluster = Cluster(
            config,
            self._scope,
            self._clock,
            random,
            metadata_observer=self._metadata_observed,
        )
        self._accumulator = RecordAccumulator(
            AccumulatorLimits(config.batch_size, config.buffer_memory, config.delivery_timeout_ms)
        )
        self.outgoing = Outgoing(key_serializer, value_serializer, interceptors)
        self._transaction = (
            None if config.transactional_id is None else Transaction(config.transactional_id)
        )
        sender = Sender(
            _policy(config, self._cluster), self._accumulator, random, self._transaction
        )
        self._partitioner = (
            self._default_partitioner(sender, random)
            if partitioner is None
            else CustomPartitioner(partitioner, lambda: self._cluster.picture)
        )
        self._sending = Sending(self._cluster, self._scope, sender, self._accumulator, self.guard)
        self._transactions = (
            None
            if self._transaction is None
            else Transactions(config, self._cluster, self._transaction, self._sending, self._scope)
        )
        if self._transactions is not None:
            self._sending.after_drain = self._transactions.add_wanted

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Sends what is left; after an exception inside the block it does not wait for records to be written."""
        await self.close(timeout_ms=None if error is None else 0)

    async def send(
        self,
        topic: str,
        value: Value | None = None,
        *,
        key: Key | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> Delivery:
        """Queue one record. Await the result for its RecordMetadata; an error nobody awaited is raised by `flush`.

        Waits while the topic is unknown or memory is full, up to max_block_ms. A null value is a tombstone.
        `on_delivery(metadata, error)` is called on the event loop, in the order of a partition's records.
        """
        if self.outgoing.is_plain:
            record = cast(
                "OutgoingRecord", (value, key, headers, partition, timestamp_ms, on_delivery)
            )
            placed = self.place(topic, record) or await self.place_in_time(topic, record)
        else:
            given = ProducerRecord(topic, value, key, headers, partition, timestamp_ms)
            given = self.outgoing.on_send(given)
            with self.outgoing.failures_told(given):
                record = await self.serialized(given, on_delivery)
                topic = given.topic
                placed = self.place(topic, record) or await self.place_in_time(topic, record)
        batch, index, look = placed
        if look:
            self.wake_sender(topic)
            await asyncio.sleep(0)  # let the sender run, however fast the caller is
        return Delivery(batch, index, self.settlements)

    def place(
        self, topic: str, record: OutgoingRecord, *, waited: bool = False
    ) -> tuple[ProducerBatch, int, bool] | None:
        """Put the record into a batch if that needs no waiting; None if it does.

        Returns the batch, the record's index in it, and whether `wake_sender` must be called. Where `guard` is a lock,
        it is held.
        """
        value, key, headers, partition, timestamp_ms, callback = record
        if value.__class__ is not bytes and value is not None:
            value = as_bytes("value", value)
        if key.__class__ is not bytes and key is not None:
            key = as_bytes("key", key)
        if headers:
            headers = checked_headers(headers)
        size = record_size_bytes(key, value, headers)
        if self._transaction is not None:
            self._transaction.check_open()
        metadata = self._cluster.picture.topics.get(topic)
        if (
            metadata is None
            or self._scope.is_closed
            or (self._sending.memory.is_awaited and not waited)
            or not self._accumulator.has_room(size)
            or size > self.config.max_request_size
        ):
            return None
        if partition is None:
            partition = self._partitioner.partition(metadata, key, value, size)
        elif partition not in metadata.partitions:
            raise _no_partition(topic, partition, len(metadata.partitions))
        now = self._clock.now()
        if timestamp_ms is None:
            timestamp_ms = now.wall_ms
        elif not 0 <= timestamp_ms < 2**63:
            raise ValueError(
                f"timestamp_ms must not be negative, got {timestamp_ms}; leave it out for now"
            )
        queue = self._accumulator.queues_of(topic).get(partition) or self._accumulator.queue(
            TopicPartition(topic, partition)
        )
        return self._accumulator.append(
            queue, (timestamp_ms, key, value, headers), size, now.monotonic_ms, callback
        )

    def wake_sender(self, topic: str) -> None:
        """There may be something to send. On the event loop."""
        self._cluster.use_topics(topic)
        self._sending.wake()

    async def send_batch(
        self, topic: str, records: pa.RecordBatch, *, partition: int | None = None
    ) -> BatchDelivery:
        """Queue an Arrow batch with the columns `value` and, if wanted, `key`, `timestamp` (ms) and `headers`.

        Without `partition` rows with a key go where their key says, the others to one partition. The order of rows
        within a partition is kept. No Python object is made per record.
        """
        from millstream.clients.core.arrow_batches import encode_rows

        if self._transaction is not None:
            self._transaction.check_open()
        await self._wait_for_topic_and_room(topic, 0, self._block_deadline_ms())
        metadata = self._cluster.picture.topics[topic]
        if partition is not None and partition not in metadata.partitions:
            raise _no_partition(topic, partition, len(metadata.partitions))
        parts = []
        for target, rows in self._rows_by_partition(metadata, records, partition):
            now = self._clock.now()
            options = BatchOptions(
                codec=self.config.codec,
                level=self.config.compression_level,
                is_transactional=self._transaction is not None,
            )
            for encoded, count in encode_rows(rows, options, self._arrow_bytes_max, now.wall_ms):
                if len(encoded) > self.config.max_request_size:
                    raise _too_large(len(encoded), self.config.max_request_size)
                await self._wait_for_topic_and_room(topic, len(encoded), self._block_deadline_ms())
                with self.guard:
                    if self._transaction is not None:
                        self._transaction.check_open()
                    batch = self._accumulator.append_encoded(
                        TopicPartition(topic, target), encoded, count, self._cluster.now_ms()
                    )
                parts.append(Delivery(batch, 0, self.settlements))
                self._sending.wake()
        return BatchDelivery(parts)

    async def partitions_for(self, topic: str) -> list[int]:
        """Raises UnknownTopicOrPartition within max_block_ms."""
        return list((await self._cluster.topic(topic, self._block_deadline_ms())).partitions)

    async def flush(self, timeout_ms: int | None = None) -> None:
        """Wait until everything sent so far is acknowledged or has failed.

        Raises the first error that nobody was told of, with a note how many more there are, or that of the
        transaction; RequestTimedOut at the time limit.
        """
        self._scope.check()
        deadline_ms = None if timeout_ms is None else self._cluster.now_ms() + timeout_ms
        await self._sending.settle_all(deadline_ms)
        if self._transaction is not None:
            self._transaction.raise_failure()
        else:
            self._sending.raise_unseen_failures()

    async def init_transactions(self) -> None:
        """Take over `transactional_id`: what others began under it is aborted, and they are fenced.

        To be called before the first transaction, and again whenever a fresh fence is wanted: by a task that is
        run anew, or after a fatal error. One round trip to the coordinator once that is known. Raises
        RequestTimedOut after max_block_ms; then call it again.
        """
        await self._transactional.initialize()

    async def begin_transaction(self) -> None:
        """Waits only when the last transaction ended so that the producer needs a new epoch (older brokers)."""
        await self._transactional.begin()

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_metadata: ConsumerGroupMetadata,
    ) -> None:
        """Commit consumed positions with the transaction: next offsets to read, and `consumer.group_metadata()`.

        The consumer itself must not commit (enable_auto_commit=False). Any error means: abort_transaction().
        """
        await self._transactional.send_offsets(offsets, group_metadata)

    async def commit_transaction(self) -> None:
        """Send what is left, then make all of the transaction visible.

        Raises TransactionFailed when a record or an offset could not be written: abort, then do the work again.
        ProducerFenced when another producer has taken over. RequestTimedOut after max_block_ms, when the outcome is
        unknown: call it again until it is known, or init_transactions() to give it up.
        """
        await self._transactional.commit()

    async def abort_transaction(self) -> None:
        """Discard the transaction; its records that are not written yet fail with TransactionAborted."""
        await self._transactional.abort()

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Self]:
        """A transaction as a block: committed at its end, aborted by an exception. Initializes when nobody has."""
        transactions = self._transactional
        if transactions.is_new:
            await transactions.initialize()
        await transactions.begin()
        try:
            yield self
            await transactions.commit()
        except BaseException as error:
            await transactions.abort_after(error)
            raise

    async def close(self, timeout_ms: int | None = None) -> None:
        """Flush within `timeout_ms` (default: as long as delivery takes), fail the rest, disconnect. Idempotent.

        An open transaction is aborted.
        """
        if self._scope.is_closed:
            return
        try:
            if self._transactions is not None:
                await self._transactions.leave(timeout_ms)
            elif timeout_ms != 0:
                await self.flush(timeout_ms)
        finally:
            try:
                await self._scope.close()
            finally:
                self._sending.abandon(
                    ClientClosed("the producer was closed before the record was acknowledged")
                )
                self._sending.forget_failures()
                self._sending.end()
                self.outgoing.close()
                await self._cluster.close()

    @property
    def _transactional(self) -> Transactions:
        self._scope.check()
        if self._transactions is None:
            raise IllegalState(
                "the producer has no transactions; give it a transactional_id that no other live producer has"
            )
        return self._transactions

    def _block_deadline_ms(self) -> int:
        return self._cluster.now_ms() + self.config.max_block_ms

    @property
    def settlements(self) -> Settlements:
        return self._sending.settlements

    async def place_in_time(
        self, topic: str, record: OutgoingRecord
    ) -> tuple[ProducerBatch, int, bool]:
        """`place`, after waiting for what it needs: one budget, max_block_ms, for all of it."""
        deadline_ms = self._block_deadline_ms()
        size = record_size_bytes(record[1], record[0], record[2])
        while True:
            await self._wait_for_topic_and_room(topic, size, deadline_ms)
            with self.guard:
                placed = self.place(topic, record, waited=True)
            if placed is not None:
                return placed

    async def serialized(
        self, record: ProducerRecord[Key, Value], callback: DeliveryCallback | None
    ) -> OutgoingRecord:
        """Awaits what a serializer must look up first, like a schema's id."""
        try:
            async with asyncio.timeout(self.config.max_block_ms / 1000):
                while True:
                    try:
                        return self.outgoing.serialize(record, callback)
                    except LookupNeeded as needed:
                        await needed.look_up()
        except TimeoutError as error:
            raise RequestTimedOut(
                f"a serializer for {record.topic!r} did not get what it needs within max_block_ms"
            ) from error

    def _default_partitioner(self, sender: Sender, random: SystemRandom) -> DefaultPartitioner:
        config = self.config
        load = PartitionLoad(
            self._accumulator.queue_lengths, lambda: sender.avoided_nodes(self._cluster.now_ms())
        )
        return DefaultPartitioner(
            random,
            config.batch_size,
            ignore_keys=config.partitioner_ignore_keys,
            load=load if config.partitioner_adaptive_partitioning_enable else None,
        )

    def _rows_by_partition(
        self, topic: TopicMetadata, records: pa.RecordBatch, partition: int | None
    ) -> list[tuple[int, pa.RecordBatch]]:
        from millstream.clients.core.arrow_batches import rows_by_partition

        if partition is not None:
            return [(partition, records)]
        if not isinstance(self._partitioner, DefaultPartitioner):
            raise IllegalState(
                "send_batch() does not call partitioners for each row; pass partition= with each batch"
            )
        sticky = self._partitioner.without_key(topic, records.nbytes)
        if self.config.partitioner_ignore_keys:
            return [(sticky, records)]
        return rows_by_partition(records, None, len(topic.partitions), sticky)

    @property
    def _arrow_bytes_max(self) -> int:
        """Arrow rows come in bulk: they are cut by request size, not by batch size."""
        return self.config.max_request_size

    async def _wait_for_topic_and_room(self, topic: str, size: int, deadline_ms: int) -> None:
        """One budget for both: max_block_ms."""
        self._scope.check()
        if size > self.config.max_request_size:
            raise _too_large(size, self.config.max_request_size)
        if topic not in self._cluster.picture.topics:
            await self._cluster.topic(topic, deadline_ms)
        first = True
        memory = self._sending.memory
        while not self._accumulator.has_room(size) or (first and memory.is_awaited):
            self._sending.wake()
            await memory.wait(size, deadline_ms)
            self._scope.check()
            first = False

    def _metadata_observed(self) -> None:
        self._sending.observe_metadata()

    def _background_failed(self) -> None:
        """Nothing will be sent any more: tell everybody who waits."""
        self._sending.abandon(
            ClientClosed("the producer ended: one of its background tasks failed")
        )
        self._cluster.wake_waiters()
        self._sending.end()


def _policy(config: ProducerConfig, cluster: Cluster) -> SenderPolicy:
    return SenderPolicy(
        acks=config.acks,
        idempotent=config.enable_idempotence,
        codec=config.codec,
        linger_ms=config.linger_ms,
        request_bytes_max=config.max_request_size,
        request_timeout_ms=config.request_timeout_ms,
        in_flight_max=config.max_in_flight_requests_per_connection,
        retries=config.retries,
        backoff=cluster.backoff,
        availability_timeout_ms=config.partitioner_availability_timeout_ms,
        compression_level=config.compression_level,
    )


def _no_partition(topic: str, partition: int, count: int) -> InvalidPartitions:
    return InvalidPartitions(f"{topic} has partitions 0 to {count - 1}, not {partition}")


def _too_large(size: int, limit: int) -> MessageTooLarge:
    return MessageTooLarge(f"a record of {size} bytes is larger than max_request_size ({limit})")
