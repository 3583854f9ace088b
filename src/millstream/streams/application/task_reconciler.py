"""Brings the tasks of a stream thread to what its group wants: gives up what others are to have, says so, and begins to
start what is new.

Kafka Streams' StreamsRebalanceListener, asked once a turn. What the group wants may change at each await: heartbeats go
on beside the thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from millstream.protocol.generated.streams_group_heartbeat import Status
from millstream.streams.application.group.known_hosts import KnownHosts
from millstream.streams.application.group.membership import NO_TASKS, TaskAssignment
from millstream.streams.application.standby_updater import StandbyUpdater
from millstream.streams.application.states import ThreadState
from millstream.streams.application.task_executor import TaskExecutor
from millstream.streams.application.task_specs import TaskSpecs
from millstream.streams.runtime.clients import GroupMember
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.runtime.steps import RebalanceStep

_LOGGER = logging.getLogger(__name__)


class ThreadMembership(Protocol):
    """The tasks that a member is to have, and what is known of its group, as `StreamsMembership` has it."""

    @property
    def target(self) -> TaskAssignment | None: ...
    @property
    def is_reconciled(self) -> bool: ...
    @property
    def has_lost_tasks(self) -> bool: ...
    @property
    def statuses(self) -> Sequence[Status]: ...
    @property
    def heartbeat_interval_ms(self) -> int: ...
    @property
    def known_hosts(self) -> KnownHosts: ...


class ThreadMember(GroupMember, Protocol):
    """The member of a group, of either protocol, by which a thread is assigned its tasks: as `StreamsMember` has it."""

    @property
    def membership(self) -> ThreadMembership: ...
    def start(self) -> None: ...
    def check(self) -> None: ...
    def acknowledge(self, owned: TaskAssignment) -> None: ...
    def rejoin(self) -> None: ...
    def look_at_topics(self) -> None: ...
    def keeping_generation(self) -> AbstractContextManager[bool]: ...
    def shut_down_application(self) -> None: ...
    async def leave(self) -> None: ...


@dataclass(slots=True)
class TaskReconciler:
    """Of one stream thread, whose turns alone use it. `enter` is called with the states that the thread enters by it,
    `observe` with its steps.
    """

    name: str
    member: ThreadMember
    executor: TaskExecutor
    standbys: StandbyUpdater
    specs: TaskSpecs
    enter: Callable[[ThreadState], bool]
    observe: Callable[[RebalanceStep, str], None]
    taken: TaskAssignment | None = None
    """The tasks that the thread has; None before the first assignment."""
    _told_reason: str | None = None
    """The reason why tasks could not be taken over in the last turn."""

    async def reconcile(self) -> bool:
        """Takes over tasks, or gives up all where the group went on without the member.

        Returns whether the thread has been given what the group wants it to have.
        """
        told = self.member.membership
        if told.has_lost_tasks:
            await self.close(commit=False)
            self.taken = None
            self.enter(ThreadState.PARTITIONS_REVOKED)
            self.member.rejoin()
            return False
        # A task may have been given up for others, and wanted back before the group was told: for the group nothing has
        # changed then, and the member is reconciled without it.
        if told.target is None or (told.is_reconciled and told.target == self.taken):
            return False
        return await self._try_to_take_over(told.target)

    async def close(self, *, commit: bool) -> None:
        """Gives up all tasks, standby tasks included."""
        try:
            await self.standbys.close()
        finally:
            await self.executor.close(commit=commit)

    async def _try_to_take_over(self, target: TaskAssignment) -> bool:
        """Takes over what the coordinator wants, or leaves it to the next turn where the cluster
        cannot say now what that is.
        """
        try:
            is_taken = await self._take_over(target)
        except Exception as error:
            if not is_retriable(error):
                raise
            if str(error) != self._told_reason:  # it is tried again in each turn
                _LOGGER.info("stream-thread [%s] takes over its tasks soon: %s", self.name, error)
            self._told_reason = str(error)
            return False
        self._told_reason = None
        return is_taken

    async def _take_over(self, target: TaskAssignment) -> bool:
        """Gives up what others are to have, says so, and begins to start what is new.

        False: the coordinator wants something else by then.
        """
        before = NO_TASKS if self.taken is None else self.taken
        kept = before.unchanged(target)
        revoked = before.active - kept.active
        await self.executor.give_up(revoked, commit=True)
        await self.standbys.give_up(before.copies - kept.copies)
        self.observe(RebalanceStep.REVOKED, self.name)
        self.taken = kept
        new_active, new_copies = target.active - kept.active, target.copies - kept.copies
        if revoked:
            self.enter(ThreadState.PARTITIONS_REVOKED)
        specs = await self.specs.of(new_active | new_copies, target.topics)
        await self.specs.follow_upstreams()
        # Nothing is awaited from here to the answer. A member that was counted out meanwhile starts nothing: to start a
        # task is to fence its other owners, and that may be the rightful one by now.
        membership = self.member.membership
        if membership.has_lost_tasks or membership.target != target:
            return False
        self.executor.take({task: specs[task] for task in new_active})
        self.standbys.take({task: specs[task] for task in new_copies})
        self.taken = target
        self.observe(RebalanceStep.ASSIGNED, self.name)
        self.member.acknowledge(target)
        return True
