"""The processes that hold each task, by role: what they hold has to be let go before another can have it.

A task a member was told to give back is still its own until it says that it has. Hard state, kept up by `StreamsGroup`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from millstream.coordinator.assignors.partition_assignor import TaskId
from millstream.coordinator.group.streams.member import AssignedTasks, StreamsGroupMember


class TaskOwners:
    def __init__(self) -> None:
        self._active: dict[TaskId, str] = {}
        self._copies: defaultdict[TaskId, Counter[str]] = defaultdict(Counter)
        """Standby and warm-up tasks by process."""

    def active_process(self, task: TaskId) -> str | None:
        return self._active.get(task)

    def has_copy(self, task: TaskId, process_id: str) -> bool:
        """Whether the process holds the task as a standby or warm-up."""
        return task in self._copies and self._copies[task][process_id] > 0

    def add(self, member: StreamsGroupMember) -> None:
        process_id = member.metadata.process_id
        for held in _held(member):
            for task in held.active:
                self._active[task] = process_id
            for task in _copies(held):
                self._copies[task][process_id] += 1

    def remove(self, member: StreamsGroupMember) -> None:
        """A task that has got another active owner since stays with that one."""
        process_id = member.metadata.process_id
        for held in _held(member):
            for task in held.active:
                if self._active.get(task) == process_id:
                    del self._active[task]
            for task in _copies(held):
                self._remove_copy(task, process_id)

    def _remove_copy(self, task: TaskId, process_id: str) -> None:
        processes = self._copies[task]
        processes[process_id] -= 1
        if not processes[process_id]:
            del processes[process_id]
        if not processes:
            del self._copies[task]


def _held(member: StreamsGroupMember) -> tuple[AssignedTasks, AssignedTasks]:
    return member.current.assigned, member.current.pending_revocation


def _copies(held: AssignedTasks) -> Iterable[TaskId]:
    yield from held.standby
    yield from held.warmup
