"""The partitions that a member of a group holds, and how the application hears of changes.

The order is Java's: what is taken away is committed and told while it is still held; what is new is
told when it is held. A listener that fails, or is cancelled, is told again by the next poll(); but
not of what is lost, which is gone at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.consumer.fetcher import Fetcher
from millstream.clients.group.member import RebalanceListener
from millstream.model import TopicPartition

BeforeRevoke = Callable[[], Awaitable[None]]
"""Commits what is processed, if the consumer does that by itself."""


async def commit_nothing() -> None:
    """Commits nothing: for callers that have committed already."""


class OwnedPartitions:
    def __init__(self, subscription: SubscriptionState, fetcher: Fetcher) -> None:
        self._subscription = subscription
        self._fetcher = fetcher
        self._untold: set[TopicPartition] = set()
        """Held since an assignment whose listener has not come to its end."""
        self.listener = RebalanceListener()

    @property
    def all(self) -> set[TopicPartition]:
        return set(self._subscription.partitions)

    async def take_over(
        self,
        partitions: Iterable[TopicPartition],
        before_revoke: BeforeRevoke,
        is_ours: Callable[[], bool],
    ) -> set[TopicPartition]:
        """Hold exactly these from now on. Returns what was given up for it.

        `is_ours` is asked when that is done, which may have taken so long that the group went on without us.
        """
        owned, assigned = self.all, set(partitions)
        revoked = owned - assigned
        if revoked:
            await before_revoke()
            await self.listener.on_partitions_revoked(revoked)
            self._subscription.set_partitions(sorted(owned & assigned))
            if not is_ours():
                return revoked
        self._untold = (self._untold & assigned) | (assigned - owned)
        self._subscription.set_partitions(sorted(assigned))
        for topic_partition in assigned - owned:
            self._fetcher.want_position(self._subscription.partitions[topic_partition])
        self._fetcher.wake()
        await self.listener.on_partitions_assigned(set(self._untold))
        self._untold = set()
        return revoked

    async def give_up(self, before_revoke: BeforeRevoke) -> None:
        """Gives up all partitions, while they are still ours."""
        if owned := self.all:
            await before_revoke()
            await self.listener.on_partitions_revoked(owned)
            self._hold_nothing()

    async def lose(self) -> None:
        """Gives up all partitions for lost; they may have other owners already."""
        if owned := self.all:
            self._hold_nothing()
            await self.listener.on_partitions_lost(owned)

    def _hold_nothing(self) -> None:
        self._untold = set()
        self._subscription.set_partitions(())
