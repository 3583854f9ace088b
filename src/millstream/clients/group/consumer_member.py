"""Membership in a consumer group of KIP-848 as it is lived: heartbeats behind the scenes, rebalances inside poll().

The coordinator decides who reads what. Heartbeats bring its decisions and take our answers; taking over an assignment,
with the application's listener, happens in poll() only. What is said is decided in `core.consumer_membership`.
"""

from __future__ import annotations

import asyncio
import contextlib

from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.config import ConsumerConfig
from millstream.clients.consumer.core.subscription import SubscriptionState
from millstream.clients.consumer.fetcher import Fetcher
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.group.core.consumer_membership import (
    ConsumerMembership,
    ConsumerMembershipPolicy,
    new_member_id,
)
from millstream.clients.group.core.topic_pattern import match_topics
from millstream.clients.group.member import RebalanceListener
from millstream.clients.group.owned_partitions import (
    BeforeRevoke,
    OwnedPartitions,
    nothing_to_commit,
)
from millstream.errors import (
    BrokerNotAvailable,
    CoordinatorNotAvailable,
    KafkaError,
    NotCoordinator,
    UnsupportedVersion,
)
from millstream.model import Uuid
from millstream.net.client.connection import Connection
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
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
        self._group_id = config.group_id
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
        self._heartbeat_task: asyncio.Task[None] | None = None
        self._names_task: asyncio.Task[None] | None = None
        self._heartbeat_wanted = asyncio.Event()
        self._failures = 0
        self._last_poll_ms = cluster.now_ms()
        self._error: KafkaError | None = None
        self._metadata_version = -1

    def subscribed(self, listener: RebalanceListener | None) -> None:
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
        self._last_poll_ms = self._cluster.now_ms()
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
            membership.reconciled(plan)
        self._last_poll_ms = self._cluster.now_ms()
        self._keep_heart_beating()

    async def leave(self) -> None:
        """Tells the coordinator, so that the others get our partitions at once."""
        for task in (self._heartbeat_task, self._names_task):
            if task is not None:
                task.cancel()
        if self._membership.is_in_group:
            await self._owned.give_up(nothing_to_commit)
        else:
            await self._owned.lose()
        await self._send_leave()
        self._membership.left()

    # ---- the subscription

    def _tell_subscription(self) -> None:
        self._membership.subscribe(self._subscription.topics, self._subscription.regex)
        self._heartbeat_wanted.set()

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

    def _keep_heart_beating(self) -> None:
        if self._heartbeat_task is None or self._heartbeat_task.done():
            self._heartbeat_task = self._scope.start(self._beat(), "heartbeats")
        if self._membership.heartbeat_due_ms(self._last_poll_ms) == 0:
            self._heartbeat_wanted.set()

    async def _beat(self) -> None:
        while True:
            now_ms = self._cluster.now_ms()
            due_ms = self._membership.heartbeat_due_ms(now_ms)
            polled_until_ms = self._last_poll_ms + self._membership.policy.max_poll_interval_ms
            if due_ms is not None and now_ms > polled_until_ms:
                await self._leave_because_nobody_polls()
            elif due_ms == 0:
                await self._beat_once()
            else:
                self._heartbeat_wanted.clear()
                patience_ms = None if due_ms is None else min(due_ms, polled_until_ms - now_ms + 1)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if patience_ms is None else patience_ms / 1000):
                        await self._heartbeat_wanted.wait()

    async def _beat_once(self) -> None:
        membership = self._membership
        try:
            connection = await self._coordinator_connection()
            request = membership.heartbeat_request(self._cluster.now_ms())
            response = await connection.request(
                ApiKey.CONSUMER_GROUP_HEARTBEAT, request, ConsumerGroupHeartbeatResponse
            )
        except KafkaError as failure:
            membership.handle_failure()
            # That nothing listens is told by the metadata, which are asked for as well, and as often as poll() waits.
            if failure.retriable or isinstance(failure, BrokerNotAvailable):
                self._cluster.forget_coordinator(self._group_id)
                await self._wait_a_moment()
            else:
                membership.fail()
                self._tell(failure)
            return
        self._tell(membership.handle_heartbeat(request, response))
        if response.error_code in (NotCoordinator.code, CoordinatorNotAvailable.code):
            self._cluster.forget_coordinator(self._group_id)
        if response.error_code:
            await self._wait_a_moment()
        else:
            self._failures = 0

    async def _coordinator_connection(self) -> Connection:
        """One that can carry what is to be said."""
        node_id = await self._cluster.coordinator(self._group_id)
        connection = await self._cluster.connection(node_id, Lane.GROUP)
        version = connection.versions.choose(ApiKey.CONSUMER_GROUP_HEARTBEAT)
        if self._membership.regex is not None and version < _FIRST_VERSION_WITH_REGEX:
            raise UnsupportedVersion(
                "the broker does not match patterns; subscribe with a compiled re.Pattern, which is matched here"
            )
        return connection

    def _tell(self, error: KafkaError | None) -> None:
        """Let poll() know of an error, and of anything else that it has to do."""
        if error is not None:
            self._error = _explained(error)
        if self._has_work():
            self._fetcher.announce()

    async def _wait_a_moment(self) -> None:
        self._failures += 1
        delay_ms = self._cluster.backoff.delay_ms(self._failures, self._cluster.random)
        await asyncio.sleep(delay_ms / 1000)

    async def _leave_because_nobody_polls(self) -> None:
        """The application is stuck or slow: let others have the partitions (max_poll_interval_ms)."""
        await self._send_leave()
        self._membership.left_unpolled()

    async def _send_leave(self) -> None:
        """A coordinator that cannot be told finds out when the session ends."""
        request = self._membership.leave_request()
        if request is None:
            return
        try:
            node_id = await self._cluster.coordinator(self._group_id)
            await self._cluster.request(
                node_id,
                ApiKey.CONSUMER_GROUP_HEARTBEAT,
                request,
                ConsumerGroupHeartbeatResponse,
                lane=Lane.GROUP,
            )
        except KafkaError:
            self._cluster.forget_coordinator(self._group_id)


def _explained(error: KafkaError) -> KafkaError:
    if isinstance(error, UnsupportedVersion):
        return UnsupportedVersion(
            f"{error}. group_protocol='consumer' needs a broker of Kafka 4.0 or later; use group_protocol='classic'"
        )
    return error
