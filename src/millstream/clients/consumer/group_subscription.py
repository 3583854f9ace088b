"""The subscription of a consumer, and its membership in the group that assigns partitions of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import chain

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ConsumerConfig
from millstream.clients.consumer.call_guard import CallGuard
from millstream.clients.consumer.core.errors import CommitFailed
from millstream.clients.consumer.core.subscription import SubscriptionState, SubscriptionType
from millstream.clients.consumer.fetcher import Fetcher
from millstream.clients.core import arguments
from millstream.clients.core.illegal_state import IllegalState
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.group.classic_member import ClassicMember
from millstream.clients.group.consumer_member import ConsumerMember
from millstream.clients.group.member import Member, RebalanceListener
from millstream.errors import ConfigError
from millstream.model import TopicPartition, Uuid
from millstream.net.client.tasks import TaskScope


class GroupSubscription:
    def __init__(  # noqa: PLR0917 - parts of one consumer, made in one place
        self,
        config: ConsumerConfig,
        cluster: Cluster,
        subscription: SubscriptionState,
        fetcher: Fetcher,
        scope: TaskScope,
        guard: CallGuard,
        *,
        before_giving_up: Callable[[], Awaitable[None]],
    ) -> None:
        """`before_giving_up` is awaited while the partitions are still ours."""
        self._config = config
        self._cluster = cluster
        self._subscription = subscription
        self._fetcher = fetcher
        self._scope = scope
        self._guard = guard
        self._before_giving_up = before_giving_up
        self._member: Member | None = None
        self._leaving: Member | None = None
        """Of an unsubscribe() that has not come to its end; where it is cancelled the next one, or close(), goes on."""
        self._unsubscribe_task: asyncio.Task[None] | None = None

    def assign(self, wanted: Sequence[TopicPartition]) -> None:
        self._check_not_unsubscribing()
        before = set(self._subscription.partitions)
        self._subscription.assign(wanted)
        for topic_partition, state in self._subscription.partitions.items():
            if topic_partition not in before:
                self._fetcher.want_position(state)
        self._cluster.use_topics(*{tp.topic for tp in wanted})
        self._fetcher.wake()

    def subscribe(self, topics: Sequence[str], listener: RebalanceListener | None) -> None:
        self._check_may_subscribe()
        self._subscription.subscribe(topics)
        self._cluster.metadata.use_all_topics(False)
        self._cluster.use_topics(*topics)
        self._join(listener)

    def subscribe_pattern(
        self, pattern: str | re.Pattern[str], listener: RebalanceListener | None
    ) -> None:
        self._check_may_subscribe()
        if isinstance(pattern, str) and self._config.group_protocol == "consumer":
            self._subscription.subscribe_regex(arguments.sendable("a pattern", pattern))
        else:
            self._subscription.subscribe_pattern(re.compile(pattern))
            self._cluster.metadata.use_all_topics(True)
            self._cluster.request_metadata()
        self._join(listener)

    async def poll(self, deadline_ms: int) -> None:
        """Takes part in the group, as far as it goes until the deadline."""
        await self.end_unsubscribing()
        if self._subscription.type is SubscriptionType.NONE:
            raise IllegalState("nothing to read: call subscribe() or assign() first")
        assigned = (topic_partition.topic for topic_partition in self._subscription.partitions)
        self._cluster.raise_refused_topic(chain(self._subscription.topics, assigned))
        if self._member is not None:
            await self._member.poll(deadline_ms, self._before_giving_up)

    def turn_ms(self, remaining_ms: int) -> int:
        """Returns the part of `remaining_ms` that may be waited before the group is looked at again."""
        if self._member is None:
            return remaining_ms
        return min(remaining_ms, self._member.next_turn_ms())

    async def unsubscribe(self) -> None:
        await self.end_unsubscribing()
        await self._unsubscribe()

    def unsubscribe_soon(self) -> None:
        """Notes a subscription to nothing.

        The group is left later, which takes time that a plain method does not have.
        """
        if self._member is None:
            self._forget()
        elif self._unsubscribe_task is None:
            self._unsubscribe_task = self._scope.start(
                self._unsubscribe_aside(), "unsubscribe", awaited=True
            )

    async def end_unsubscribing(self) -> None:
        # Called by a listener of that task it would wait for itself.
        if self._unsubscribe_task is not None and not self._guard.is_aside:
            await asyncio.wait((self._unsubscribe_task,))
            task, self._unsubscribe_task = self._unsubscribe_task, None
            # It is where another task has failed, of which the client tells.
            if not task.cancelled():
                task.result()

    async def leave(self) -> None:
        """Leaves the group for good. Assigned partitions need no leaving."""
        await self.end_unsubscribing()
        for member in (self._leaving, self._member):
            if member is not None:
                await member.leave()

    def group_metadata(self) -> ConsumerGroupMetadata:
        member = self._leaving or self._member  # a listener commits what is about to be given up
        return ConsumerGroupMetadata(self.group_id()) if member is None else member.metadata()

    def committing_group(self) -> ConsumerGroupMetadata:
        """Returns the group for which offsets are committed.

        Raises CommitFailed for a subscriber that is not a member: the coordinator could not
        tell whose offsets those are.
        """
        group = self.group_metadata()
        if self._subscription.is_subscribed and group.generation_id < 0:
            raise CommitFailed("not a member of the group at the moment; call poll() to join it")
        return group

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Uuid]:
        """Returns the topics that the positions in these partitions belong to, as far as they are known now."""
        return self._subscription.topic_ids(partitions)

    def group_id(self) -> str:
        if self._config.group_id is None:
            raise ConfigError("this needs group_id: committed offsets belong to a group")
        return self._config.group_id

    def _check_may_subscribe(self) -> None:
        if self._config.group_id is None:
            raise ConfigError("subscribe() needs group_id; without a group use assign()")
        self._check_not_unsubscribing()

    def _check_not_unsubscribing(self) -> None:
        if self._unsubscribe_task is not None:
            raise IllegalState("the consumer is leaving its group; await unsubscribe() first")

    def _join(self, listener: RebalanceListener | None) -> None:
        if self._member is None:
            chosen = ConsumerMember if self._config.group_protocol == "consumer" else ClassicMember
            self._member = chosen(
                self._config, self._cluster, self._subscription, self._fetcher, self._scope
            )
        self._member.on_subscription_updated(listener)

    async def _unsubscribe_aside(self) -> None:
        with self._guard.aside():
            await self._unsubscribe()

    async def _unsubscribe(self) -> None:
        if self._leaving is not None:  # by a call that was cancelled
            await self._leaving.leave()
            self._leaving = None
        if self._member is not None:
            await self._before_giving_up()
            self._leaving, self._member = self._member, None
            try:
                await self._leaving.leave()
            finally:
                self._forget()  # cancelled half way too: nothing is read that nobody has a right to
            self._leaving = None
        self._forget()

    def _forget(self) -> None:
        self._cluster.metadata.use_all_topics(False)
        self._subscription.unsubscribe()
