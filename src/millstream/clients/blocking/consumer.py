"""The blocking twins of Consumer and RangeReader."""

from __future__ import annotations

import asyncio
import re
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import TYPE_CHECKING, Generic, Self, Unpack, final

from millstream.clients.blocking.blocking_client import BlockingClient, calls, waits
from millstream.clients.config import ConsumerSettings
from millstream.clients.consumer import consumer, range_reader
from millstream.clients.consumer.core.interceptors import ConsumerInterceptor
from millstream.clients.core.arguments import AnyOffset, AnyPartition
from millstream.clients.core.deserialization import AnyDeserializer
from millstream.clients.core.values import ConsumerRecord, Key, OffsetAndMetadata, Value
from millstream.clients.group import member
from millstream.errors import KafkaError
from millstream.foreign_names.explanation import explain_construction
from millstream.model import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa


class RebalanceListener:
    """As the asyncio one, with plain methods: they run on a thread of their own, and may use the consumer.

    The thread that called poll(), unsubscribe() or close() waits for them.
    """

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        """Called before partitions are given up: the place to commit what is processed."""

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """Called with partitions that are new in the assignment: the place to seek."""

    def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        """Called with partitions that are taken away already and may have other owners: it is too late to commit."""
        self.on_partitions_revoked(partitions)


CommitCallback = Callable[[Mapping[TopicPartition, OffsetAndMetadata], KafkaError | None], None]


@explain_construction
class Consumer(BlockingClient[consumer.Consumer[Key, Value]], Generic[Key, Value]):
    """See `millstream.clients.Consumer`: same settings, same methods. One thread at a time may use it.

    A second thread gets ConcurrentUse; only `wakeup` and `close` may be called while another is in a call. Heartbeats
    do not depend on the caller: they are sent by the loop's own thread, where deserializers and interceptors run too.
    """

    def __init__(
        self,
        *,
        key_deserializer: AnyDeserializer[Key] | None = None,
        value_deserializer: AnyDeserializer[Value] | None = None,
        interceptors: Sequence[ConsumerInterceptor[Key, Value]] | None = None,
        **settings: Unpack[ConsumerSettings],
    ) -> None:
        super().__init__(
            lambda: consumer.Consumer(
                key_deserializer=key_deserializer,
                value_deserializer=value_deserializer,
                interceptors=interceptors,
                **settings,
            )
        )

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord[Key, Value]:
        """The next record; waits as long as it takes."""
        record = self._client._next_at_hand()
        return self._loop.run(self._client.__anext__()) if record is None else record

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """See the asyncio Consumer. An empty list of topics is `unsubscribe`, and waits for it."""
        names = topics if topics is None or isinstance(topics, str) else list(topics)
        told = None if listener is None else _OnThread(listener)
        self._loop.call(lambda: self._client.subscribe(names, pattern=pattern, listener=told))
        if names is not None and not names:
            self.unsubscribe()

    def assign(self, partitions: Iterable[AnyPartition]) -> None:
        """See the asyncio Consumer. No partition at all is `unsubscribe`, and waits for it."""
        wanted = list(partitions)
        self._loop.call(lambda: self._client.assign(wanted))
        if not wanted:
            self.unsubscribe()

    def poll(
        self, *, max_records: int | None = None, timeout_ms: int = 1_000
    ) -> list[ConsumerRecord[Key, Value]]:
        """See the asyncio Consumer."""
        return self._loop.run(self._client.poll(max_records=max_records, timeout_ms=timeout_ms))

    def wakeup(self) -> None:
        """Interrupts a call, from any thread: the one that is waiting, or else the next one, raises WakeupError."""
        self._loop.call_soon(self._client.wakeup)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, AnyOffset] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """See the asyncio Consumer. The callback runs while a later call of this consumer waits for it."""
        tell = None
        if callback is not None:

            async def tell(
                committed: Mapping[TopicPartition, OffsetAndMetadata], error: KafkaError | None
            ) -> None:
                await asyncio.to_thread(callback, committed, error)

        self._loop.call(lambda: self._client.commit_async(offsets, tell))

    def close(self, *, commit: bool = True, timeout_ms: int = consumer.CLOSE_MS) -> None:
        """See the asyncio Consumer."""
        self._loop.close(self._client.close(commit=commit, timeout_ms=timeout_ms))

    unsubscribe = waits(consumer.Consumer.unsubscribe)
    client_instance_id = waits(consumer.Consumer.client_instance_id)
    assignment = calls(consumer.Consumer.assignment)
    subscription = calls(consumer.Consumer.subscription)
    poll_arrow = waits(consumer.Consumer.poll_arrow)
    pause = calls(consumer.Consumer.pause)
    resume = calls(consumer.Consumer.resume)
    paused = calls(consumer.Consumer.paused)
    seek = calls(consumer.Consumer.seek)
    seek_to_beginning = calls(consumer.Consumer.seek_to_beginning)
    seek_to_end = calls(consumer.Consumer.seek_to_end)
    position = waits(consumer.Consumer.position)
    high_watermark = calls(consumer.Consumer.high_watermark)
    lag = calls(consumer.Consumer.lag)
    missing_topics = calls(consumer.Consumer.missing_topics)
    metrics = calls(consumer.Consumer.metrics)
    beginning_offsets = waits(consumer.Consumer.beginning_offsets)
    end_offsets = waits(consumer.Consumer.end_offsets)
    offsets_for_times = waits(consumer.Consumer.offsets_for_times)
    partitions_for = waits(consumer.Consumer.partitions_for)
    commit = waits(consumer.Consumer.commit)
    committed = waits(consumer.Consumer.committed)
    group_metadata = calls(consumer.Consumer.group_metadata)


@final
class _OnThread(member.RebalanceListener):
    """A thread is a place where a blocking client can be used; the event loop is not."""

    def __init__(self, listener: RebalanceListener) -> None:
        self._listener = listener

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        await asyncio.to_thread(self._listener.on_partitions_revoked, partitions)

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        await asyncio.to_thread(self._listener.on_partitions_assigned, partitions)

    async def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        await asyncio.to_thread(self._listener.on_partitions_lost, partitions)


class RangeReader(BlockingClient[range_reader.RangeReader]):
    """See `millstream.clients.RangeReader`. Keep one per process; threads may share it."""

    def __init__(self, **settings: Unpack[ConsumerSettings]) -> None:
        super().__init__(lambda: range_reader.RangeReader(**settings))

    def read(
        self,
        topic: str,
        partition: int,
        start_offset: int,
        end_offset: int,
        *,
        columns: Collection[str] = (),
        timeout_ms: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yields the records with start_offset <= offset < end_offset, in batches that are not empty."""
        batches = self._client.read(
            topic, partition, start_offset, end_offset, columns=columns, timeout_ms=timeout_ms
        )
        try:
            while (batch := self._loop.run(_next(batches))) is not None:
                yield batch
        finally:
            self._loop.run(_close(batches))

    offsets = waits(range_reader.RangeReader.offsets)
    offset_results = waits(range_reader.RangeReader.offset_results)


async def _next(batches: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return await anext(batches, None)


async def _close(batches: AsyncIterator[pa.RecordBatch]) -> None:
    """Stops the fetch that travels ahead when the caller does not read to the end."""
    close = getattr(batches, "aclose", None)
    if close is not None:
        await close()
