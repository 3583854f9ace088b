"""The tasks of a node, all in one TaskGroup, and the steps of its end, one after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from millstream.errors import MillstreamError
from millstream.net.client.tasks import TaskGroup


class NodeTasks:
    """Implements `node.Tasks`. What fails in here ends the node, what is cancelled in here ends alone."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._running: set[asyncio.Task[None]] = set()
        self._is_ending = False

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None:
        """Runs `coroutine` as a task of the node; while the node ends, it is not started at all."""
        if self._is_ending:
            coroutine.close()
            return
        try:
            task = self._group.create_task(coroutine, name=name)
        except RuntimeError:
            # A task has failed: the group cancels the others, and what these still do in that turn may ask for one more.
            coroutine.close()
            return
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def cancel_all(self) -> None:
        """The group's `async with` then ends."""
        self._is_ending = True
        for task in list(self._running):
            task.cancel()


_LOGGER = logging.getLogger(__name__)


class OrderedStop:
    """The steps of a shutdown. Errors are logged as they come; `raise_first` raises the first one at the end."""

    def __init__(self) -> None:
        self._first: Exception | None = None

    def take(self, step: str, act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - kept for `raise_first`; the next step comes in any case
            self._handle_failure(step, error)

    async def wait(self, step: str, act: Callable[[], Awaitable[object]]) -> None:
        try:
            await act()
        except Exception as error:  # noqa: BLE001 - kept for `raise_first`; the next step comes in any case
            self._handle_failure(step, error)

    def raise_first(self) -> None:
        if self._first is not None:
            raise self._first

    def _handle_failure(self, step: str, error: Exception) -> None:
        # What a disk or another node has done is said by the sentence; only what nobody expected needs its trace.
        is_told = isinstance(error, MillstreamError | OSError)
        _LOGGER.critical(
            "shutdown: %s failed: %s", step, error, exc_info=None if is_told else error
        )
        if self._first is None:
            self._first = error
