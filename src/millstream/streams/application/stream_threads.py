"""The stream threads of one instance: added, removed, paused, asked and stopped together.

Owns which threads there are. What a thread does, and what follows when one fails, is not decided here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from millstream.clients.core.illegal_state import IllegalState
from millstream.net.client.tasks import TaskScope, uncancelled
from millstream.streams.application.group.known_hosts import NO_HOSTS, KnownHosts
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.group.remarks import ShutdownRequested
from millstream.streams.application.interactive.store_lags import StoreOffsets
from millstream.streams.application.processes.process_stream_thread import (
    ProcessStreamThread,
)
from millstream.streams.application.states import ThreadState
from millstream.streams.application.stream_thread import StreamThread
from millstream.streams.failure_reports import log_failure
from millstream.streams.queries import QueryResult, StateQueryRequest
from millstream.streams.runtime.report import TaskReport

_LOGGER = logging.getLogger(__name__)

AnyStreamThread = StreamThread | ProcessStreamThread


class StreamThreads:
    """`make` makes a thread with a name. `on_failed` hears of a thread that has ended with an error.

    `cache_share`: what each thread's caches may hold, in bytes, by the number of threads.
    """

    def __init__(
        self,
        make: Callable[[str], AnyStreamThread],
        scope: TaskScope,
        on_failed: Callable[[AnyStreamThread, Exception], None],
        cache_share: Callable[[int], int],
    ) -> None:
        self.all: list[AnyStreamThread] = []
        """Those that run, and those that have failed and were not replaced."""
        self.failed_count = 0
        """The number of threads that have ended with an error."""
        self._make = make
        self._scope = scope
        self._on_failed = on_failed
        self._cache_share = cache_share
        self._running: dict[AnyStreamThread, asyncio.Task[None]] = {}
        self._removed: set[AnyStreamThread] = set()
        """Those that were told to end, and have not ended yet."""

    @property
    def reports(self) -> Mapping[StreamsTaskId, TaskReport]:
        """The last commit of each task."""
        return {task: report for thread in self.all for task, report in thread.reports.items()}

    @property
    def tasks(self) -> frozenset[StreamsTaskId]:
        """The tasks of all threads, standby tasks included."""
        return frozenset(
            task for thread in self.all for task in (*thread.active_tasks, *thread.standby_tasks)
        )

    @property
    def known_hosts(self) -> KnownHosts:
        """The newest that a thread has heard."""
        heard = (thread.known_hosts for thread in self.all)
        return max(heard, key=lambda each: each.epoch, default=NO_HOSTS)

    @property
    def is_paused(self) -> bool:
        return bool(self.all) and all(thread.is_paused for thread in self.all)

    def set_paused(self, *, is_paused: bool) -> None:
        for thread in self.all:
            thread.is_paused = is_paused

    def add(self, client_id: str) -> str:
        """Starts one more thread, and returns its name, which is that of a dead one where there is one."""
        taken = {thread.name for thread in self.all if thread.state is not ThreadState.DEAD}
        names = (f"{client_id}-StreamThread-{number}" for number in range(1, len(taken) + 2))
        name = next(name for name in names if name not in taken)
        thread = self._make(name)
        thread.is_paused = self.is_paused
        if isinstance(thread, ProcessStreamThread):
            thread.ask_others = partial(self._tasks_of_others, thread)
        self.all = [each for each in self.all if each.name != name] + [thread]
        self._share_cache()
        self._running[thread] = self._scope.start(self._run(thread), name, awaited=True)
        return name

    async def remove(self) -> str:
        """Ends the thread that was added last, and returns its name. Raises IllegalState for the only one."""
        staying = [thread for thread in self._running if thread not in self._removed]
        if len(staying) < 2:
            raise IllegalState("the last stream thread is not removed: close the application")
        thread = staying[-1]
        self._removed.add(thread)
        thread.stop()
        await asyncio.wait({self._running[thread]})  # it ends also where the caller is cancelled
        return thread.name

    async def query(self, request: StateQueryRequest) -> dict[int, QueryResult]:
        """Returns, by partition, what the stores of all tasks answer."""
        found: dict[int, QueryResult] = {}
        for thread in self.all:
            found |= await thread.query(request)
        return found

    async def _tasks_of_others(self, asking: ProcessStreamThread) -> Sequence[bytes]:
        """Returns how far the tasks of the other processes have come, as each has pickled it."""
        others = [
            each
            for each in self.all
            if isinstance(each, ProcessStreamThread) and each is not asking
        ]
        found = await asyncio.gather(*(each.local_tasks() for each in others))
        return [answer for answer in found if answer is not None]

    async def store_offsets(self) -> StoreOffsets:
        """Returns how far the stores of all tasks are with their changelogs."""
        found: dict[StreamsTaskId, Mapping[str, int] | None] = {}
        for thread in self.all:
            found |= await thread.store_offsets()
        return found

    def is_one(self, task: asyncio.Task[object] | None) -> bool:
        """Whether a thread runs as this task of the event loop."""
        return task in self._running.values()

    async def stop(self) -> None:
        """Ends all threads after their turns."""
        for thread in self.all:
            thread.stop()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    def _share_cache(self) -> None:
        alive = [thread for thread in self.all if thread.state is not ThreadState.DEAD]
        for thread in alive:
            thread.cache_bytes = self._cache_share(len(alive))

    async def _run(self, thread: AnyStreamThread) -> None:
        try:
            await uncancelled(thread.run(), thread.name)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is logged and told
            log_failure(_LOGGER, f"stream-thread [{thread.name}] has failed", error)
            self.failed_count += not isinstance(error, ShutdownRequested)
            # It has left the group, closed its stores and is DEAD: one of the same name may begin before this task
            # ends.
            self._on_failed(thread, error)
        finally:
            del self._running[thread]
            if thread in self._removed:
                self._removed.remove(thread)
                self.all = [each for each in self.all if each is not thread]
                self._share_cache()
