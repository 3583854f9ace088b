"""The standby tasks of one stream thread: copies of the stores of tasks that run elsewhere, brought
further beside its active tasks.

They take turns, a few records each, and stand back while active tasks are restored. Those that lack nothing rest until
a look for all of them at once finds something. No task depends on a copy: one that fails begins anew after a pause,
whatever the reason, and never ends the thread. Warm-up tasks are kept in the same way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from millstream.errors import MillstreamError
from millstream.net.client.tasks import TaskScope
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.standby_watch import (
    LOOK_FIRST_MS,
    copies_behind,
    next_pause_ms,
)
from millstream.streams.queries import FailureReason, QueryResult, StateQueryRequest
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.runtime.opening import is_disk_failure
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.standby_task import StandbyTask

RECORDS_MAX: Final = 1_000
"""Records of each changelog at a turn, which the kernel takes between two calls of active tasks."""
STAND_BACK_MS: Final = 500
"""So long a copy waits for active tasks before it looks at them again."""
RETRY_MS: Final = 2_000
_LOGGER = logging.getLogger(__name__)


@dataclass(slots=True)
class _Kept:
    spec: TaskSpec
    standby: StandbyTask | None = None
    """None: it has failed, or is not there yet."""
    keeping: asyncio.Task[None] | None = None
    """None where the task has no changelogs, so that there is nothing to do."""
    rests: bool = False
    """It lacked nothing when it last looked, and waits for `news`."""
    news: asyncio.Event = field(default_factory=asyncio.Event)


class ThreadStandbys:
    """The standby tasks of one thread, whose loop alone uses them.

    `stands_back` says to wait; `on_change` is called when a copy has come further.
    """

    def __init__(
        self,
        environment: TaskEnvironment,
        stands_back: Callable[[], bool],
        on_change: Callable[[], None],
        *,
        log_prefix: str,
        stand_back_ms: int = STAND_BACK_MS,
        look_ms: int = LOOK_FIRST_MS,
        retry_ms: int = RETRY_MS,
    ) -> None:
        self._environment = environment
        self._stands_back = stands_back
        self._on_change = on_change
        self._log_prefix = log_prefix
        self._stand_back_s = stand_back_ms / 1000
        self._look_ms = look_ms
        self._retry_s = retry_ms / 1000
        self._scope = TaskScope("standby tasks")
        self._turn = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._kept: dict[StreamsTaskId, _Kept] = {}

    @property
    def tasks(self) -> Mapping[StreamsTaskId, Mapping[str, int]]:
        """By task, the input offsets that its copy covers, as far as they are known."""
        return {
            task: {} if each.standby is None else each.standby.covers
            for task, each in self._kept.items()
        }

    @property
    def restored_to(self) -> Mapping[StreamsTaskId, Mapping[str, int]]:
        """By task and changelog topic, how far it has been restored."""
        return {
            task: {} if each.standby is None else dict(each.standby.restored_to)
            for task, each in self._kept.items()
        }

    def take(self, specs: Mapping[StreamsTaskId, TaskSpec]) -> None:
        """Begins to keep copies."""
        for task, spec in specs.items():
            kept = self._kept[task] = _Kept(spec)
            if spec.has_changelogs:
                name = f"standby task {task}"
                kept.keeping = self._scope.start(self._keep(task, kept), name, awaited=True)
                if self._watching is None:
                    self._watching = self._scope.start(self._watch(), "watch", awaited=True)

    async def give_up(self, tasks: frozenset[StreamsTaskId]) -> None:
        """Closes copies: their stores are free when this returns."""
        given_up = [(task, self._kept.pop(task)) for task in tasks.intersection(self._kept)]
        keeping = [each.keeping for _, each in given_up if each.keeping is not None]
        for each in keeping:
            each.cancel()
        try:
            await asyncio.gather(*keeping, return_exceptions=True)
        finally:
            for task, kept in given_up:
                await self._close(task, kept)

    async def close(self) -> None:
        """Gives up all."""
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
        await self.give_up(frozenset(self._kept))
        if watching is not None:
            await asyncio.wait({watching})

    async def query(self, request: StateQueryRequest) -> dict[int, QueryResult]:
        """Returns, by partition, what the copies of a store answer, or that they are not active
        ones where these are required.
        """
        found: dict[int, QueryResult] = {}
        for task, each in list(self._kept.items()):
            if not is_asked(request, task, each.spec):
                continue
            if request.require_active:
                found[task.partition] = not_active(f"task {task} is a standby task here")
            elif each.standby is not None:
                answer = await each.standby.query(request)
                if answer is not None:
                    found[task.partition] = answer
        return found

    async def _keep(self, task: StreamsTaskId, kept: _Kept) -> None:
        """Brings a copy further until it is cancelled."""
        while True:
            pause_s = 0.0
            try:
                if self._stands_back():
                    pause_s = self._stand_back_s
                elif not await self._catch_up(task, kept):
                    await self._rest(kept)
            except Exception as error:
                is_passing = is_retriable(error) or isinstance(error, DataLoss)
                _LOGGER.log(
                    logging.INFO if is_passing else logging.WARNING,
                    "%s standby task [%s] begins anew in %.1f s: %s",
                    self._log_prefix,
                    task,
                    self._retry_s,
                    error,
                    exc_info=not (is_passing or is_disk_failure(error)),
                )
                await self._close(task, kept)
                pause_s = self._retry_s
            await asyncio.sleep(pause_s)

    async def _catch_up(self, task: StreamsTaskId, kept: _Kept) -> int:
        """Brings a copy a little further, and returns how many records are left."""
        if kept.standby is None:
            kept.standby = StandbyTask(kept.spec, task.partition, self._environment)
        standby = kept.standby
        await standby.open()  # another task may have its stores for long: the others go on
        async with self._turn:
            before = dict(standby.restored_to), standby.covers
            await standby.note_commit()
            left = await standby.catch_up(RECORDS_MAX)
        if before != (standby.restored_to, standby.covers):
            self._on_change()
        return left

    async def _rest(self, kept: _Kept) -> None:
        kept.rests = True
        await kept.news.wait()
        kept.rests = False
        kept.news.clear()

    async def _watch(self) -> None:
        """Wakes the copies that lack something, until it is cancelled."""
        pause_ms = self._look_ms
        while True:
            await asyncio.sleep(pause_ms / 1000)
            resting = {task: each for task, each in self._kept.items() if each.rests}
            if not resting or self._stands_back():
                continue
            behind = await self._behind(resting)
            for task in behind:
                resting[task].news.set()
            pause_ms = next_pause_ms(pause_ms, self._look_ms, has_news=bool(behind))

    async def _behind(self, resting: Mapping[StreamsTaskId, _Kept]) -> AbstractSet[StreamsTaskId]:
        """Returns the copies that lack something; all where that cannot be asked, since
        each begins anew in its own time.
        """
        copies = {task: each.standby for task, each in resting.items() if each.standby is not None}
        group_id = next(iter(resting.values())).spec.application
        try:
            return await copies_behind(self._environment.clients, group_id, copies)
        except Exception as error:
            is_known = isinstance(error, MillstreamError)
            _LOGGER.log(
                logging.INFO if is_known else logging.WARNING,
                "%s could not look after its copies: %s",
                self._log_prefix,
                error,
                exc_info=not is_known,
            )
            return copies.keys()

    async def _close(self, task: StreamsTaskId, kept: _Kept) -> None:
        """Closes what there is.

        Whoever is cancelled in it leaves it to be closed again, which waits for the first time.
        """
        if kept.standby is None:
            return
        try:
            await kept.standby.close()
        except Exception:  # whatever stores of users raise
            _LOGGER.exception(
                "%s standby task [%s] was not closed in order", self._log_prefix, task
            )
        kept.standby = None


def is_asked(request: StateQueryRequest, task: StreamsTaskId, spec: TaskSpec) -> bool:
    """Whether a request is about a store of this task."""
    is_wanted = request.partitions is None or task.partition in request.partitions
    return is_wanted and spec.has_store(request.store)


def not_active(why: str) -> QueryResult:
    """Returns the answer of stores that are no running active task's to a request that requires one."""
    return QueryResult(
        failure=FailureReason.NOT_ACTIVE,
        message=f"an active task is required, and {why}",
    )
