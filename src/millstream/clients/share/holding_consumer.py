"""A share consumer for whoever works on many records at once, as the spout does: records are acknowledged when they are done."""

from __future__ import annotations

from typing import ClassVar

from millstream.clients.consumer.core import arguments
from millstream.clients.core.values import ConsumerRecord, Key, Value
from millstream.clients.share.share_consumer import ShareConsumer


class HoldingShareConsumer(ShareConsumer[Key, Value]):
    """In explicit mode. Each poll() returns new records; those of earlier polls stay in hand until they are acknowledged.

    RENEW keeps a record in hand, and poll() does not return it again. One that could not be renewed is out of hand, as
    the callback of acknowledgements is told.
    """

    _is_holding: ClassVar[bool] = True

    async def attend(self, *, timeout_ms: int) -> list[ConsumerRecord[Key, Value]]:
        """Tells acknowledgements and stays in the group, as poll() does, but asks for no records.

        Returns those that an earlier poll() has asked for. Raises what poll() raises.
        """
        deadline_ms = self._cluster.now_ms() + arguments.timeout(timeout_ms)
        self._check()
        return await self._poll_once(self.config.max_poll_records, deadline_ms, asks=False)
