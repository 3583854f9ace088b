"""Membership in a streams group as it is lived: heartbeats in the background, and news for whoever runs the tasks.

What is said is decided in `membership`. Owns its connections. Takes over no task itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from millstream.clients import CommitFailed, OffsetAndMetadata
from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ConsumerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.consumer.commits import Commits
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.group.core.consumer_membership import new_member_id
from millstream.clients.group.core.heartbeat_request_manager import HeartbeatRequestManager
from millstream.clients.group.heartbeats import Heartbeats, heartbeat_sender
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.net.network import system_environment
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatResponse,
)
from millstream.streams.application.group.membership import (
    StreamsMembership,
    StreamsMembershipPolicy,
    TaskAssignment,
)

COMMIT_TIMEOUT_MS: Final = 60_000
"""default.api.timeout.ms of Kafka's consumer."""
LEAVE_S: Final = 5.0
"""A coordinator that does not answer in this time finds out by the end of the session."""


class StreamsMember:
    """Start it once, in the event loop that uses it; `leave` ends it. `membership` says what the coordinator wants."""

    def __init__(
        self,
        policy: StreamsMembershipPolicy,
        settings: dict[str, Any],  # Any: settings of a client
    ) -> None:
        self._policy = policy
        self._scope = TaskScope("streams group member")
        self._cluster = Cluster(
            parse_settings(ConsumerConfig, settings),
            self._scope,
            system_environment(),
            allow_auto_create_topics=False,
        )
        self.membership: Final = StreamsMembership(policy, new_member_id(self._cluster.random))
        self._commits = Commits(self._cluster, self._scope, self.group_metadata, ignore_commit)
        self._heartbeats = Heartbeats(
            self._cluster,
            self._scope,
            policy.group_id,
            HeartbeatRequestManager(self.membership, self._cluster.backoff, self._cluster.random),
            heartbeat_sender(ApiKey.STREAMS_GROUP_HEARTBEAT, StreamsGroupHeartbeatResponse),
            self._on_heartbeat,
        )
        self._error: MillstreamError | None = None

    def start(self) -> None:
        self._heartbeats.keep_beating(self._cluster.now_ms())

    def check(self) -> None:
        """Raises what makes membership impossible."""
        self._scope.check()
        if self._error is not None:
            raise self._error

    def acknowledge(self, owned: TaskAssignment) -> None:
        """Tells the coordinator what the member has now. To be called once all else has been given up."""
        self.membership.acknowledge(owned)
        self._heartbeats.wake()

    def rejoin(self) -> None:
        self.membership.rejoin()
        self._heartbeats.wake()

    def look_at_topics(self) -> None:
        """Does nothing: the coordinator itself looks whether topics have come or gone."""

    def shut_down_application(self) -> None:
        """Has the coordinator tell all members of the group to end, with the next heartbeat or when this one leaves."""
        self.membership.wants_shutdown = True

    @contextlib.contextmanager
    def keeping_generation(self) -> Iterator[bool]:
        """Yields whether commits are possible meanwhile, which they are: members of a streams group
        do not wait for each other.
        """
        yield True

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commits offsets in the name of the member. Raises CommitFailed where the group went on without it."""
        await self._commits.commit(offsets, self._cluster.now_ms() + COMMIT_TIMEOUT_MS)

    async def leave(self) -> None:
        """Leaves the group, so that others get the tasks at once, and disconnects."""
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await self._heartbeats.stop()
                    await self._heartbeats.say_goodbye(self.membership.leave_request())
        finally:
            try:
                await self._scope.close()
            finally:
                await self._cluster.close()

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Returns what transactions say of the member. Raises CommitFailed where it is none at the moment."""
        membership = self.membership
        if not membership.is_in_group:
            raise CommitFailed(
                "not a member of the group at the moment: the task goes on once it is one again"
            )
        return ConsumerGroupMetadata(
            self._policy.group_id, membership.member_epoch, membership.member_id, None
        )

    def _on_heartbeat(self, error: MillstreamError | None) -> None:
        self._error = error or self._error


def ignore_commit(_offsets: object) -> None:
    """Does nothing: nobody else wants to hear of commits."""
