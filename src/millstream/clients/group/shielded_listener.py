"""A rebalance listener that `wakeup()` does not interrupt."""

from __future__ import annotations

from typing import final

from millstream.clients.consumer.call_guard import CallGuard
from millstream.clients.group.member import RebalanceListener
from millstream.model import TopicPartition


@final
class ShieldedListener(RebalanceListener):
    def __init__(self, listener: RebalanceListener, guard: CallGuard) -> None:
        self._listener = listener
        self._guard = guard

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        with self._guard.shielded():
            await self._listener.on_partitions_revoked(partitions)

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        with self._guard.shielded():
            await self._listener.on_partitions_assigned(partitions)

    async def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        with self._guard.shielded():
            await self._listener.on_partitions_lost(partitions)
