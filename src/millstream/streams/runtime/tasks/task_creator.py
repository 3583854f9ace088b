"""Makes tasks as a host has them (Kafka Streams' ActiveTaskCreator and StandbyTaskCreator)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.spec import TaskEnvironment
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from millstream.streams.runtime.tasks.task import Task
from millstream.streams.runtime.tasks.task_start import TaskStart

_KeyT_contra = TypeVar("_KeyT_contra", bound=Hashable, contravariant=True)


class TaskCreator(Protocol[_KeyT_contra]):
    """What differs by host: with which clients, threads and global stores a task works, and who else has its directory."""

    async def create_active_task(self, key: _KeyT_contra, task: Task) -> TaskStart:
        """Returns an attempt to start a task, whose stores nobody else in this place has open any more."""
        ...

    async def create_standby_task(self, key: _KeyT_contra, task: Task) -> StandbyTask | None:
        """Returns a copy of a task's stores; None where the task itself has them in this place."""
        ...


@dataclass(frozen=True, slots=True)
class ThreadTaskCreator:
    """Makes the tasks of a stream thread: all of one application, which has its state directory to itself."""

    environment: TaskEnvironment
    global_stores: GlobalStores | None

    async def create_active_task(self, _key: Hashable, task: Task) -> TaskStart:
        return TaskStart(task.spec, task.partition, self.environment, self.global_stores)

    async def create_standby_task(self, _key: Hashable, task: Task) -> StandbyTask | None:
        return StandbyTask(task.spec, task.partition, self.environment)
