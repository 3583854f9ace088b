"""The blocking twin of ShareConsumer."""

from __future__ import annotations

from typing import Self, Unpack

from millstream.clients import share_consumer
from millstream.clients.blocking.twin import Twin, calls, waits
from millstream.clients.core.config.share import ShareConsumerSettings
from millstream.clients.core.values import ConsumerRecord


class ShareConsumer(Twin[share_consumer.ShareConsumer]):
    """See `millstream.clients.ShareConsumer`: same settings, same methods. One thread at a time may use it.

    Heartbeats do not depend on the caller: they are sent by the loop's own thread. The acknowledgement-commit callback
    runs on that thread too.
    """

    def __init__(self, **settings: Unpack[ShareConsumerSettings]) -> None:
        super().__init__(lambda: share_consumer.ShareConsumer(**settings))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord:
        """The next record; waits as long as it takes."""
        record = self._client.next_at_hand()
        return self._loop.run(self._client.__anext__()) if record is None else record

    subscribe = calls(share_consumer.ShareConsumer.subscribe)
    unsubscribe = waits(share_consumer.ShareConsumer.unsubscribe)
    subscription = calls(share_consumer.ShareConsumer.subscription)
    poll = waits(share_consumer.ShareConsumer.poll)
    acknowledge = calls(share_consumer.ShareConsumer.acknowledge)
    acknowledge_offset = calls(share_consumer.ShareConsumer.acknowledge_offset)
    commit = waits(share_consumer.ShareConsumer.commit)
    commit_async = calls(share_consumer.ShareConsumer.commit_async)
    set_acknowledgement_commit_callback = calls(
        share_consumer.ShareConsumer.set_acknowledgement_commit_callback
    )
    acquisition_lock_timeout_ms = calls(share_consumer.ShareConsumer.acquisition_lock_timeout_ms)
