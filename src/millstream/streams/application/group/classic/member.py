"""Membership in a classic group as it is lived: heartbeats and rebalances in the background, and
news for whoever runs the tasks.

What is said is decided in `membership`, and what is shared out in `leader`. Owns its connections.
Takes over no task itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Final

from millstream.clients import CommitFailed, OffsetAndMetadata
from millstream.clients.cluster.cluster import Cluster
from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.config import ConsumerConfig
from millstream.clients.consumer.commits import Commits
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.clients.group.classic_requests import ClassicRequests
from millstream.clients.group.core.consumer_protocol import encode_assignment
from millstream.errors import FencedInstanceId, InconsistentGroupProtocol, MillstreamError
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.net.network import system_environment
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.sync_group import SyncGroupRequestAssignment
from millstream.streams.application.group.classic.leader import TaskLeader
from millstream.streams.application.group.classic.membership import (
    ClassicStreamsMembership,
    ClassicStreamsPolicy,
)
from millstream.streams.application.group.member import COMMIT_TIMEOUT_MS, LEAVE_S, ignore_commit
from millstream.streams.application.group.membership import StreamsTaskId, TaskAssignment
from millstream.streams.errors import TopologyError


class ClassicStreamsMember:
    """Start it once, in the event loop that uses it; `leave` ends it. `membership` says what the leader wants.

    `stored` tells how far stores are of tasks that the member does not run: its copies, and others on its disk.
    `other_versions` are those of the topology with which its tasks have run before, filled as they start.
    """

    def __init__(
        self,
        policy: ClassicStreamsPolicy,
        config: ConsumerConfig,
        leader: TaskLeader,
        stored: Callable[[], Awaitable[Mapping[StreamsTaskId, int]]],
        other_versions: Collection[str] = (),
    ) -> None:
        self._policy = policy
        self._leader = leader
        self._stored = stored
        self._other_versions = other_versions
        self._scope = TaskScope("classic group member")
        self._cluster = Cluster(
            config, self._scope, system_environment(), allow_auto_create_topics=False
        )
        self._cluster.metadata.use_all_topics(policy.sources.has_patterns)
        self.membership: Final = ClassicStreamsMembership(policy)
        self._requests = ClassicRequests(self._cluster, self.membership.classic)
        self._heartbeats = self._requests.heartbeats(self._scope, self._on_heartbeat)
        self._commits = Commits(self._cluster, self._scope, self.group_metadata, ignore_commit)
        self._wanted = asyncio.Event()
        self._commits_under_way = 0
        self._is_joining = False
        self._shared: Mapping[str, int] | None = None
        """The partitions of the application's topics when the member, as the leader, shared out its tasks;
        None where another leads."""
        self._noticed: ClusterMetadata | None = None
        """The metadata that was looked at since the last JoinGroup."""
        self._rebalances: asyncio.Task[None] | None = None
        self._why_refused: MillstreamError | None = None
        """The reason why the member, as the leader, has told all that they get no tasks."""
        self._error: MillstreamError | None = None

    def start(self) -> None:
        self._rebalances = self._scope.start(self._rebalance_when_wanted(), "rebalances")
        self._heartbeats.keep_beating(self._cluster.now_ms())

    def check(self) -> None:
        """Raises what makes membership impossible."""
        self._scope.check()
        if self._error is not None:
            raise self._error

    def acknowledge(self, owned: TaskAssignment) -> None:
        """Notes what the member has now. To be called once all else has been given up."""
        self.membership.acknowledge(owned)
        self._wanted.set()

    def rejoin(self) -> None:
        self.membership.rejoin()
        self._wanted.set()

    def look_at_topics(self) -> None:
        """Has the member look soon whether topics that match patterns have come or gone."""
        if self._policy.sources.has_patterns:
            self._cluster.request_metadata()

    def shut_down_application(self) -> None:
        """Has the leader tell all members of the group to end, before this one leaves."""
        self.membership.wants_shutdown = True

    @contextlib.contextmanager
    def keeping_generation(self) -> Iterator[bool]:
        """Has the group not rebalance meanwhile as far as it depends on this member.

        Yields whether commits are possible: not in a rebalance.
        """
        self._commits_under_way += 1
        try:
            yield not self._is_joining
        finally:
            self._commits_under_way -= 1
            self._wanted.set()

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commits offsets in the name of the member. Raises CommitFailed where the group went on without it."""
        await self._commits.commit(offsets, self._cluster.now_ms() + COMMIT_TIMEOUT_MS)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Returns what transactions say of the member. Raises CommitFailed where it is none at the moment."""
        metadata = self.membership.classic.metadata()
        if metadata.generation_id < 0:
            raise CommitFailed(
                "not a member of the group at the moment: the task goes on once it is one again"
            )
        return metadata

    async def leave(self) -> None:
        """Leaves the group, so that others get the tasks at once, unless it is a static member, and disconnects.

        Tells of a shutdown that is wanted before.
        """
        if self._rebalances is not None:
            self._rebalances.cancel()
        try:
            with contextlib.suppress(MillstreamError, TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await self._heartbeats.stop()
                    if self.membership.wants_shutdown:
                        await self._join_once()
                    await self._requests.leave("the stream thread ends")
        finally:
            try:
                await self._scope.close()
            finally:
                await self._cluster.close()

    async def _rebalance_when_wanted(self) -> None:
        membership = self.membership
        while True:
            self._wanted.clear()
            wants_to = membership.wants_to_join(self._cluster.clock.wall_ms())
            if wants_to and membership.may_join and not self._commits_under_way:
                await self._rebalance()
                continue
            due_ms = membership.rebalance_due_ms(self._cluster.clock.wall_ms())
            if wants_to or not membership.is_reconciled:
                due_ms = None  # whoever runs the tasks has to do something first
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if due_ms is None else due_ms / 1000):
                    await self._wanted.wait()

    async def _rebalance(self) -> None:
        """Rebalances until there is an assignment, until the member has lost its tasks, or until nothing helps."""
        self._is_joining = True
        try:
            if await self._requests.until_joined(self._join_once, lambda: self.membership.may_join):
                self._heartbeats.wake()
        except MillstreamError as error:
            self._error = self._why_refused or _explained(error)
            await asyncio.Event().wait()  # there is nothing more to say; `check` tells why
        finally:
            self._is_joining = False

    async def _join_once(self) -> bool:
        stored = await self._stored()

        def request(named_reason: bool) -> JoinGroupRequest:
            existing = self._existing_topics()
            return self.membership.join_request(existing, stored, named_reason=named_reason)

        synced = await self._requests.join(request, self._share_out)
        self.membership.handle_sync(synced, self._cluster.now_ms())
        self._noticed = None
        return True

    async def _share_out(self) -> list[SyncGroupRequestAssignment]:
        """Returns what the members are told, if this one leads."""
        self._shared, self._why_refused = None, None
        joined = self.membership.classic.members
        if not joined:
            return []
        shared = await self._leader.share_out(joined, self.membership.classic.group_topics)
        self._shared, self._why_refused = shared.partitions, shared.error
        if not self._policy.sources.has_patterns:  # else it knows of all topics anyway
            self._cluster.use_topics(*self._shared)
        if self._have_partitions_changed():  # another broker than ours, which knows more or less
            self._cluster.request_metadata()
        return [
            SyncGroupRequestAssignment(
                member, encode_assignment(told.partitions, told.info.encode())
            )
            for member, told in shared.assignments.items()
        ]

    def _on_heartbeat(self, error: MillstreamError | None) -> None:
        if error is not None:
            self._error = self._error or _explained(error)
        if self._other_versions:
            self.membership.notice_other_versions()
        self._wanted.set()
        self._notice_topics()

    def _notice_topics(self) -> None:
        """Has the group share out anew once the application is to read other topics, or
        topics that have other partitions.
        """
        snapshot, classic = self._cluster.snapshot, self.membership.classic
        if snapshot is self._noticed:
            return
        self._noticed = snapshot
        try:
            self.membership.notice_topics(self._existing_topics())
            if self._have_partitions_changed():
                classic.want_rejoin("partitions of the group's topics came or went")
        except TopologyError as error:
            self._error = error
        if classic.rejoin_wanted:
            self._wanted.set()

    def _have_partitions_changed(self) -> bool:
        """Whether topics have others than they had when the member, as the leader, shared them out."""
        known, shared = self._cluster.snapshot.topics, self._shared
        if shared is None:
            return False
        matched = self._policy.sources.matched(self._existing_topics())
        return not matched <= shared.keys() or any(
            topic in known and len(known[topic].partitions) != count
            for topic, count in shared.items()
        )

    def _existing_topics(self) -> list[str]:
        """Returns the topics of the cluster that are not its own, as far as the member has to know of them."""
        topics = self._cluster.snapshot.topics.values()
        return [topic.name for topic in topics if not topic.is_internal]


def _explained(error: MillstreamError) -> MillstreamError:
    if isinstance(error, FencedInstanceId):
        return FencedInstanceId(
            f"{str(error).rstrip('.')}. Another instance has the same group_instance_id: give each one of its own"
        )
    if isinstance(error, InconsistentGroupProtocol):
        return InconsistentGroupProtocol(
            f"{str(error).rstrip('.')}. The members of the group are no instances of Kafka Streams with group.protocol=classic: end them before, "
            "or choose the group_protocol that they have"
        )
    return error
