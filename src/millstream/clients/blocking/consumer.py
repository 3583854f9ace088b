"""The blocking twins of Consumer and RangeReader."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Self, Unpack

from millstream.clients import consumer, range_reader
from millstream.clients.blocking.twin import Twin, calls, waits
from millstream.clients.core.config import ConsumerSettings
from millstream.clients.core.values import ConsumerRecord

if TYPE_CHECKING:
    import pyarrow as pa


class Consumer(Twin[consumer.Consumer]):
    """See `millstream.clients.Consumer`: same settings, same methods. One thread at a time may use it.

    Heartbeats do not depend on the caller: they are sent by the loop's own thread. A RebalanceListener's methods run
    on that thread too.
    """

    def __init__(self, **settings: Unpack[ConsumerSettings]) -> None:
        super().__init__(lambda: consumer.Consumer(**settings))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord:
        """The next record; waits as long as it takes."""
        record = self._client.next_at_hand()
        return self._loop.run(self._client.__anext__()) if record is None else record

    assign = calls(consumer.Consumer.assign)
    subscribe = calls(consumer.Consumer.subscribe)
    unsubscribe = waits(consumer.Consumer.unsubscribe)
    assignment = calls(consumer.Consumer.assignment)
    subscription = calls(consumer.Consumer.subscription)
    poll = waits(consumer.Consumer.poll)
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
    beginning_offsets = waits(consumer.Consumer.beginning_offsets)
    end_offsets = waits(consumer.Consumer.end_offsets)
    offsets_for_times = waits(consumer.Consumer.offsets_for_times)
    partitions_for = waits(consumer.Consumer.partitions_for)
    commit = waits(consumer.Consumer.commit)
    committed = waits(consumer.Consumer.committed)
    group_metadata = calls(consumer.Consumer.group_metadata)


class RangeReader(Twin[range_reader.RangeReader]):
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
        headers: bool = False,
        timeout_ms: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The records with start_offset <= offset < end_offset, in batches that are not empty."""
        batches = self._client.read(
            topic, partition, start_offset, end_offset, headers=headers, timeout_ms=timeout_ms
        )
        try:
            while (batch := self._loop.run(_next(batches))) is not None:
                yield batch
        finally:
            self._loop.run(_close(batches))

    offsets = waits(range_reader.RangeReader.offsets)


async def _next(batches: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return await anext(batches, None)


async def _close(batches: AsyncIterator[pa.RecordBatch]) -> None:
    """Stops the fetch that travels ahead when the caller does not read to the end."""
    close = getattr(batches, "aclose", None)
    if close is not None:
        await close()
