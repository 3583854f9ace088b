"""The standby tasks of one stream thread: copies of the stores of tasks that run elsewhere, brought
further beside its active tasks.

They take turns, a few records each, and stand back while active tasks are restored. Those that lack nothing rest until
a look for all of them at once finds something. No task depends on a copy: one that fails begins anew after a pause,
whatever the reason, and never ends the thread. Warm-up tasks are kept in the same way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from millstream.clients.admin import OffsetSpec
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.failures import is_disk_failure, is_retriable
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from millstream.streams.runtime.tasks.task import Task
from millstream.streams.runtime.tasks.task_manager import TaskManager

RECORDS_MAX: Final = 1_000
"""Records of each changelog at a turn, which the kernel takes between two calls of active tasks."""
STAND_BACK_MS: Final = 500
"""So long a copy waits for active tasks before it looks at them again."""
RETRY_MS: Final = 2_000
"""Nobody waits for a copy, and most causes need a moment: a leader that moves, an owner that closes its stores."""
LOOK_FIRST_MS: Final = 500
"""While there is news a copy is behind by no more than this and what a commit takes."""
LOOK_LAST_MS: Final = 2_000
"""A look at nothing new costs three requests, and who queries copies sees them so much staler."""
ANSWER_MS: Final = 5_000
"""A partition that has no answer by then is left to its own copy, which finds out why."""
_LOGGER = logging.getLogger(__name__)


@dataclass(slots=True)
class _Kept:
    keeping: asyncio.Task[None] | None = None
    """None where the task has no changelogs, so that there is nothing to do."""
    rests: bool = False
    """It lacked nothing when it last looked, and waits for `news`."""
    news: asyncio.Event = field(default_factory=asyncio.Event)


class StandbyUpdater:
    """The loop of one thread alone uses it. `on_change` is called when a copy has come further."""

    def __init__(
        self,
        manager: TaskManager[StreamsTaskId],
        clients: TaskClients,
        on_change: Callable[[], None],
        *,
        log_prefix: str,
        stand_back_ms: int = STAND_BACK_MS,
        look_ms: int = LOOK_FIRST_MS,
        retry_ms: int = RETRY_MS,
    ) -> None:
        self._manager = manager
        self._clients = clients
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
            key: {} if task.standby is None else task.standby.covers
            for key, task in self._manager.tasks(is_standby=True).items()
        }

    @property
    def restored_to(self) -> Mapping[StreamsTaskId, Mapping[str, int]]:
        """By task and changelog topic, how far it has been restored."""
        return {
            key: {} if task.standby is None else dict(task.standby.restored_to)
            for key, task in self._manager.tasks(is_standby=True).items()
        }

    def take(self, specs: Mapping[StreamsTaskId, TaskSpec]) -> None:
        """Begins to keep copies."""
        for key, spec in specs.items():
            task = self._manager.create(key, spec, key.partition, is_standby=True)
            kept = self._kept[key] = _Kept()
            if spec.has_changelogs:
                name = f"standby task {key}"
                kept.keeping = self._scope.start(self._keep(key, task, kept), name, awaited=True)
                if self._watching is None:
                    self._watching = self._scope.start(self._watch(), "watch", awaited=True)

    async def give_up(self, keys: Collection[StreamsTaskId]) -> None:
        """Closes copies: their stores are free when this returns."""
        given_up = [self._kept.pop(key).keeping for key in self._kept.keys() & keys]
        keeping = [each for each in given_up if each is not None]
        for each in keeping:
            each.cancel()
        try:
            await asyncio.gather(*keeping, return_exceptions=True)
        finally:
            await self._manager.close(keys, None)

    async def close(self) -> None:
        """Gives up all."""
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
        await self.give_up(tuple(self._kept))
        if watching is not None:
            await asyncio.wait({watching})

    @property
    def _stands_back(self) -> bool:
        """Whether active tasks are restored, which come first."""
        return not self._manager.is_settled

    async def _keep(self, key: StreamsTaskId, task: Task, kept: _Kept) -> None:
        """Brings a copy further until it is cancelled."""
        while True:
            pause_s = 0.0
            try:
                if self._stands_back:
                    pause_s = self._stand_back_s
                elif not await self._catch_up(key):
                    await self._rest(kept)
            except Exception as error:
                is_passing = is_retriable(error) or isinstance(error, DataLoss)
                _LOGGER.log(
                    logging.INFO if is_passing else logging.WARNING,
                    "%s standby task [%s] begins anew in %.1f s: %s",
                    *(self._log_prefix, key, self._retry_s, error),
                    exc_info=not (is_passing or is_disk_failure(error)),
                )
                await task.close_and_revive()
                pause_s = self._retry_s
            await asyncio.sleep(pause_s)

    async def _catch_up(self, key: StreamsTaskId) -> int:
        """Brings a copy a little further, and returns how many records are left."""
        standby = await self._manager.standby(key)
        assert standby is not None, "a thread has its directory to itself"
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
            if not resting or self._stands_back:
                continue
            behind = await self._behind(resting)
            for task in behind:
                resting[task].news.set()
            pause_ms = next_pause_ms(pause_ms, self._look_ms, has_news=bool(behind))

    async def _behind(self, resting: Collection[StreamsTaskId]) -> AbstractSet[StreamsTaskId]:
        """Returns the copies that lack something; all where that cannot be asked, since
        each begins anew in its own time.
        """
        tasks = self._manager.tasks(is_standby=True)
        copies = {key: each for key in resting if (each := tasks[key].standby) is not None}
        group_id = next(iter(tasks.values())).spec.application
        try:
            return await _copies_behind(self._clients, group_id, copies)
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


async def _copies_behind(
    clients: TaskClients, group_id: str, copies: Mapping[StreamsTaskId, StandbyTask]
) -> set[StreamsTaskId]:
    """Returns the copies that lack something, or of which it cannot be said.

    Few requests for all: who coordinates and what is committed, who leads, and the ends of changelogs of each leader.
    """
    committed = await clients.committed_offsets(
        group_id, {each for copy in copies.values() for each in copy.inputs}
    )
    changelogs = {each for copy in copies.values() for each in copy.changelogs}
    listed = await clients.admin.list_offsets(
        dict.fromkeys(changelogs, OffsetSpec.LATEST),
        read_committed=clients.is_read_committed,
        timeout_ms=ANSWER_MS,
    )
    failed = listed.errors().keys()
    ends = {each: listed.result(each).offset for each in changelogs - failed}
    return {
        task
        for task, copy in copies.items()
        if failed & copy.changelogs
        or copy.lacks(_by_topic(committed, copy.inputs), _by_topic(ends, copy.changelogs))
    }


def next_pause_ms(pause_ms: int, first_ms: int, *, has_news: bool) -> int:
    """Returns how long to wait until the next look, after this pause."""
    return first_ms if has_news else min(2 * pause_ms, LOOK_LAST_MS)


def _by_topic(
    offsets: Mapping[TopicPartition, int], of: frozenset[TopicPartition]
) -> dict[str, int]:
    return {each.topic: offsets[each] for each in of if each in offsets}
