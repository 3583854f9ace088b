"""Membership of a share group as it is lived: heartbeats in the background, from the first poll() on.

What is said is decided in `core.membership`. Nothing of the application's runs here: a share group has no
rebalance listener, because no member owns a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config.share import ShareConsumerConfig
from millstream.clients.group.core.heartbeat_request_manager import HeartbeatRequestManager
from millstream.clients.group.heartbeats import Heartbeats, heartbeat_sender
from millstream.clients.share.core.membership import ShareMembership
from millstream.clients.share.core.values import TopicIdPartition
from millstream.errors import MillstreamError
from millstream.model import Uuid
from millstream.net.client.tasks import TaskScope
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.share_group_heartbeat import (
    ShareGroupHeartbeatResponse,
)


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
        self._observer = observer
        self._heartbeats = Heartbeats(
            cluster,
            scope,
            config.group_id,
            HeartbeatRequestManager(
                self.membership, cluster.backoff, cluster.random, config.max_poll_interval_ms
            ),
            heartbeat_sender(ApiKey.SHARE_GROUP_HEARTBEAT, ShareGroupHeartbeatResponse),
            self._on_heartbeat,
            self._leave_unpolled,
        )
        self._error: MillstreamError | None = None

    def subscribe(self, topics: Iterable[str]) -> None:
        self.membership.subscribe(topics)
        self._heartbeats.wake()

    def begin_poll(self) -> None:
        """Joins, if we are no member. Raises what the coordinator will not have us for."""
        self.raise_error()
        self._heartbeats.manager.poll_deadline_ms = None
        self.membership.handle_poll()
        self._heartbeats.keep_beating(self._cluster.now_ms())

    def raise_error(self) -> None:
        """Raises the refusal of the coordinator: once, and in every call while it will not have us at all."""
        error = self._error
        if not self.membership.is_refused:
            self._error = None
        if error is not None:
            raise error

    def end_poll(self) -> None:
        self._heartbeats.manager.record_poll(self._cluster.now_ms())

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
        """Leaves the group, also in the middle of a heartbeat."""
        await self._heartbeats.stop()
        self._error = None
        await self._heartbeats.say_goodbye(self.membership.plan_leave())

    def _on_heartbeat(self, error: MillstreamError | None) -> None:
        self._error = error or self._error
        known = {topic.topic_id for topic in self._cluster.snapshot.topics.values()}
        if not known.issuperset(self.membership.assigned):
            self._cluster.request_metadata()
        self._observer()

    async def _leave_unpolled(self) -> None:
        await self._heartbeats.say_goodbye(self.membership.plan_stale())
