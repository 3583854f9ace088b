"""A group of tasks in which none ends in silence."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import TypeVar, final

_Result = TypeVar("_Result")


@final
class TaskGroup(asyncio.TaskGroup):
    """A task that ends with CancelledError though nobody has cancelled it has failed.

    What it waited for was cancelled. In a group of the library it ends alone, and nobody hears of it: a loop of
    the node that runs no more, or an answer that says "written" though nobody has waited for the disk.
    """

    def create_task(  # type: ignore[override]  # what runs here is a coroutine, never a generator
        self,
        coro: Coroutine[object, None, _Result],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[_Result]:
        running = _or_fail(coro)
        name = name or getattr(coro, "__qualname__", None)
        try:
            task = super().create_task(running, name=name, context=context)
        except RuntimeError:  # no more is begun; `coro` is its caller's still
            running.close()
            raise
        task.add_done_callback(lambda _: coro.close())  # who is cancelled at once has not begun it
        return task


async def _or_fail(coroutine: Coroutine[object, None, _Result]) -> _Result:
    try:
        return await coroutine
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None, "a task of the group runs it"
        if task.cancelling():
            raise
        raise RuntimeError(f"what {task.get_name()!r} waited for was cancelled") from None
