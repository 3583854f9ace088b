"""The event loop of a task, in a thread of its own: async functions of the user run there, whatever the runner is."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class TaskEventLoop:
    """Starts with the first call, and goes on between calls, so that clients of the user keep their connections."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:  # Any: nothing is sent to it
        """Returns what the coroutine gives, or raises what it raises. Waits for that."""
        if self._loop is None:
            self._start()
        assert self._loop is not None, "just started"
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # of an interrupted wait: nobody waits for the calls any more
            raise

    def close(self) -> None:
        """Cancels what still runs in the loop, and ends its thread. It starts again with another call."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = self._thread = None
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _start(self) -> None:
        self._loop = asyncio.new_event_loop()
        name = f"event-loop-{self._name}"
        self._thread = Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
