"""The tasks of a node: all in one TaskGroup, ended together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class NodeTasks:
    """Implements `node.Tasks`. What fails in here ends the node; what is cancelled in here ends alone."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._running: set[asyncio.Task[None]] = set()
        self._is_ending = False

    def start(self, coroutine: Coroutine[None, None, None], name: str) -> None:
        """Runs `coroutine` as a task of the node; while the node ends, it is not started at all."""
        if self._is_ending:
            coroutine.close()
            return
        task = self._group.create_task(coroutine, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def cancel_all(self) -> None:
        """The group's `async with` then ends."""
        self._is_ending = True
        for task in list(self._running):
            task.cancel()
