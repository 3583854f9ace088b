"""The commits of a consumer to its group: those that the application asks for, and those that
enable_auto_commit makes by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.config import ConsumerConfig
from millstream.clients.consumer.auto_commit import AutoCommit
from millstream.clients.consumer.call_guard import CallGuard
from millstream.clients.consumer.commits import CommitCallback, Commits, Offsets
from millstream.clients.consumer.group_subscription import GroupSubscription
from millstream.clients.core import arguments
from millstream.clients.core.arguments import AnyOffset
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope


class GroupCommits:
    """The commits of one consumer. `returned` gives the positions behind everything that has reached the application.

    `succeeded` is told what was committed.
    """

    def __init__(
        self,
        config: ConsumerConfig,
        cluster: Cluster,
        scope: TaskScope,
        guard: CallGuard,
        group: GroupSubscription,
        *,
        returned: Callable[[], Offsets],
        succeeded: Callable[[Offsets], None],
    ) -> None:
        self._guard = guard
        self._group = group
        self._returned = returned
        self._commits = Commits(cluster, scope, group.committing_group, succeeded, group.topic_ids)
        self._auto_commit: AutoCommit | None = None
        if config.enable_auto_commit and config.group_id is not None:
            self._auto_commit = AutoCommit(
                cluster, self._commits, returned, config.auto_commit_interval_ms
            )

    def chosen(self, offsets: Mapping[TopicPartition, AnyOffset] | None) -> Offsets:
        """Returns the offsets that a call is to commit: those given, or what was returned.

        Raises ConfigError without a group_id.
        """
        self._group.group_id()
        return self._returned() if offsets is None else arguments.positions(offsets)

    async def commit(
        self, offsets: Mapping[TopicPartition, AnyOffset] | None, deadline_ms: int
    ) -> None:
        """Commits what `chosen` says, and tells of all commits that have ended."""
        await self._group.end_unsubscribing()
        await self._commits.commit(self.chosen(offsets), deadline_ms)
        await self._run_callbacks()

    def commit_soon(self, offsets: Offsets, callback: CommitCallback | None) -> None:
        """Commits in the background. `callback` is called by one of the later calls that may wait."""
        self._commits.commit_soon(offsets, callback)

    def maybe_auto_commit(self) -> None:
        """Commits what was returned in the background, if commits are made without being asked for."""
        if self._auto_commit is not None:
            self._auto_commit.commit_soon()

    async def poll(self) -> None:
        """Tells of commits that have ended, and begins one where it is time."""
        await self._run_callbacks()
        if self._auto_commit is not None:
            self._auto_commit.poll()

    async def maybe_commit_before_giving_up(self) -> None:
        """Commits what was returned of partitions that are about to be given up, if commits are
        made without being asked for.
        """
        if self._auto_commit is not None:
            await self._auto_commit.commit_before_giving_up()

    async def settle(self) -> None:
        """Waits for the commits in the background, and tells of them."""
        await self._commits.settle()
        await self._run_callbacks()

    async def _run_callbacks(self) -> None:
        if self._commits.has_finished:
            with self._guard.shielded():
                await self._commits.run_callbacks()
