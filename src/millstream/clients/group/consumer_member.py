"""Membership in a consumer group of KIP-848 as it is lived: heartbeats behind the scenes, rebalances inside poll().

The coordinator decides who reads what. Heartbeats bring its decisions and take our answers; taking over an assignment,
with the application's listener, happens in poll() only. What is said is decided in `core.consumer_membership`.
"""

from __future__ import annotations

import asyncio
import contextlib

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ConsumerConfig
from millstream.clients.consumer.core.subscription import SubscriptionState, match_topics
from millstream.clients.consumer.fetcher import Fetcher
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.group.core.consumer_membership import (
    ConsumerMembership,
    ConsumerMembershipPolicy,
    new_member_id,
)
from millstream.clients.group.core.heartbeat_request_manager import HeartbeatRequestManager
from millstream.clients.group.heartbeats import Heartbeats
from millstream.clients.group.member import RebalanceListener
from millstream.clients.group.owned_partitions import (
    BeforeRevoke,
    OwnedPartitions,
    commit_nothing,
)
from millstream.errors import KafkaError, MillstreamError, UnsupportedVersion
from millstream.model import Uuid
from millstream.net.client.connection import Connection
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

_FIRST_VERSION_WITH_REGEX = 1
_TURN_MS = 1_000
"""poll() looks at the group at least this often while it waits, which also shows that the application is alive."""


class ConsumerMember:
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
        fetcher.ask_as(self.metadata)
        self._membership = ConsumerMembership(
            ConsumerMembershipPolicy(
                group_id=config.group_id,
                group_instance_id=config.group_instance_id,
                remote_assignor=config.group_remote_assignor,
                max_poll_interval_ms=config.max_poll_interval_ms,
                rack=config.client_rack or None,
            ),
            new_member_id(cluster.random),
        )
        self._topic_names: dict[Uuid, str] = {}
        """Of topics that we were assigned: the coordinator speaks of topics by id."""
        self._heartbeats = Heartbeats(
            cluster,
            scope,
            config.group_id,
            HeartbeatRequestManager(
                self._membership, cluster.backoff, cluster.random, config.max_poll_interval_ms
            ),
            self._ask,
            self._on_heartbeat,
            self._leave_unpolled,
        )
        self._names_task: asyncio.Task[None] | None = None
        self._error: MillstreamError | None = None
        self._metadata_version = -1

    def on_subscription_updated(self, listener: RebalanceListener | None) -> None:
        """The subscription is new or has changed."""
        self._owned.listener = listener or RebalanceListener()
        self._error = None
        self._metadata_version = -1
        self._tell_subscription()

    def metadata(self) -> ConsumerGroupMetadata:
        return self._membership.metadata()

    def next_turn_ms(self) -> int:
        """Returns the time that poll() may wait for data before it should look at the group again."""
        return 0 if self._has_work() else _TURN_MS

    async def poll(self, deadline_ms: int, before_revoke: BeforeRevoke) -> None:  # noqa: ARG002 - Member's signature
        """Take over what the coordinator assigned. Raises what makes membership impossible."""
        self._heartbeats.manager.record_poll(self._cluster.now_ms())
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self._notice_metadata()
        membership = self._membership
        while self._has_work():
            if membership.has_lost_partitions:
                await self._owned.lose()
                membership.rejoin()
                continue
            plan = membership.plan_reconciliation(self._names())
            if plan is None:
                break
            await self._owned.take_over(
                plan.partitions, before_revoke, lambda: membership.is_reconciling
            )
            membership.finish_reconciliation(plan)
        now_ms = self._cluster.now_ms()
        self._heartbeats.manager.record_poll(now_ms)
        self._heartbeats.keep_beating(now_ms)

    async def leave(self) -> None:
        """Tells the coordinator, so that the others get our partitions at once."""
        await self._heartbeats.stop()
        if self._names_task is not None:
            self._names_task.cancel()
        if self._membership.is_in_group:
            await self._owned.give_up(commit_nothing)
        else:
            await self._owned.lose()
        await self._heartbeats.say_goodbye(self._membership.leave_request())
        self._membership.become_unsubscribed()

    # ---- the subscription

    def _tell_subscription(self) -> None:
        self._membership.subscribe(self._subscription.topics, self._subscription.regex)
        self._heartbeats.wake()

    def _notice_metadata(self) -> None:
        """A pattern that we match ourselves may match other topics than before."""
        if self._metadata_version == self._cluster.metadata.version:
            return
        self._metadata_version = self._cluster.metadata.version
        snapshot = self._cluster.snapshot
        if match_topics(self._subscription, snapshot, exclude_internal=self._exclude_internal):
            self._tell_subscription()

    # ---- names of topics

    def _names(self) -> dict[Uuid, str]:
        """All that we know, and a request for what is missing."""
        known = {topic.topic_id: topic.name for topic in self._cluster.snapshot.topics.values()}
        names = {**self._topic_names, **known}
        unknown = self._membership.unknown_topics(names)
        if unknown and (self._names_task is None or self._names_task.done()):
            self._names_task = self._scope.start(self._learn_names(unknown), "names of topics")
        return names

    async def _learn_names(self, topic_ids: list[Uuid]) -> None:
        """Ask for topics by id: a regex is matched by the coordinator, and what is new there may be new to us."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in topic_ids],
            allow_auto_topic_creation=False,
        )
        with contextlib.suppress(KafkaError):  # asked again by the next poll()
            response = await self._cluster.request_any(ApiKey.METADATA, request, MetadataResponse)
            found = {t.topic_id: t.name for t in response.topics if t.name and not t.error_code}
            self._topic_names.update(found)
            self._cluster.use_topics(*found.values())
            if found:
                self._fetcher.announce()
                return
        await asyncio.sleep(self._cluster.backoff.delay_ms(1, self._cluster.random) / 1000)

    # ---- heartbeats

    def _has_work(self) -> bool:
        membership = self._membership
        if membership.has_lost_partitions or self._error is not None:
            return True
        return (
            membership.is_reconciling and membership.plan_reconciliation(self._names()) is not None
        )

    async def _ask(
        self, connection: Connection, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """Raises UnsupportedVersion where the broker cannot be told what is wanted."""
        version = connection.versions.choose(ApiKey.CONSUMER_GROUP_HEARTBEAT)
        if self._membership.regex is not None and version < _FIRST_VERSION_WITH_REGEX:
            raise UnsupportedVersion(
                "the broker does not match patterns; subscribe with a compiled re.Pattern, which is matched here"
            )
        return await connection.request(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, request, ConsumerGroupHeartbeatResponse
        )

    def _on_heartbeat(self, error: MillstreamError | None) -> None:
        """Lets poll() know of an error, and of anything else that it has to do."""
        self._error = error or self._error
        if self._has_work():
            self._fetcher.announce()

    async def _leave_unpolled(self) -> None:
        """Lets others have the partitions, as the application is stuck or slow (max_poll_interval_ms)."""
        request = self._membership.leave_request()
        self._membership.become_stale()
        await self._heartbeats.say_goodbye(request)
