"""Membership of a share group as it is lived: heartbeats in the background, from the first poll() on.

What is said is decided in `core.membership`. Nothing of the application's runs here: a share group has no
rebalance listener, because no member owns a partition.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable

from millstream.clients.cluster.cluster import Cluster, Lane
from millstream.clients.config.share import ShareConsumerConfig
from millstream.clients.share.core.membership import ShareMembership
from millstream.clients.share.core.values import TopicIdPartition
from millstream.errors import (
    BrokerNotAvailable,
    CoordinatorNotAvailable,
    KafkaError,
    NetworkException,
    NotCoordinator,
    RequestTimedOut,
)
from millstream.model import Uuid
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

_LOOK_AGAIN = (NotCoordinator, CoordinatorNotAvailable, NetworkException, RequestTimedOut)


class ShareMember:
    def __init__(
        self,
        config: ShareConsumerConfig,
        cluster: Cluster,
        scope: TaskScope,
        member_id: str,
        observer: Callable[[], None],
    ) -> None:
        """`observer` is called after each answer that may have changed the assignment, and after errors."""
        self.membership = ShareMembership(
            config.group_id, member_id, config.client_rack or None, cluster.backoff, cluster.random
        )
        self._cluster = cluster
        self._scope = scope
        self._observer = observer
        self._max_poll_interval_ms = config.max_poll_interval_ms
        self._poll_deadline_ms: int | None = None
        """None while the application polls."""
        self._error: KafkaError | None = None
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def subscribe(self, topics: Iterable[str]) -> None:
        self.membership.subscribe(topics)
        self._wake.set()

    def begin_poll(self) -> None:
        """Joins, if we are no member. Raises what the coordinator will not have us for."""
        self.raise_error()
        self._poll_deadline_ms = None
        self.membership.handle_poll()
        if self._task is None or self._task.done():
            self._task = self._scope.start(self._beat(), "heartbeats")
        self._wake.set()

    def raise_error(self) -> None:
        """Raises the refusal of the coordinator: once, and in every call while it will not have us at all."""
        error = self._error
        if not self.membership.is_refused:
            self._error = None
        if error is not None:
            raise error

    def end_poll(self) -> None:
        self._poll_deadline_ms = self._cluster.now_ms() + self._max_poll_interval_ms

    def assigned(self) -> list[TopicIdPartition]:
        """Returns the assigned partitions of topics that the metadata knows."""
        names = {topic.topic_id: name for name, topic in self._cluster.snapshot.topics.items()}
        return [
            TopicIdPartition(Uuid(topic_id), names[topic_id], partition)
            for topic_id, partitions in self.membership.assigned.items()
            if topic_id in names
            for partition in partitions
        ]

    async def leave(self) -> None:
        """Leaves the group, also in the middle of a heartbeat. A coordinator that cannot be told finds out when the session ends."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
            self._task = None
        self._error = None
        await self._say_goodbye(self.membership.plan_leave())

    async def _beat(self) -> None:
        while True:
            self._wake.clear()
            now_ms = self._cluster.now_ms()
            due_ms = self.membership.heartbeat_due_ms(now_ms)
            deadline_ms = self._poll_deadline_ms
            if due_ms is None:
                await self._wake.wait()
            elif deadline_ms is not None and deadline_ms <= now_ms:
                await self._say_goodbye(self.membership.plan_stale())
            elif due_ms == 0:
                await self._beat_once()
            else:
                idle_ms = due_ms if deadline_ms is None else min(due_ms, deadline_ms - now_ms)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(idle_ms / 1000):
                        await self._wake.wait()

    async def _beat_once(self) -> None:
        request = self.membership.plan_heartbeat(self._cluster.now_ms())
        try:
            response = await self._ask(request)
        except KafkaError as error:
            failure = self.membership.handle_failure(error, self._cluster.now_ms())
        else:
            failure = self.membership.handle_heartbeat(request, response, self._cluster.now_ms())
        if isinstance(failure, _LOOK_AGAIN):
            self._cluster.forget_coordinator(self.membership.group_id)
        elif failure is not None and not failure.retriable:
            # That nothing listens is told by the metadata, which are asked for as well, and as often as poll() waits.
            self._error = None if isinstance(failure, BrokerNotAvailable) else failure
        known = {topic.topic_id for topic in self._cluster.snapshot.topics.values()}
        if not known.issuperset(self.membership.assigned):
            self._cluster.request_metadata()
        self._observer()

    async def _say_goodbye(self, request: ShareGroupHeartbeatRequest | None) -> None:
        if request is None:
            return
        try:
            await self._ask(request)
        except KafkaError:
            self._cluster.forget_coordinator(self.membership.group_id)

    async def _ask(self, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
        node_id = await self._cluster.coordinator(self.membership.group_id)
        return await self._cluster.request(
            node_id,
            ApiKey.SHARE_GROUP_HEARTBEAT,
            request,
            ShareGroupHeartbeatResponse,
            lane=Lane.GROUP,
        )
