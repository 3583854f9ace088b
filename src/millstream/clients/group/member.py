"""Membership in a group as a consumer uses it, by either protocol (classic, or KIP-848)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.model import TopicPartition


class RebalanceListener:
    """Override what you need. All are called from poll(), unsubscribe() or close(), which wait for them."""

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        """Called before partitions are given up: the place to commit what is processed."""

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """Called with partitions that are new in the assignment: the place to seek."""

    async def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        """Called with partitions that are taken away already and may have other owners: it is too late to commit."""
        await self.on_partitions_revoked(partitions)


class Member(Protocol):
    """Rebalances happen inside `poll` only, never behind the application's back."""

    def on_subscription_updated(self, listener: RebalanceListener | None) -> None:
        """The subscription is new or has changed."""

    def metadata(self) -> ConsumerGroupMetadata: ...

    def next_turn_ms(self) -> int:
        """Returns the time that poll() may wait for data before it should look at the group again."""
        ...

    async def poll(self, deadline_ms: int, before_revoke: Callable[[], Awaitable[None]]) -> None:
        """Join, or take over a new assignment, as far as it goes until the deadline.

        Raises what makes membership impossible.
        """

    async def leave(self) -> None:
        """Tells the coordinator, so that the others get our partitions at once."""
