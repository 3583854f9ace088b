"""Membership in a streams group as it is lived: heartbeats in the background, and news for whoever runs the tasks.

What is said is decided in `membership`. Owns its connections. Takes over no task itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from millstream.clients import CommitFailed, OffsetAndMetadata
from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.config import ConsumerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.consumer.commits import Commits
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.group.core.consumer_membership import new_member_id
from millstream.errors import (
    InvalidRequest,
    KafkaError,
    MillstreamError,
    UnsupportedVersion,
)
from millstream.model import TopicPartition
from millstream.net.client.environment import system_environment
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatResponse,
)
from millstream.streams.application.group.membership import (
    StreamsMembership,
    StreamsMembershipPolicy,
    TaskAssignment,
)
from millstream.streams.errors import TopologyError

COMMIT_TIMEOUT_MS: Final = 60_000
_OTHER_TOPOLOGY: Final = "Topology updates are not supported"
"""Coordinators tell it by their words: the code is that of any request that makes no sense."""
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
        self._commits = Commits(self._cluster, self._scope, self.group_metadata, _ignored)
        self._wanted = asyncio.Event()
        self._failures = 0
        self._error: MillstreamError | None = None

    def start(self) -> None:
        self._scope.start(self._beat(), "heartbeats")

    def check(self) -> None:
        """Raises what makes membership impossible."""
        self._scope.check()
        if self._error is not None:
            raise self._error

    def acknowledge(self, owned: TaskAssignment) -> None:
        """Tells the coordinator what the member has now. To be called once all else has been given up."""
        self.membership.acknowledge(owned)
        self._wanted.set()

    def rejoin(self) -> None:
        self.membership.rejoin()
        self._wanted.set()

    def look_at_topics(self) -> None:
        """Does nothing: the coordinator itself looks whether topics have come or gone."""

    def shut_down_application(self) -> None:
        """Has the coordinator tell all members of the group to end, with the next heartbeat or when this one leaves."""
        self.membership.wants_shutdown = True

    @contextlib.contextmanager
    def keeping_generation(self) -> Iterator[bool]:
        """Yields whether commits are possible meanwhile, which they are: members of a streams group do not wait for each other."""
        yield True

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commits offsets in the name of the member. Raises CommitFailed where the group went on without it."""
        await self._commits.commit(offsets, self._cluster.now_ms() + COMMIT_TIMEOUT_MS)

    async def leave(self) -> None:
        """Leaves the group, so that others get the tasks at once, and disconnects."""
        request = self.membership.leave_request()
        try:
            if request is not None:
                with contextlib.suppress(KafkaError, TimeoutError):
                    async with asyncio.timeout(LEAVE_S):
                        node_id = await self._cluster.coordinator(self._policy.group_id)
                        await self._cluster.request(
                            node_id,
                            ApiKey.STREAMS_GROUP_HEARTBEAT,
                            request,
                            StreamsGroupHeartbeatResponse,
                            lane=Lane.GROUP,
                        )
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

    async def _beat(self) -> None:
        while True:
            self._wanted.clear()
            due_ms = self.membership.heartbeat_due_ms(self._cluster.now_ms())
            if due_ms == 0:
                await self._beat_once()
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if due_ms is None else due_ms / 1000):
                    await self._wanted.wait()

    async def _beat_once(self) -> None:
        membership = self.membership
        request = membership.heartbeat_request(self._cluster.now_ms())
        try:
            node_id = await self._cluster.coordinator(self._policy.group_id)
            response = await self._cluster.request(
                node_id,
                ApiKey.STREAMS_GROUP_HEARTBEAT,
                request,
                StreamsGroupHeartbeatResponse,
                lane=Lane.GROUP,
            )
        except KafkaError as failure:
            membership.handle_failure()
            if not failure.retriable:
                self._error = self._explained(failure)
                membership.fail()
                return
            await self._wait_a_moment()
            return
        refused = membership.handle_heartbeat(request, response)
        self._error = None if refused is None else self._explained(refused)
        if not response.error_code:
            self._failures = 0
            return
        await self._wait_a_moment()

    async def _wait_a_moment(self) -> None:
        self._failures += 1
        self._cluster.forget_coordinator(self._policy.group_id)
        delay_ms = self._cluster.backoff.delay_ms(self._failures, self._cluster.random)
        await asyncio.sleep(delay_ms / 1000)

    def _explained(self, error: KafkaError) -> MillstreamError:
        if isinstance(error, UnsupportedVersion):
            return UnsupportedVersion(
                f"{str(error).rstrip('.')}. The broker does not serve the streams protocol, which brokers have from Kafka 4.2 on: use group_protocol='classic'"
            )
        if isinstance(error, InvalidRequest) and _OTHER_TOPOLOGY in str(error):
            return TopologyError(
                f"the group of application {self._policy.group_id} has another topology than this instance, and the streams protocol of Kafka "
                "4.3 takes no new one (Topology updates are not supported yet). Run the same topology in all instances. To go on with a new one: end all instances, start one with "
                "group_protocol='classic', which keeps offsets and stores, and end it again to come back to this protocol. To begin anew: "
                f"millstream streams reset {self._policy.group_id}"
            )
        return error


def _ignored(_offsets: object) -> None:
    """Does nothing: nobody else wants to hear of commits."""
