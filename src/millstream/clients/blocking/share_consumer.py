"""The blocking twin of ShareConsumer."""

from __future__ import annotations

from typing import Generic, Self, Unpack

from millstream.clients.blocking.blocking_client import BlockingClient, calls, waits
from millstream.clients.config.share import ShareConsumerSettings
from millstream.clients.core.deserialization import AnyDeserializer
from millstream.clients.core.values import ConsumerRecord, Key, Value
from millstream.clients.share import share_consumer
from millstream.foreign_names.explanation import explain_construction
from millstream.protocol.enums import AcknowledgeType


@explain_construction
class ShareConsumer(BlockingClient[share_consumer.ShareConsumer[Key, Value]], Generic[Key, Value]):
    """See `millstream.clients.ShareConsumer`: same settings, same methods. One thread at a time may use it.

    A second thread gets ConcurrentUse; only `wakeup` and `close` may be called while another is in a call. Heartbeats
    do not depend on the caller: they are sent by the loop's own thread, where deserializers and the
    acknowledgement-commit callback run too.
    """

    def __init__(
        self,
        *,
        key_deserializer: AnyDeserializer[Key] | None = None,
        value_deserializer: AnyDeserializer[Value] | None = None,
        **settings: Unpack[ShareConsumerSettings],
    ) -> None:
        super().__init__(
            lambda: share_consumer.ShareConsumer(
                key_deserializer=key_deserializer,
                value_deserializer=value_deserializer,
                **settings,
            )
        )

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord[Key, Value]:
        """The next record; waits as long as it takes."""
        record = self._client._next_at_hand()
        return self._loop.run(self._client.__anext__()) if record is None else record

    def poll(
        self, *, max_records: int | None = None, timeout_ms: int = 1_000
    ) -> list[ConsumerRecord[Key, Value]]:
        """See the asyncio ShareConsumer."""
        return self._loop.run(self._client.poll(max_records=max_records, timeout_ms=timeout_ms))

    def acknowledge(
        self, record: ConsumerRecord[Key, Value], kind: AcknowledgeType = AcknowledgeType.ACCEPT
    ) -> None:
        """See the asyncio ShareConsumer.

        It runs on the caller's thread: only calls of the consumer look at what is noted here.
        """
        self.acknowledge_offset(record.topic, record.partition, record.offset, kind)

    def acknowledge_offset(
        self, topic: str, partition: int, offset: int, kind: AcknowledgeType
    ) -> None:
        """See the asyncio ShareConsumer."""
        self._loop.check()
        self._client._acknowledge_at_hand(topic, partition, offset, kind)

    def wakeup(self) -> None:
        """Interrupts a call, from any thread: the one that is waiting, or else the next one, raises WakeupError."""
        self._loop.call_soon(self._client.wakeup)

    subscribe = calls(share_consumer.ShareConsumer.subscribe)
    unsubscribe = waits(share_consumer.ShareConsumer.unsubscribe)
    client_instance_id = waits(share_consumer.ShareConsumer.client_instance_id)
    subscription = calls(share_consumer.ShareConsumer.subscription)
    commit = waits(share_consumer.ShareConsumer.commit)
    commit_async = calls(share_consumer.ShareConsumer.commit_async)
    set_acknowledgement_commit_callback = calls(
        share_consumer.ShareConsumer.set_acknowledgement_commit_callback
    )
    acquisition_lock_timeout_ms = calls(share_consumer.ShareConsumer.acquisition_lock_timeout_ms)
