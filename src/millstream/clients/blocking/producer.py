"""The blocking twin of Producer.

Records are put into batches by the caller's own thread, under a lock that the loop holds while it takes batches out:
crossing to the loop thread costs more than a whole send, so only what must wait there goes there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, Self, TypeVar, Unpack, cast

from millstream.clients.blocking.blocking_client import BlockingClient, waits
from millstream.clients.blocking.loop_thread import LoopThread
from millstream.clients.config import ProducerSettings
from millstream.clients.core.values import Headers, Key, RecordMetadata, Value
from millstream.clients.producer import producer
from millstream.clients.producer.core.interceptors import (
    DeliveryCallback,
    ProducerInterceptor,
)
from millstream.clients.producer.core.outgoing import AnySerializer, explained_type_error
from millstream.clients.producer.core.partitioner import PartitionChooser
from millstream.clients.producer.delivery import BatchDelivery as AsyncBatchDelivery
from millstream.clients.producer.delivery import PlacedRecord
from millstream.errors import RequestTimedOut
from millstream.foreign_names.explanation import explain_construction

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.clients.producer.record_appender import Waiting
    from millstream.records.record import Header

_Metadata = TypeVar("_Metadata")


class Delivery(PlacedRecord):
    """A record on its way. `result()` waits for its RecordMetadata or raises its error."""

    __slots__ = ()

    def result(self, timeout_ms: int | None = None) -> RecordMetadata:
        """Waits for the RecordMetadata; raises the record's error, or RequestTimedOut after `timeout_ms`."""
        if self.is_done:
            return self._batch.metadata_of(self._index)
        return _wait(cast("LoopThread", self._settlements.loop), self.settled(), timeout_ms)


@explain_construction
class BatchDelivery:
    """`result()` waits for the metadata of the first record of each batch that `send_batch` made."""

    __slots__ = ("_delivery", "_loop")

    def __init__(self, delivery: AsyncBatchDelivery, loop: LoopThread) -> None:
        self._delivery = delivery
        self._loop = loop

    def __repr__(self) -> str:
        return repr(self._delivery)

    @property
    def is_done(self) -> bool:
        """Whether every batch was acknowledged or has failed."""
        return self._delivery.is_done

    def result(self, timeout_ms: int | None = None) -> list[RecordMetadata]:
        """Waits until every batch is acknowledged; raises the first error, or RequestTimedOut after `timeout_ms`."""

        async def settled() -> list[RecordMetadata]:
            return await self._delivery

        return _wait(self._loop, settled(), timeout_ms)


def _wait(
    loop: LoopThread, settled: Coroutine[object, object, _Metadata], timeout_ms: int | None
) -> _Metadata:
    async def within_time() -> _Metadata:
        async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
            return await settled

    try:
        return loop.run(within_time())
    except TimeoutError as error:
        raise RequestTimedOut(f"not acknowledged within {timeout_ms} ms") from error


@explain_construction
class Producer(BlockingClient[producer.Producer[Key, Value]], Generic[Key, Value]):
    """See `millstream.clients.Producer`: same settings, same methods. Safe to share between threads.

    What is still on its way when the interpreter exits is flushed. Transactions belong to one thread at a time.
    """

    def __init__(
        self,
        *,
        key_serializer: AnySerializer[Key] | None = None,
        value_serializer: AnySerializer[Value] | None = None,
        partitioner: PartitionChooser | None = None,
        interceptors: Sequence[ProducerInterceptor[Key, Value]] | None = None,
        **settings: Unpack[ProducerSettings],
    ) -> None:
        super().__init__(
            lambda: producer.Producer(
                key_serializer=key_serializer,
                value_serializer=value_serializer,
                partitioner=partitioner,
                interceptors=interceptors,
                **settings,
            )
        )
        self._append = self._client._append
        self._append_lock = self._client._records.lock
        appender = self._client._appender
        appender.placed = Delivery
        appender.wake_from_thread = self._wake_sender
        self._client._sender.settlements.loop = self._loop

    def send(
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
        """Queue one record. An error that no call asked a Delivery for is raised by `flush`.

        Interceptors, serializers and the partitioner run in this thread; `on_delivery` on the loop's.
        """
        self._loop.check()
        try:
            with self._append_lock:
                appended = self._append(
                    topic, value, key, headers, partition, timestamp_ms, on_delivery
                )
            if isinstance(appended, Delivery):
                return appended
            return cast("Delivery", self._loop.run(cast("Waiting", appended)))
        except TypeError:
            told = explained_type_error(topic, partition, timestamp_ms)
            if told is None:
                raise
            raise told from None

    def send_batch(
        self,
        topic: str,
        records: pa.RecordBatch,
        *,
        partition: int | None = None,
        batch_headers: Sequence[Header] = (),
    ) -> BatchDelivery:
        """Queue an Arrow batch; waits while memory is full."""
        delivery = self._loop.run(
            self._client.send_batch(
                topic, records, partition=partition, batch_headers=batch_headers
            )
        )
        return BatchDelivery(delivery, self._loop)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Self]:
        """A transaction as a block: committed at its end, aborted by an exception.

        Initializes when `init_transactions` was not called.
        """
        block = self._client.transaction()
        self._loop.run(block.__aenter__())
        try:
            yield self
        except BaseException as error:
            self._loop.run(block.__aexit__(type(error), error, error.__traceback__))
            raise
        self._loop.run(block.__aexit__(None, None, None))

    partitions_for = waits(producer.Producer.partitions_for)
    flush = waits(producer.Producer.flush)
    client_instance_id = waits(producer.Producer.client_instance_id)
    init_transactions = waits(producer.Producer.init_transactions)
    begin_transaction = waits(producer.Producer.begin_transaction)
    share_transaction = waits(producer.Producer.share_transaction)
    join_transaction = waits(producer.Producer.join_transaction)
    hand_over_transaction = waits(producer.Producer.hand_over_transaction)
    take_over_transaction = waits(producer.Producer.take_over_transaction)
    send_offsets_to_transaction = waits(producer.Producer.send_offsets_to_transaction)
    commit_transaction = waits(producer.Producer.commit_transaction)
    abort_transaction = waits(producer.Producer.abort_transaction)

    def _wake_sender(self, topic: str) -> None:
        self._loop.call_soon(partial(self._wake_on_loop, topic))

    def _wake_on_loop(self, topic: str) -> None:
        """Wakes the sender unless the producer has ended since: then the record has failed, nobody is to be told."""
        if not self._client._scope.has_ended:
            self._client._appender.wake_sender(topic)

    def close(self, timeout_ms: int | None = None) -> None:
        """Flush, fail what is left after `timeout_ms`, disconnect. Idempotent."""
        self._loop.close(self._client.close(timeout_ms))
