"""Appends that cannot be made at once, one after another for each sender."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar, final

from millstream.broker.services import BackgroundTasks

ResultT = TypeVar("ResultT")


@final
class OrderedAppends:
    """Runs the appends of each sender in the order they were sent. They go on when their connection closes."""

    def __init__(self, tasks: BackgroundTasks) -> None:
        self._tasks = tasks
        self._last: dict[Hashable, asyncio.Future[object]] = {}

    def is_waiting(self, sender: Hashable) -> bool:
        """Whether what this sender sends now has to queue."""
        return sender in self._last

    def run(
        self, sender: Hashable, work: Callable[[], Awaitable[ResultT]]
    ) -> asyncio.Future[ResultT]:
        """Queues `work` behind what this sender waits for. Who awaits the result shields it."""
        result: asyncio.Future[ResultT] = asyncio.get_running_loop().create_future()
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        previous = self._last.get(sender)
        self._last[sender] = done
        self._tasks.start(
            self._run(sender, previous, done, work, result), f"waiting append of {sender}"
        )
        return result

    async def _run(
        self,
        sender: Hashable,
        previous: asyncio.Future[object] | None,
        done: asyncio.Future[object],
        work: Callable[[], Awaitable[ResultT]],
        result: asyncio.Future[ResultT],
    ) -> None:
        try:
            if previous is not None:
                # Cancelled here at a stop, it is still for the task before to finish.
                await asyncio.shield(previous)
            result.set_result(await work())
        except Exception as error:  # noqa: BLE001 - the caller that awaits the result is told; the node and what waits behind go on
            result.set_exception(error)
        finally:
            done.set_result(None)
            if self._last.get(sender) is done:
                del self._last[sender]
