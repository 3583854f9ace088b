"""Membership as it is lived: joining when poll() is called, heartbeats in between, callbacks to the application.

Rebalances happen inside poll() only, so the application is never working on a record whose partition is taken away
behind its back. Joining itself runs in a task of its own: a poll with a short time limit returns, a cancelled one
loses nothing, and the next one finds the group further on. What is said is decided in `core.classic_membership`.
"""

from __future__ import annotations

import asyncio
import contextlib

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ConsumerConfig
from millstream.clients.consumer.core.subscription import SubscriptionState, match_topics
from millstream.clients.consumer.fetcher import Fetcher
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.group.assignors.assignment import replica_racks
from millstream.clients.group.assignors.registry import chosen_assignors
from millstream.clients.group.classic_requests import ClassicRequests
from millstream.clients.group.core.classic_membership import (
    Membership,
    MembershipPolicy,
    MemberState,
)
from millstream.clients.group.member import RebalanceListener
from millstream.clients.group.owned_partitions import (
    BeforeRevoke,
    OwnedPartitions,
    commit_nothing,
)
from millstream.errors import MillstreamError, RebalanceInProgress, RequestTimedOut
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.sync_group import SyncGroupRequestAssignment


class ClassicMember:
    def __init__(
        self,
        config: ConsumerConfig,
        cluster: Cluster,
        subscription: SubscriptionState,
        fetcher: Fetcher,
        scope: TaskScope,
    ) -> None:
        assert config.group_id is not None, "subscribe() checks that there is a group"
        self._cluster = cluster
        self._subscription = subscription
        self._fetcher = fetcher
        self._scope = scope
        self._exclude_internal = config.exclude_internal_topics
        self._owned = OwnedPartitions(subscription, fetcher)
        self._membership = Membership(
            MembershipPolicy(
                group_id=config.group_id,
                group_instance_id=config.group_instance_id,
                assignors=chosen_assignors(config.partition_assignment_strategy),
                session_timeout_ms=config.session_timeout_ms,
                heartbeat_interval_ms=config.heartbeat_interval_ms,
                max_poll_interval_ms=config.max_poll_interval_ms,
                rack=config.client_rack or None,
            )
        )
        self._requests = ClassicRequests(cluster, self._membership)
        self._heartbeats = self._requests.heartbeats(
            scope, self._on_heartbeat, self._leave_unpolled
        )
        self._join_task: asyncio.Task[list[TopicPartition] | None] | None = None
        self._new_assignment: list[TopicPartition] | None = None
        """Given by the coordinator, not taken over yet."""
        self._fatal: MillstreamError | None = None
        self._shared_out: dict[str, object] = {}
        """What there was when we, the leader, last shared it out. Empty for the others."""
        self._metadata_version = -1

    def on_subscription_updated(self, listener: RebalanceListener | None) -> None:
        """The subscription is new or has changed."""
        self._owned.listener = listener or RebalanceListener()
        self._membership.want_rejoin("the subscription changed")

    def metadata(self) -> ConsumerGroupMetadata:
        return self._membership.metadata()

    def next_turn_ms(self) -> int:
        """Returns the time that poll() may wait for data before it should look at the group again."""
        return 0 if self._needs_join() else self._membership.policy.heartbeat_interval_ms

    async def poll(self, deadline_ms: int, before_revoke: BeforeRevoke) -> None:
        """Join or rejoin if need be, as far as it goes until the deadline. Raises what makes membership impossible."""
        self._heartbeats.manager.record_poll(self._cluster.now_ms())
        if self._fatal is not None:
            fatal, self._fatal = self._fatal, None
            raise fatal
        self._notice_metadata()
        while self._needs_join():
            if self._new_assignment is not None or await self._joins(deadline_ms, before_revoke):
                await self._take_assignment(before_revoke)
                self._heartbeats.manager.record_poll(self._cluster.now_ms())
            elif self._join_task is not None:
                return  # it goes on behind us

    async def leave(self) -> None:
        """Tells the coordinator, so that the others get our partitions at once."""
        if self._join_task is not None:
            self._join_task.cancel()
        await self._heartbeats.stop()
        if self._membership.assignment_lost:
            await self._owned.lose()
        else:
            await self._owned.give_up(commit_nothing)
        await self._requests.leave("the consumer is being closed")

    def _needs_join(self) -> bool:
        return (
            self._membership.rejoin_wanted
            or self._join_task is not None
            or self._new_assignment is not None
        )

    async def _joins(self, deadline_ms: int, before_revoke: BeforeRevoke) -> bool:
        """Whether there is an assignment by the deadline."""
        if self._join_task is None:
            await self._lose_what_is_lost()
            if not self._membership.policy.is_cooperative:
                await self._owned.give_up(before_revoke)
            self._join_task = self._scope.start(self._join(), "join the group", awaited=True)
        remaining_ms = max(0, deadline_ms - self._cluster.now_ms())
        await asyncio.wait((self._join_task,), timeout=remaining_ms / 1000)
        if not self._join_task.done():
            return False
        task, self._join_task = self._join_task, None
        self._scope.check()  # another task may have failed, and cancelled this one: nobody has cancelled the caller
        self._new_assignment = task.result()
        return self._new_assignment is not None

    async def _lose_what_is_lost(self) -> None:
        """The coordinator counted us out: what we hold may have other owners already."""
        if self._membership.assignment_lost:
            await self._owned.lose()
            self._membership.assignment_lost = False

    async def _take_assignment(self, before_revoke: BeforeRevoke) -> None:
        """Cancelled or failed half way, it starts over with the next poll()."""
        assert self._new_assignment is not None, "an assignment is taken when there is one"
        await self._lose_what_is_lost()
        if self._membership.state is not MemberState.STABLE:
            self._new_assignment = None  # of a generation that we are not in any more
            return
        revoked = await self._owned.take_over(
            self._new_assignment, before_revoke, lambda: not self._membership.assignment_lost
        )
        self._new_assignment = None
        if revoked and self._membership.policy.is_cooperative:
            self._membership.want_rejoin("partitions were given up for others")

    def _notice_metadata(self) -> None:
        """A pattern may match new topics; what the leader shared out may have grown: both need a new assignment."""
        if self._metadata_version == self._cluster.metadata.version:
            return
        self._metadata_version = self._cluster.metadata.version
        snapshot = self._cluster.snapshot
        if match_topics(self._subscription, snapshot, exclude_internal=self._exclude_internal):
            self._membership.want_rejoin("topics that match the pattern came or went")
        if self._shared_out and self._shared_out != self._snapshot(self._to_share_out()):
            self._membership.want_rejoin("partitions of the group's topics came or went")

    def _snapshot(self, topics: dict[str, list[frozenset[str]]]) -> dict[str, object]:
        """Returns what makes a leader share out anew: other partitions, and other racks if
        it is on one itself, as in Java.
        """
        on_rack = self._membership.policy.rack is not None
        return {topic: racks if on_rack else len(racks) for topic, racks in topics.items()}

    def _to_share_out(self) -> dict[str, list[frozenset[str]]]:
        """Returns the partitions of the topics that the group wants, each as the racks of its replicas."""
        snapshot = self._cluster.snapshot
        topics = self._membership.group_topics
        return {
            topic: replica_racks(snapshot, topic) for topic in topics if topic in snapshot.topics
        }

    async def _join(self) -> list[TopicPartition] | None:
        """Until we have an assignment; none when we hold what we have lost, which poll() must tell before we join.

        Raises errors that trying again does not cure.
        """
        assignment = await self._requests.until_joined(
            self._join_once, lambda: not (self._membership.assignment_lost and self._owned.all)
        )
        if assignment is not None:
            # As in Kafka, the time between polls begins anew: the application could do nothing while the others joined.
            now_ms = self._cluster.now_ms()
            self._heartbeats.manager.record_poll(now_ms)
            self._heartbeats.keep_beating(now_ms)
            self._heartbeats.wake()
        return assignment

    async def _join_once(self) -> list[TopicPartition]:
        synced = await self._requests.join(self._join_request, self._share_out)
        partitions = self._membership.handle_sync(synced, self._cluster.now_ms())
        self._check_assignment(partitions)
        return partitions

    def _check_assignment(self, partitions: list[TopicPartition]) -> None:
        """Raises RebalanceInProgress for partitions of topics that are not subscribed to: to join again cures it.

        subscribe() may have been called since we joined. And a static member that comes back gets what the group
        had given to it before, whatever it subscribes to now (KIP-345).
        """
        strange = {tp.topic for tp in partitions if not self._subscription.includes(tp.topic)}
        if strange:
            self._membership.want_rejoin("the assignment does not match the subscription")
            raise RebalanceInProgress(
                f"group {self._membership.policy.group_id!r} assigned partitions of {sorted(strange)}, which this"
                " member does not subscribe to; it joins again"
            )

    def _join_request(self, named_reason: bool) -> JoinGroupRequest:
        owned = () if self._membership.assignment_lost else self._owned.all
        return self._membership.join_request(
            self._subscription.topics, owned, named_reason=named_reason
        )

    async def _share_out(self) -> list[SyncGroupRequestAssignment]:
        """With metadata as fresh as can be, or what we have if it does not come. Nothing, unless we lead."""
        self._shared_out = {}
        if not self._membership.leads:
            return []
        topics = self._membership.group_topics
        self._cluster.use_topics(*topics)
        if not topics <= set(self._cluster.snapshot.topics):
            deadline_ms = self._cluster.now_ms() + self._membership.policy.heartbeat_interval_ms
            with contextlib.suppress(RequestTimedOut):
                await self._cluster.refresh_metadata(deadline_ms)
        topics_on_racks = self._to_share_out()
        self._shared_out = self._snapshot(topics_on_racks)
        return self._membership.share_out(topics_on_racks)

    def _on_heartbeat(self, error: MillstreamError | None) -> None:
        self._fatal = error or self._fatal
        if error is not None or self._membership.rejoin_wanted:
            self._fetcher.announce()

    async def _leave_unpolled(self) -> None:
        """Lets others have the partitions, as the application is stuck or slow (max_poll_interval_ms)."""
        await self._requests.leave("poll() was not called within max_poll_interval_ms")
        self._membership.assignment_lost = True
        self._membership.want_rejoin("poll() was not called within max_poll_interval_ms")
