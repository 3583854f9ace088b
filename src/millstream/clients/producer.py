"""The asyncio producer: records and Arrow batches into topics.

Owns waiting (for metadata, memory, answers) and the sender task. What is sent when is decided in `core.sender`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from millstream.clients.cluster import Cluster
from millstream.clients.connection import Connection
from millstream.clients.core.accumulator import AccumulatorLimits, RecordAccumulator
from millstream.clients.core.config import ProducerConfig, ProducerSettings
from millstream.clients.core.partitioner import Partitioner
from millstream.clients.core.produce_request import ProduceIntent
from millstream.clients.core.producer_batch import ProducerBatch, record_size_bytes
from millstream.clients.core.sender import Sender, SenderPolicy
from millstream.clients.core.settings import parse_settings
from millstream.clients.core.values import Headers
from millstream.clients.delivery import BatchDelivery, Delivery, Settlements
from millstream.clients.tasks import ClientClosed, TaskScope
from millstream.errors import (
    InvalidPartitions,
    KafkaError,
    MessageTooLarge,
    MillstreamError,
    RequestTimedOut,
    error_for,
)
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from millstream.protocol.generated.produce import ProduceResponse
from millstream.records.compression import Codec
from millstream.runtime.system import SystemClock, SystemRandom

if TYPE_CHECKING:
    import pyarrow as pa

_NO_TRANSACTION_TIMEOUT_MS = 2**31 - 1

OutgoingRecord = tuple[bytes | None, bytes | None, Headers | None, int | None, int | None]
"""Value, key, headers, partition, timestamp (ms)."""


class Producer:
    """Use as `async with Producer(bootstrap_servers="localhost:9092") as producer`, or call `close()` in the end.

    Settings are keyword arguments with Kafka's names: see ProducerConfig.
    """

    def __init__(
        self,
        *,
        guard: contextlib.AbstractContextManager[object] | None = None,
        **settings: Unpack[ProducerSettings],
    ) -> None:
        config = parse_settings(ProducerConfig, settings)
        self.config = config
        self.guard = contextlib.nullcontext() if guard is None else guard
        """Held while batches are touched. The blocking twin gives a lock, and appends from its callers' threads."""
        self._clock = SystemClock()
        random = SystemRandom()
        self._scope = TaskScope("producer", self._background_failed)
        self._wake = asyncio.Event()
        self._cluster = Cluster(
            config, self._scope, self._clock, random, metadata_observer=self._wake.set
        )
        self._accumulator = RecordAccumulator(
            AccumulatorLimits(config.batch_size, config.buffer_memory, config.delivery_timeout_ms)
        )
        self._partitioner = Partitioner(random, config.batch_size)
        self._sender = Sender(_policy(config, self._cluster), self._accumulator, random)
        self._settlements = Settlements()
        self._failed: list[ProducerBatch] = []
        self._memory_waiters: deque[asyncio.Future[None]] = deque()
        self._settled = asyncio.Event()
        self._hurrying = 0
        self._connecting: set[int] = set()
        self._sender_task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Sends what is left; after an exception inside the block it does not wait for the broker."""
        await self.close(timeout_ms=None if error is None else 0)

    async def send(
        self,
        topic: str,
        value: bytes | None = None,
        *,
        key: bytes | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Delivery:
        """Queue one record. Await the result for its RecordMetadata; an error nobody awaited is raised by `flush`.

        Waits while the topic is unknown or memory is full, up to max_block_ms. A null value is a tombstone.
        """
        record = checked_record((value, key, headers, partition, timestamp_ms))
        queued = self.enqueue(topic, record)
        while queued is None:
            await self._wait_for_topic_and_room(topic, record_size_bytes(key, value, headers))
            queued = self.enqueue(topic, record, waited=True)
        delivery, look = queued
        if look:
            self.wake_sender(topic)
            await asyncio.sleep(0)  # let the sender run, however fast the caller is
        return delivery

    def enqueue(
        self, topic: str, record: OutgoingRecord, *, waited: bool = False
    ) -> tuple[Delivery, bool] | None:
        """Queue (value, key, headers, partition, timestamp ms) if that needs no waiting; None if it does.

        With the delivery comes whether `wake_sender` must be called. The blocking twin calls this from other threads,
        holding `guard`.
        """
        value, key, headers, partition, timestamp_ms = record
        with self.guard:
            metadata = self._cluster.picture.topics.get(topic)
            size = record_size_bytes(key, value, headers)
            if (
                metadata is None
                or self._scope.is_closed
                or (self._memory_waiters and not waited)
                or not self._accumulator.has_room(size)
                or size > self.config.max_request_size
            ):
                return None
            if partition is None:
                if key is not None:
                    partition = self._partitioner.for_key(key, len(metadata.partitions))
                else:
                    partition = self._partitioner.without_key(metadata, size)
            elif partition not in metadata.partitions:
                raise _no_partition(topic, partition, len(metadata.partitions))
            now = self._clock.now()
            batch, index, look = self._accumulator.append(
                TopicPartition(topic, partition),
                (now.wall_ms if timestamp_ms is None else timestamp_ms, key, value, headers),
                size,
                now.monotonic_ms,
            )
            return Delivery(batch, index, self._settlements), look

    def wake_sender(self, topic: str) -> None:
        """There may be something to send. On the event loop."""
        self._cluster.use_topics(topic)
        self._wake_sender()

    async def send_batch(
        self, topic: str, records: pa.RecordBatch, *, partition: int | None = None
    ) -> BatchDelivery:
        """Queue an Arrow batch with the columns `value` and, if wanted, `key`, `timestamp` (ms) and `headers`.

        Without `partition` rows with a key go where their key says, the others to one partition. The order of rows
        within a partition is kept. No Python object is made per record.
        """
        from millstream.clients.core.arrow_batches import encode_rows, rows_by_partition

        await self._wait_for_topic_and_room(topic, 0)
        metadata = self._cluster.picture.topics[topic]
        if partition is not None and partition not in metadata.partitions:
            raise _no_partition(topic, partition, len(metadata.partitions))
        sticky = self._partitioner.without_key(metadata, records.nbytes)
        parts = []
        for target, rows in rows_by_partition(records, partition, len(metadata.partitions), sticky):
            now = self._clock.now()
            for encoded, count in encode_rows(
                rows, self._codec, self._arrow_bytes_max, now.wall_ms
            ):
                if len(encoded) > self.config.max_request_size:
                    raise _too_large(len(encoded), self.config.max_request_size)
                await self._wait_for_topic_and_room(topic, len(encoded))
                with self.guard:
                    batch = self._accumulator.append_encoded(
                        TopicPartition(topic, target), encoded, count, self._cluster.now_ms()
                    )
                parts.append(Delivery(batch, 0, self._settlements))
                self._wake_sender()
        return BatchDelivery(parts)

    async def partitions_for(self, topic: str) -> list[int]:
        """Raises UnknownTopicOrPartition within max_block_ms."""
        deadline_ms = self._cluster.now_ms() + self.config.max_block_ms
        return list((await self._cluster.topic(topic, deadline_ms)).partitions)

    async def flush(self, timeout_ms: int | None = None) -> None:
        """Wait until everything sent so far is acknowledged or has failed.

        Raises the first error that nobody was told of, with a note how many more there are; RequestTimedOut at the
        time limit.
        """
        self._scope.check()
        limit = self._accumulator.next_order
        self._hurrying += 1
        self._wake_sender()
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                while self._accumulator.has_unsettled_before(limit):
                    self._settled.clear()
                    await self._settled.wait()
                    self._scope.check()
        except TimeoutError as error:
            count = self._accumulator.unsettled_count
            raise RequestTimedOut(
                f"{count} batches are not settled after {timeout_ms} ms"
            ) from error
        finally:
            self._hurrying -= 1
        self._raise_unseen_failures()

    async def close(self, timeout_ms: int | None = None) -> None:
        """Flush within `timeout_ms` (default: as long as delivery takes), fail the rest, disconnect. Idempotent."""
        if self._scope.is_closed:
            return
        try:
            if self._accumulator.unsettled_count and timeout_ms != 0:
                await self.flush(timeout_ms)
            else:
                self._raise_unseen_failures()
        finally:
            try:
                await self._scope.close()
            finally:
                self._abandon(
                    ClientClosed("the producer was closed before the record was acknowledged")
                )
                self._failed.clear()
                self._wake_memory_waiters()
                await self._cluster.close()

    @property
    def _codec(self) -> Codec:
        return Codec[self.config.compression_type.upper()]

    @property
    def _arrow_bytes_max(self) -> int:
        """Arrow rows come in bulk: they are cut by request size, not by batch size."""
        return self.config.max_request_size

    async def _wait_for_topic_and_room(self, topic: str, size: int) -> None:
        """One budget for both: max_block_ms."""
        self._scope.check()
        if size > self.config.max_request_size:
            raise _too_large(size, self.config.max_request_size)
        deadline_ms = self._cluster.now_ms() + self.config.max_block_ms
        if topic not in self._cluster.picture.topics:
            await self._cluster.topic(topic, deadline_ms)
        first = True
        while not self._accumulator.has_room(size) or (first and self._memory_waiters):
            await self._wait_for_memory(deadline_ms, size)
            self._scope.check()
            first = False

    async def _wait_for_memory(self, deadline_ms: int, size: int) -> None:
        """First come, first served."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._memory_waiters.append(waiter)
        self._wake_sender()
        try:
            async with asyncio.timeout((deadline_ms - self._cluster.now_ms()) / 1000):
                await waiter
        except TimeoutError as error:
            raise RequestTimedOut(
                f"no room for a record of {size} bytes within max_block_ms ({self.config.max_block_ms}):"
                f" {self._accumulator.memory_used} bytes of buffer_memory wait for brokers"
            ) from error
        finally:
            with contextlib.suppress(ValueError):
                self._memory_waiters.remove(waiter)
            self._let_memory_waiters_in()

    def _let_memory_waiters_in(self) -> None:
        """Wake the first; when it has taken its bytes it wakes the next."""
        if self._memory_waiters and self._accumulator.has_room(0):
            waiter = self._memory_waiters[0]
            if not waiter.done():
                waiter.set_result(None)

    def _wake_sender(self) -> None:
        if self._sender_task is None or self._sender_task.done():
            self._scope.check()
            self._sender_task = self._scope.start(self._run_sender(), "sender")
        self._wake.set()

    async def _run_sender(self) -> None:
        while True:
            self._wake.clear()
            if self._sender.producer_id_wanted:
                await self._fetch_producer_id()
            now_ms = self._cluster.now_ms()
            hurry = self._hurrying > 0 or bool(self._memory_waiters)
            with self.guard:
                expired = self._sender.expire(now_ms)
                intents = self._sender.drain(
                    self._cluster.picture, now_ms, hurry=hurry, is_ready=self._is_ready
                )
            self._announce(expired)
            for intent in intents:
                connection = self._cluster.open_connection(intent.node_id)
                assert connection is not None, "nodes are drained that have a connection"
                self._scope.start(self._send(intent, connection), f"produce to {intent.node_id}")
            if self._sender.metadata_wanted:
                self._sender.metadata_wanted = False
                self._cluster.use_topics(*self._waiting_topics())
                self._cluster.request_metadata()
            await self._wait_for_work()

    async def _wait_for_work(self) -> None:
        with self.guard:
            wait_ms = self._sender.next_wake_ms(self._cluster.now_ms())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if wait_ms is None else max(1, wait_ms) / 1000):
                await self._wake.wait()

    def _is_ready(self, node_id: int) -> bool:
        """An open connection is there; if not, one is on its way."""
        if self._cluster.open_connection(node_id) is not None:
            return True
        if node_id not in self._connecting:
            self._connecting.add(node_id)
            self._scope.start(self._connect(node_id), f"connect to {node_id}")
        return False

    async def _connect(self, node_id: int) -> None:
        try:
            await self._cluster.connection(node_id)
        except KafkaError as error:
            with self.guard:
                self._sender.handle_unreachable(node_id, self._cluster.picture, error)
        finally:
            self._connecting.discard(node_id)
            self._wake.set()

    async def _send(self, intent: ProduceIntent, connection: Connection) -> None:
        try:
            response = await self._exchange(intent, connection)
        except KafkaError as error:
            with self.guard:
                settled = self._sender.handle_failure(intent, error, self._cluster.now_ms())
        else:
            with self.guard:
                settled = self._sender.handle_response(intent, response, self._cluster.now_ms())
            if response is not None:
                self._cluster.learn(intent.news(response))
        self._announce(settled)
        self._wake.set()

    async def _exchange(
        self, intent: ProduceIntent, connection: Connection
    ) -> ProduceResponse | None:
        """Written before anything is awaited: tasks start in the order of the intents, and so stand the requests."""
        if intent.acks == 0:
            connection.send_without_response(
                ApiKey.PRODUCE, intent.request(), version_max=intent.version_max
            )
            return None
        return await connection.request(
            ApiKey.PRODUCE,
            intent.request(),
            ProduceResponse,
            timeout_ms=intent.timeout_ms,
            version_max=intent.version_max,
        )

    async def _fetch_producer_id(self) -> None:
        """Retried until the oldest batch's delivery time is over; the expiry then tells its senders."""
        request = InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=_NO_TRANSACTION_TIMEOUT_MS
        )
        try:
            response = await self._cluster.request_any(
                ApiKey.INIT_PRODUCER_ID, request, InitProducerIdResponse
            )
            if response.error_code:
                raise error_for(response.error_code)
        except KafkaError as error:
            if not error.retriable:
                self._abandon(error)
            await asyncio.sleep(self._cluster.backoff.delay_ms(1, self._cluster.random) / 1000)
        else:
            self._sender.set_producer_id(response.producer_id, response.producer_epoch)

    def _background_failed(self) -> None:
        """Nothing will be sent any more: tell everybody who waits."""
        self._abandon(ClientClosed("the producer ended: one of its background tasks failed"))
        self._cluster.wake_waiters()
        self._settled.set()
        self._wake_memory_waiters()

    def _wake_memory_waiters(self) -> None:
        for waiter in self._memory_waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _abandon(self, error: MillstreamError) -> None:
        with self.guard:
            settled = self._sender.abandon(error)
        self._announce(settled)

    def _announce(self, settled: Sequence[ProducerBatch]) -> None:
        if not settled:
            return
        self._failed += [
            b for b in settled if b.outcome is not None and b.outcome.error is not None
        ]
        self._settlements.announce(settled)
        self._let_memory_waiters_in()
        self._settled.set()

    def _waiting_topics(self) -> set[str]:
        with self.guard:
            return {queue.topic_partition.topic for queue in self._accumulator.busy_queues}

    def _raise_unseen_failures(self) -> None:
        failed, self._failed = self._failed, []
        errors: list[MillstreamError] = [
            batch.outcome.error
            for batch in failed
            if not batch.error_seen
            and batch.outcome is not None
            and batch.outcome.error is not None
        ]
        if not errors:
            return
        if len(errors) > 1:
            errors[0].add_note(f"{len(errors) - 1} more batches failed since the last flush")
        raise errors[0]


