"""The tasks of one host: taken over, created, restored, revived, asked and closed, whoever assigns them.

Below a stream thread, which has them restored beside its loop and fed by its consumer, and below a task host of
Spark's, which restores one when its first run is asked for. What a host does with a task that runs is its own affair.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from millstream.errors import MillstreamError
from millstream.net.client.tasks import TaskScope
from millstream.runtime import Clock
from millstream.streams.queries.result import QueryResult, StateQueryRequest
from millstream.streams.runtime.errors import StoreNotWritten
from millstream.streams.runtime.failures import is_retriable, misses_topic
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from millstream.streams.runtime.tasks.task import Task
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.runtime.tasks.task_state import TaskLifeState

RETRY_FIRST_S: Final = 0.1
"""Soon, since most causes pass at once: an owner before that still closes its stores, a leader that moves."""
RETRY_LAST_S: Final = 5.0
"""Seldom enough to cost nothing for as long as task.timeout.ms."""
KeyT = TypeVar("KeyT", bound=Hashable)
_KeyT_contra = TypeVar("_KeyT_contra", bound=Hashable, contravariant=True)
_LOGGER = logging.getLogger(__name__)


class TaskCreator(Protocol[_KeyT_contra]):
    """Makes tasks with the clients, threads and global stores of a host (Kafka Streams' ActiveTaskCreator and
    StandbyTaskCreator), which knows who else has their directories.
    """

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


class TaskManager(Generic[KeyT]):
    """The tasks of one host by a key of the host's, which sees to it that no two calls for one task come at a time."""

    def __init__(self, creator: TaskCreator[KeyT], clock: Clock, log_prefix: str) -> None:
        self._creator = creator
        self._clock = clock
        self._log_prefix = log_prefix
        self._scope = TaskScope("tasks")
        self._tasks: dict[KeyT, Task] = {}
        self._restoring: dict[KeyT, asyncio.Task[None]] = {}
        """Those that are restored beside the loop of the host, and have not been taken up by it."""
        self.misses_topic = False
        """Whether a topic of a task is not there. Set back by whoever has seen it."""
        self.created = self.closed = 0
        """The numbers of active tasks that came to run and were closed since the host was started."""

    @property
    def is_settled(self) -> bool:
        """Whether all active tasks are restored."""
        return not self._restoring

    def get(self, key: KeyT) -> Task | None:
        """Returns a task of this host."""
        return self._tasks.get(key)

    def running(self, key: KeyT) -> ActiveTask | None:
        """Returns an active task that runs; None for one that does not, and for none."""
        task = self._tasks.get(key)
        return None if task is None or task.state is not TaskLifeState.RUNNING else task.active

    def tasks(self, *, is_standby: bool) -> dict[KeyT, Task]:
        """Returns the active or the standby tasks."""
        return {key: task for key, task in self._tasks.items() if task.is_standby is is_standby}

    def create(
        self, key: KeyT, spec: TaskSpec, partition: int, *, is_standby: bool = False
    ) -> Task:
        """Takes over a task. One that was here under this key has been closed."""
        task = self._tasks[key] = Task(spec, partition, is_standby=is_standby)
        return task

    async def restore(self, key: KeyT) -> ActiveTask:
        """Makes one attempt to start a task, which runs then. One that fails is to be closed."""
        task = self._tasks[key]
        await task.restore(await self._creator.create_active_task(key, task))
        self._complete_restoration(task)
        return task.running

    def begin_restoring(self, key: KeyT, delay_s: float = 0.0) -> None:
        """Has a task restored beside the loop of the host; `complete_restorations` takes it up."""
        coroutine = self._restore_again_and_again(key, self._tasks[key], delay_s)
        restoring = self._scope.start(coroutine, f"task {self._tasks[key].id}", awaited=True)
        self._restoring[key] = restoring

    def complete_restorations(self) -> Iterator[tuple[KeyT, Task]]:
        """Takes up the tasks that have been restored, which run now. Raises what prevents one from that."""
        for key, restoring in list(self._restoring.items()):
            if restoring.done():
                del self._restoring[key]
                restoring.result()
                self._complete_restoration(self._tasks[key])
                yield key, self._tasks[key]

    async def standby(self, key: KeyT) -> StandbyTask | None:
        """Returns a standby task, made where it is not there; None where its task has the stores in this place."""
        task = self._tasks[key]
        if task.standby is None:
            made = await self._creator.create_standby_task(key, task)
            if made is None:
                return None
            task.run_standby(made)
        return task.standby

    async def revive(self, key: KeyT, error: Exception) -> None:
        """Has a task that has failed while it ran restored anew, for as long as task.timeout.ms."""
        task = self._tasks[key]
        self.closed += 1
        await task.close_and_revive()
        self._note_failure(task, error)
        _LOGGER.log(
            _level(error), "%s task [%s] is started anew: %s", self._log_prefix, task.id, error
        )
        self.begin_restoring(key, RETRY_FIRST_S)

    async def close(
        self, keys: Collection[KeyT], commit: Callable[[KeyT, ActiveTask], Awaitable[None]] | None
    ) -> None:
        """Closes tasks side by side, those that are being restored, too: clean, after a last `commit` of those that
        run, or dirty with None, when what they have written and not committed is aborted.

        Raises what users' functions raise once all are closed.
        """
        # Before anything is awaited: nobody asks these tasks any more, and none of them is taken up as restored.
        found = [(key, self._tasks.pop(key)) for key in set(keys) & self._tasks.keys()]
        found.sort(key=lambda each: each[1].order)
        restoring = {key: self._restoring.pop(key, None) for key, _ in found}
        ended = await asyncio.gather(
            *(self._close(key, task, restoring[key], commit) for key, task in found),
            return_exceptions=True,
        )
        for error in ended:
            if error is not None:
                raise error

    async def query(self, request: StateQueryRequest) -> dict[int, QueryResult]:
        """Returns, by partition, what the stores of this name answer: those of active tasks, of tasks that
        are being restored, and of copies.
        """
        found: dict[int, QueryResult] = {}
        for key, task in list(self._tasks.items()):
            # While another one answered, this one may have been closed.
            if task.is_asked(request) and self._tasks.get(key) is task:
                answer = await task.query(request)
                if answer is not None:
                    found[task.partition] = answer
        return found

    async def store_offsets(self) -> dict[KeyT, Mapping[str, int] | None]:
        """Returns how far the stores of all tasks are with their changelogs; None for one that runs."""
        return {key: await task.restored_to() for key, task in list(self._tasks.items())}

    def _complete_restoration(self, task: Task) -> None:
        task.complete_restoration()
        self.created += 1

    async def _restore_again_and_again(self, key: KeyT, task: Task, delay_s: float) -> None:
        """Starts a task, again and again where the next attempt may succeed."""
        while True:
            await asyncio.sleep(delay_s)
            try:
                await task.restore(await self._creator.create_active_task(key, task))
            except Exception as error:
                if not is_retriable(error):
                    raise
                await task.close_and_revive()
                self._note_failure(task, error)
                delay_s = min(max(2 * delay_s, RETRY_FIRST_S), RETRY_LAST_S)
                _LOGGER.log(
                    _level(error),
                    "%s task [%s] is started in %.1f s: %s",
                    *(self._log_prefix, task.id, delay_s, error),
                )
            else:
                return

    def _note_failure(self, task: Task, error: Exception) -> None:
        self.misses_topic |= misses_topic(error)
        task.maybe_init_timeout_or_raise(error, self._clock.now().monotonic_ms)

    async def _close(
        self,
        key: KeyT,
        task: Task,
        restoring: asyncio.Task[None] | None,
        commit: Callable[[KeyT, ActiveTask], Awaitable[None]] | None,
    ) -> None:
        """Closes a task, and commits it before where that is wanted. Closes it also where the caller is cancelled."""
        was_running = task.state is TaskLifeState.RUNNING and not task.is_standby
        try:
            if restoring is not None:
                # It may have ended just now: then the task that it has opened is closed below.
                await _end(restoring)
            task.suspend()
            if was_running and commit is not None:
                await commit(key, task.running)
        except Exception as error:
            if not (isinstance(error, MillstreamError) or is_retriable(error)):
                raise
            _LOGGER.warning(
                "%s task [%s] was given up uncommitted: %s", self._log_prefix, task.id, error
            )
        finally:
            self.closed += was_running
            await task.close()


async def _end(work: asyncio.Task[None]) -> None:
    """Cancels work and waits for its end, also where the caller is cancelled meanwhile: what it has opened is closed by
    then, or is there to be closed.
    """
    work.cancel()
    try:
        await asyncio.wait({work})
    except asyncio.CancelledError:
        await asyncio.wait({work})
        raise


def _level(error: Exception) -> int:
    """Returns the level at which a failure is logged: a disk needs a person, clusters and fences do not."""
    return logging.WARNING if isinstance(error, StoreNotWritten) else logging.INFO
