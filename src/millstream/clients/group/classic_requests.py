"""The requests of a classic member to its coordinator, wherever that is, again and again where that may help.

Both kinds of classic member stand on it, consumers and stream threads. What is said is decided in
`core.classic_membership`, when it is said and what follows is decided by the member.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.group.core.classic_membership import Membership, may_join_again
from millstream.clients.group.core.heartbeat_request_manager import (
    HeartbeatRequestManager,
    coordinator_may_have_moved,
)
from millstream.clients.group.heartbeats import Heartbeats, heartbeat_sender
from millstream.errors import KafkaError, MemberIdRequired, MillstreamError
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupResponse
from millstream.protocol.generated.leave_group import LeaveGroupResponse
from millstream.protocol.generated.sync_group import SyncGroupRequestAssignment, SyncGroupResponse

_JOIN_GRACE_MS: Final = 5_000
"""The coordinator may answer a JoinGroup this much after the rebalance timeout."""
_NAMED_REASON_VERSION_MIN: Final = 8
_Joined = TypeVar("_Joined")


class ClassicRequests:
    """For use by one member."""

    def __init__(self, cluster: Cluster, membership: Membership) -> None:
        self._cluster = cluster
        self._membership = membership
        self._group_id = membership.policy.group_id

    async def join(
        self,
        request: Callable[[bool], JoinGroupRequest],
        share_out: Callable[[], Awaitable[list[SyncGroupRequestAssignment]]],
    ) -> SyncGroupResponse:
        """Joins once, and returns the assignment. `request` is told whether the coordinator takes a reason.

        `share_out` is called once the membership knows whether it leads. Raises the errors of both answers.
        """
        membership = self._membership
        node_id = await self._cluster.coordinator(self._group_id)
        connection = await self._cluster.connection(node_id, Lane.GROUP)
        version = connection.versions.choose(ApiKey.JOIN_GROUP)
        joined = await connection.request(
            ApiKey.JOIN_GROUP,
            request(version >= _NAMED_REASON_VERSION_MIN),
            JoinGroupResponse,
            timeout_ms=membership.policy.max_poll_interval_ms + _JOIN_GRACE_MS,
        )
        membership.handle_join(joined)
        assignments = await share_out()
        return await connection.request(
            ApiKey.SYNC_GROUP, membership.sync_request(assignments), SyncGroupResponse
        )

    async def until_joined(
        self, join_once: Callable[[], Awaitable[_Joined]], may_join: Callable[[], bool]
    ) -> _Joined | None:
        """Returns what `join_once` returns, or None where the member may not join any more.

        Raises what trying again does not cure.
        """
        failures = 0
        while may_join():
            try:
                return await join_once()
            except KafkaError as error:
                self._membership.rejoin_wanted = True
                if not may_join_again(error):
                    raise
                if coordinator_may_have_moved(error):
                    self._cluster.forget_coordinator(self._group_id)
                if may_join() and not isinstance(error, MemberIdRequired):
                    failures += 1
                    delay_ms = self._cluster.backoff.delay_ms(failures, self._cluster.random)
                    await asyncio.sleep(delay_ms / 1000)
        return None

    async def leave(self, reason: str) -> None:
        """Leaves the group, unless the member is static.

        A coordinator that cannot be told finds out when the session ends.

        Not over the group's own connection: a JoinGroup may stand there unanswered until all members have joined.
        """
        try:
            node_id = await self._cluster.coordinator(self._group_id)
            connection = await self._cluster.connection(node_id)
            request = self._membership.leave_request(
                connection.versions.choose(ApiKey.LEAVE_GROUP), reason
            )
            if request is not None:
                await connection.request(ApiKey.LEAVE_GROUP, request, LeaveGroupResponse)
        except KafkaError:
            self._cluster.forget_coordinator(self._group_id)
        self._membership.forget_membership()

    def heartbeats(
        self,
        scope: TaskScope,
        observer: Callable[[MillstreamError | None], None],
        leave_unpolled: Callable[[], Awaitable[None]] | None = None,
    ) -> Heartbeats[HeartbeatRequest, HeartbeatResponse]:
        """Returns those of the member."""
        cluster, kind = self._cluster, _ClassicHeartbeat(self._membership)
        limit_ms = self._membership.policy.max_poll_interval_ms
        manager = HeartbeatRequestManager(kind, cluster.backoff, cluster.random, limit_ms)
        ask = heartbeat_sender(ApiKey.HEARTBEAT, HeartbeatResponse)
        return Heartbeats(cluster, scope, self._group_id, manager, ask, observer, leave_unpolled)


class _ClassicHeartbeat:
    """Shows a `Membership` as the manager knows all kinds: it says and hears no more than whether it still is one."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self.heartbeat_due_ms = membership.heartbeat_due_ms
        self.heartbeat_request = membership.heartbeat_request

    def handle_failure(self) -> None:
        """Does nothing: each heartbeat says the same."""

    def handle_heartbeat(
        self, request: HeartbeatRequest, response: HeartbeatResponse
    ) -> KafkaError | None:
        return self._membership.handle_heartbeat(response.error_code, request.generation_id)

    def fail(self, error: KafkaError) -> KafkaError:
        """Goes on beating: what ends a classic membership is the application, which is told."""
        return error