def _policy(config: ProducerConfig, cluster: Cluster) -> SenderPolicy:
    return SenderPolicy(
        acks=config.acks,
        idempotent=config.enable_idempotence,
        codec=Codec[config.compression_type.upper()],
        linger_ms=config.linger_ms,
        request_bytes_max=config.max_request_size,
        request_timeout_ms=config.request_timeout_ms,
        in_flight_max=config.max_in_flight_requests_per_connection,
        retries=config.retries,
        backoff=cluster.backoff,
    )


def checked_record(record: OutgoingRecord) -> OutgoingRecord:
    """Raises TypeError or ValueError here, where the caller is, and not where batches are written."""
    value, key, headers, partition, timestamp_ms = record
    if value.__class__ is not bytes and value is not None:
        value = _as_bytes("value", value)
    if key.__class__ is not bytes and key is not None:
        key = _as_bytes("key", key)
    if headers:
        headers = [
            (_as_name(name), None if content is None else _as_bytes("a header's value", content))
            for name, content in headers
        ]
    if timestamp_ms is not None and not 0 <= timestamp_ms < 2**63:
        raise ValueError(
            f"timestamp_ms must not be negative, got {timestamp_ms}; leave it out for now"
        )
    return value, key, headers, partition, timestamp_ms


def _as_bytes(what: str, content: object) -> bytes:
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content)
    raise TypeError(f"{what} must be bytes or None, got {type(content).__name__}; encode it first")


def _as_name(name: object) -> str:
    if isinstance(name, str):
        return name
    raise TypeError(f"a header's name must be str, got {type(name).__name__}")


def _no_partition(topic: str, partition: int, count: int) -> InvalidPartitions:
    return InvalidPartitions(f"{topic} has partitions 0 to {count - 1}, not {partition}")


def _too_large(size: int, limit: int) -> MessageTooLarge:
    return MessageTooLarge(f"a record of {size} bytes is larger than max_request_size ({limit})")
