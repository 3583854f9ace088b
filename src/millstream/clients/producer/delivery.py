"""Results of `Producer.send`: a place in a batch, awaitable for where the record went."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable

from millstream.clients.core.values import RecordMetadata
from millstream.clients.producer.core.producer_batch import ProducerBatch
from millstream.foreign_names.explanation import explain_missing


class Settlements:
    """The callers that wait for each batch. One future a waiting call, none for records that no call awaits."""

    def __init__(self) -> None:
        self.loop: object = None
        """Where the blocking twin waits; None in the asyncio client."""
        self._waiters: dict[ProducerBatch, list[asyncio.Future[None]]] = {}

    async def wait(self, batch: ProducerBatch) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(batch, []).append(waiter)
        await waiter

    def announce(self, batches: Iterable[ProducerBatch]) -> None:
        for batch in batches:
            for waiter in self._waiters.pop(batch, ()):
                if not waiter.done():
                    waiter.set_result(None)


@explain_missing
class PlacedRecord:
    """A place in a batch. Halves of a batch that was split carry on for it."""

    __slots__ = ("_batch", "_index", "_settlements")

    def __init__(self, batch: ProducerBatch, index: int, settlements: Settlements) -> None:
        self._batch = batch
        self._index = index
        self._settlements = settlements

    def __repr__(self) -> str:
        """Returns the target of the record and its outcome. An error that is only shown counts as not yet seen."""
        batch, index = self._batch.holder_of(self._index)
        outcome = batch.outcome
        if outcome is None:
            fate = "on its way"
        elif outcome.error is not None:
            fate = f"failed: {type(outcome.error).__name__}"
        else:
            offset = batch.known_of(index).offset
            fate = "written" if offset < 0 else f"written at offset {offset}"
        return f"<{type(self).__name__} to {batch.topic_partition}: {fate}>"

    @property
    def is_done(self) -> bool:
        """Whether it was acknowledged or has failed."""
        return self._batch.holder_of(self._index)[0].is_settled

    async def settled(self) -> RecordMetadata:
        """Returns the metadata, or the record's error, when it is known. On the event loop."""
        while not (holder := self._batch.holder_of(self._index)[0]).is_settled:
            await self._settlements.wait(holder)
        return self._batch.metadata_of(self._index)


class Delivery(PlacedRecord):
    """Await it for the RecordMetadata, or the error the record failed with. Many tasks may await it, or none."""

    __slots__ = ()

    def result(self) -> RecordMetadata:
        """Returns the result of a delivery that is done; raises its error."""
        return self._batch.metadata_of(self._index)

    def last_record(self) -> RecordMetadata:
        """Returns the metadata of the last record of its batch; raises the error of that."""
        return self._batch.metadata_of(self._batch.record_count - 1)

    @property
    def is_batch_done(self) -> bool:
        """Whether every record of its batch was acknowledged or has failed."""
        return all(part.is_settled for part in self._batch.parts())

    async def wait_until_batch_done(self) -> None:
        """Waits until every record of its batch was acknowledged or has failed. On the event loop."""
        while waiting := [part for part in self._batch.parts() if not part.is_settled]:
            await self._settlements.wait(waiting[0])

    def batch_result(self) -> RecordMetadata:
        """Returns the metadata of the first record of its batch; raises the first error of a record of it."""
        for part in self._batch.parts():
            part.metadata_of(0)
        return self._batch.metadata_of(0)

    def __await__(self) -> Generator[object, None, RecordMetadata]:
        return self.settled().__await__()


@explain_missing
class BatchDelivery:
    """Several deliveries as one: the metadata of the first record of each batch that `send_batch` made.

    It fails where any of the records has failed: brokers may refuse a part of a batch that was cut in two.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: list[Delivery]) -> None:
        self._parts = parts

    def __repr__(self) -> str:
        done = sum(part.is_batch_done for part in self._parts)
        return f"<{type(self).__name__} batches={len(self._parts)} done={done}>"

    @property
    def is_done(self) -> bool:
        """Whether every batch was acknowledged or has failed."""
        return all(part.is_batch_done for part in self._parts)

    def result(self) -> list[RecordMetadata]:
        """Returns the results of a delivery that is done; raises the first error."""
        return [part.batch_result() for part in self._parts]

    def last_record(self) -> RecordMetadata:
        """Returns the metadata of the very last record of a delivery that is done; raises its error."""
        return self._parts[-1].last_record()

    def last_records(self) -> list[RecordMetadata]:
        """Returns the metadata of the last record of each batch of a delivery that is done; raises the first error."""
        return [part.last_record() for part in self._parts]

    def __await__(self) -> Generator[object, None, list[RecordMetadata]]:
        return self._settled().__await__()

    async def _settled(self) -> list[RecordMetadata]:
        for part in self._parts:
            await part.wait_until_batch_done()
        return self.result()
