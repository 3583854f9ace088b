"""A share consumer for whoever works on many records at once, as the spout does: records are
acknowledged when they are done.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import ClassVar

from millstream.clients.core import arguments
from millstream.clients.core.values import ConsumerRecord, Key, Value
from millstream.clients.share.core.values import TopicIdPartition
from millstream.clients.share.share_consumer import ShareConsumer
from millstream.model import TopicPartition

LossCallback = Callable[[TopicPartition, AbstractSet[int]], None]


class HoldingShareConsumer(ShareConsumer[Key, Value]):
    """In explicit mode.

    Each poll() returns new records; those of earlier polls stay in hand until they are acknowledged.

    RENEW keeps a record in hand, and poll() does not return it again.
    """

    _is_holding: ClassVar[bool] = True
    _loss_callback: LossCallback | None = None

    def set_loss_callback(self, callback: LossCallback) -> None:
        """Sets what is told of records that are in hand no longer, by poll() and before it returns any of them again.

        They could not be renewed, or another broker leads their partition. They cannot be acknowledged any more.
        """
        self._loss_callback = callback

    async def attend(self, *, timeout_ms: int) -> list[ConsumerRecord[Key, Value]]:
        """Tells acknowledgements and stays in the group, as poll() does, but asks for no records.

        Returns those that an earlier poll() has asked for. Raises what poll() raises.
        """
        deadline_ms = self._cluster.now_ms() + arguments.timeout(timeout_ms)
        self._check()
        return await self._poll_once(self.config.max_poll_records, deadline_ms, asks=False)

    def _make_way(self) -> None:
        fetched = self._fetcher.buffer.first
        if fetched is not None:
            lost = self._collector.in_hand.let_go(fetched)
            if lost:
                self._lose(fetched.partition, lost)

    def _lose(self, partition: TopicIdPartition, offsets: AbstractSet[int]) -> None:
        if self._loss_callback is not None:
            self._loss_callback(partition.topic_partition, offsets)
