"""The sticky task assignor of streams groups (KIP-1071): even over members, moving as few tasks as that allows.

An active task stays where it was, else it goes to a member that kept a standby of it, else to the process
with the least load. Standbys follow the same preferences and never share a process with another copy of their
task; where there are not enough processes, fewer standbys are assigned. A process may run several members
(threads); load is tasks per member.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from millstream.coordinator.assignors.partition_assignor import TaskId, Tasks


@dataclass(frozen=True, slots=True)
class TaskMember:
    """A member as the assignor knows it."""

    process_id: str
    previous: Tasks
    """Its part of the last target assignment."""


@dataclass(frozen=True, slots=True)
class SubtopologyTasks:
    """The tasks of one sub-topology: `task_count` of them, one for each partition of its largest source topic."""

    subtopology_id: str
    task_count: int
    is_stateful: bool
    """Only tasks with state have standbys."""

    def task_ids(self) -> list[TaskId]:
        return [TaskId(self.subtopology_id, partition) for partition in range(self.task_count)]


def assign_tasks(
    members: Mapping[str, TaskMember],
    subtopologies: Sequence[SubtopologyTasks],
    num_standby_replicas: int,
) -> dict[str, Tasks]:
    """Returns the tasks of each member. Equal inputs in equal order give equal assignments."""
    assignment = _Assignment(members, subtopologies, num_standby_replicas)
    if members:
        assignment.assign_active()
        assignment.assign_standby()
    return assignment.by_member()


class _Quota:
    """The number of tasks that a member may hold for the assignment to stay even: the average of
    those who are not full yet.
    """

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members

    @property
    def tasks_per_member(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0

    def fill(self, task_count: int) -> None:
        """A member holds `task_count` tasks now; if that is all it may, the others share what is left."""
        if task_count == self.tasks_per_member:
            self._members -= 1
            self._tasks -= task_count


class _Process:
    def __init__(self, order: int) -> None:
        self.order = order
        self.task_counts: dict[str, int] = {}
        """By member."""
        self.tasks: set[TaskId] = set()

    @property
    def load(self) -> float:
        return len(self.tasks) / len(self.task_counts)

    def least_loaded_member(self) -> str:
        return min(self.task_counts, key=self.task_counts.__getitem__)


class _Assignment:
    def __init__(
        self,
        members: Mapping[str, TaskMember],
        subtopologies: Sequence[SubtopologyTasks],
        num_standby_replicas: int,
    ) -> None:
        self._num_standby_replicas = num_standby_replicas
        self._active_tasks = [task for sub in subtopologies for task in sub.task_ids()]
        self._stateful_tasks = [
            task for sub in subtopologies if sub.is_stateful for task in sub.task_ids()
        ]
        task_count = len(self._active_tasks) + num_standby_replicas * len(self._stateful_tasks)
        self._active_quota = _Quota(len(self._active_tasks), len(members))
        self._quota = _Quota(task_count, len(members))
        self._processes: dict[str, _Process] = {}
        self._process_of: dict[str, _Process] = {}
        self._previous_active: dict[TaskId, str] = {}
        self._previous_standby: defaultdict[TaskId, list[str]] = defaultdict(list)
        self._active: dict[str, set[TaskId]] = {member_id: set() for member_id in members}
        self._standby: dict[str, set[TaskId]] = {member_id: set() for member_id in members}
        for member_id, member in members.items():
            self._add_member(member_id, member)

    def _add_member(self, member_id: str, member: TaskMember) -> None:
        process = self._processes.setdefault(member.process_id, _Process(len(self._processes)))
        process.task_counts[member_id] = 0
        self._process_of[member_id] = process
        for task in member.previous.active:
            self._previous_active[task] = member_id
        for task in member.previous.standby:
            self._previous_standby[task].append(member_id)

    def by_member(self) -> dict[str, Tasks]:
        return {
            member_id: Tasks(frozenset(active), frozenset(self._standby[member_id]))
            for member_id, active in self._active.items()
        }

    # Active tasks

    def assign_active(self) -> None:
        """Tasks go round by partition first, so that the tasks a member keeps are spread over sub-topologies."""
        waiting = sorted(self._active_tasks, key=lambda task: (task.partition, task.subtopology_id))
        waiting = [task for task in waiting if not self._give_active_back(task)]
        waiting = [task for task in waiting if not self._promote_standby(task)]
        heap = self._processes_by_load()
        for task in sorted(waiting):
            _, _, process = heapq.heappop(heap)
            self._add_active(process.least_loaded_member(), task)
            heapq.heappush(heap, (process.load, process.order, process))

    def _give_active_back(self, task: TaskId) -> bool:
        member_id = self._previous_active.get(task)
        return member_id is not None and self._add_active_within_quota(member_id, task)

    def _promote_standby(self, task: TaskId) -> bool:
        member_id = self._least_loaded(self._previous_standby.get(task, ()))
        return member_id is not None and self._add_active_within_quota(member_id, task)

    def _add_active_within_quota(self, member_id: str, task: TaskId) -> bool:
        has_room = self._task_count(member_id) < self._active_quota.tasks_per_member
        if has_room:
            self._add_active(member_id, task)
        return has_room

    def _add_active(self, member_id: str, task: TaskId) -> None:
        self._active[member_id].add(task)
        self._active_quota.fill(self._count_in(member_id, task))
        self._quota.fill(self._task_count(member_id))

    # Standby tasks

    def assign_standby(self) -> None:
        """Last partitions first: the members that hold the first ones are filled with active tasks by now."""
        waiting: list[tuple[TaskId, int]] = []
        backwards = sorted(
            self._stateful_tasks,
            key=lambda task: (task.partition, task.subtopology_id),
            reverse=True,
        )
        for task in backwards:
            missing = self._num_standby_replicas
            while missing and self._add_standby_where_it_was(task):
                missing -= 1
            waiting.append((task, missing))
        heap = self._processes_by_load()
        for task, missing in sorted(waiting, reverse=True):
            for _ in range(missing):
                if not self._add_standby_to_least_loaded(heap, task):
                    break

    def _add_standby_where_it_was(self, task: TaskId) -> bool:
        """A member that was active on the task has its state too."""
        previous_active = self._previous_active.get(task)
        candidates = () if previous_active is None else (previous_active,)
        for members in (candidates, self._previous_standby.get(task, ())):
            member_id = self._least_loaded(m for m in members if not self._has_copy(m, task))
            if member_id is not None and self._task_count(member_id) < self._quota.tasks_per_member:
                self._add_standby(member_id, task)
                return True
        return False

    def _add_standby_to_least_loaded(
        self, heap: list[tuple[float, int, _Process]], task: TaskId
    ) -> bool:
        passed_over = []
        found = False
        while heap and not found:
            entry = heapq.heappop(heap)
            process = entry[2]
            found = task not in process.tasks
            if found:
                self._add_standby(process.least_loaded_member(), task)
                entry = (process.load, process.order, process)
            passed_over.append(entry)
        for entry in passed_over:
            heapq.heappush(heap, entry)
        return found

    def _add_standby(self, member_id: str, task: TaskId) -> None:
        self._standby[member_id].add(task)
        self._quota.fill(self._count_in(member_id, task))

    # Loads

    def _count_in(self, member_id: str, task: TaskId) -> int:
        process = self._process_of[member_id]
        process.tasks.add(task)
        process.task_counts[member_id] += 1
        return process.task_counts[member_id]

    def _task_count(self, member_id: str) -> int:
        return self._process_of[member_id].task_counts[member_id]

    def _has_copy(self, member_id: str, task: TaskId) -> bool:
        return task in self._process_of[member_id].tasks

    def _least_loaded(self, members: Iterable[str]) -> str | None:
        return min(
            members,
            key=lambda member_id: (self._process_of[member_id].load, self._task_count(member_id)),
            default=None,
        )

    def _processes_by_load(self) -> list[tuple[float, int, _Process]]:
        heap = [(process.load, process.order, process) for process in self._processes.values()]
        heapq.heapify(heap)
        return heap
