"""Background tasks with an owner. The one place in the clients that starts tasks; elsewhere those of a `with` block are
in a TaskGroup.

A client lives longer than any call into it, so `asyncio.TaskGroup`, which binds tasks to a `with` block, does not fit.
A TaskScope has the same promises: no task outlives it, and a failure is never lost: it ends the other tasks and is
raised by every later use of the client.

A task that ends because what it waited for was cancelled, though nobody has cancelled the task, has failed: for asyncio
it was cancelled, and nobody would hear of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from typing import TypeVar

from millstream.errors import MillstreamError

_Result = TypeVar("_Result")


class ClientClosed(MillstreamError):
    """The client was closed; make a new one."""


class WrongEventLoop(MillstreamError):
    """A client was used from another event loop than the one it works in. Make one client per loop."""


class ForkedClient(MillstreamError):
    """The client was made before a fork; its connections stayed with the parent. Make a new one."""


class TaskScope:
    def __init__(self, owner: str, failure_observer: Callable[[], None] = lambda: None) -> None:
        """`failure_observer` wakes callers that wait for something that a failed task will not do any more."""
        self._owner = owner
        self._failure_observer = failure_observer
        self._tasks: set[asyncio.Task[object]] = set()
        self._failure: BaseException | None = None
        self._reported = False
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None  # that of the first use
        self._pid = os.getpid()

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def has_ended(self) -> bool:
        """Whether it is closed, or a task has failed."""
        return self._closed or self._failure is not None

    @property
    def task_count(self) -> int:
        return len(self._tasks)

    def check(self) -> None:
        """Raises what ended the background tasks, ClientClosed, WrongEventLoop or ForkedClient."""
        self.check_place()
        if self._failure is not None:
            self._reported = True
            raise RuntimeError(f"{self._owner}: a background task failed") from self._failure
        if self._closed:
            raise ClientClosed(f"{self._owner} is closed")

    def start(
        self, coroutine: Coroutine[object, object, _Result], name: str, *, awaited: bool = False
    ) -> asyncio.Task[_Result]:
        """Starts a task.

        `awaited`: a caller takes the result, so an error is the caller's and no failure of the client.
        """
        try:
            self.check_place()
        except MillstreamError:
            coroutine.close()
            raise
        name = f"{self._owner}: {name}"
        work = uncancelled(coroutine, name) if awaited else coroutine
        task = asyncio.get_running_loop().create_task(work, name=name)
        if awaited:  # who is cancelled at once has not begun it
            task.add_done_callback(lambda _: coroutine.close())
        self._tasks.add(task)
        task.add_done_callback(self._on_awaited_done if awaited else self._on_done)
        return task

    async def close(self) -> None:
        """Cancel every task and wait until each is gone. Raises a failure that no caller was told of.

        Safe to call again.
        """
        if self._loop is not None:
            self.check_place()
        self._closed = True
        await self._cancel_tasks()
        failure, self._failure = self._failure, None
        if failure is not None and not self._reported:
            raise RuntimeError(f"{self._owner}: a background task failed") from failure

    def check_place(self) -> None:
        """Raises ForkedClient in another process and WrongEventLoop in another loop than that of the first use.

        A client asks before it closes anything: a socket that a forked child takes out of the selector, which it shares
        with its parent, is never heard of again there.
        """
        if os.getpid() != self._pid:
            raise ForkedClient(
                f"this {self._owner} was made before a fork; make a new one in this process"
            )
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif loop is not self._loop:
            raise WrongEventLoop(
                f"this {self._owner} works in another event loop; make one per loop, or use the clients of"
                " millstream.clients.blocking, which any thread may use"
            )

    async def _cancel_tasks(self) -> None:
        current = asyncio.current_task()
        while tasks := [task for task in self._tasks if task is not current]:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _on_awaited_done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # not lost: the awaiter has it, or was cancelled itself

    def _on_done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            failure = task.exception()
            if failure is not None:
                self.fail(failure)
        elif not task.cancelling():
            # Nobody has cancelled it: what it waited for was. A client would go on without its work, in silence.
            self.fail(RuntimeError(f"what {task.get_name()!r} waited for was cancelled"))

    def fail(self, failure: BaseException) -> None:
        """Ends the other tasks, and is raised by the next use of the client; the first failure counts."""
        if self._failure is not None or isinstance(failure, ClientClosed):
            return
        self._failure = failure
        for other in self._tasks:
            other.cancel()
        self._failure_observer()


class TaskGroup(asyncio.TaskGroup):
    """A group of tasks in which none ends in silence, since what it waited for was cancelled.

    In a group of the library it ends alone, and nobody hears of it: a loop that runs no more, or an answer that says
    "written" though nobody has waited for the disk.
    """

    def create_task(  # type: ignore[override]  # what runs here is a coroutine, never a generator
        self,
        coro: Coroutine[object, None, _Result],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[_Result]:
        name = name or str(getattr(coro, "__qualname__", "a task"))
        running = uncancelled(coro, name)
        try:
            task = super().create_task(running, name=name, context=context)
        except RuntimeError:  # no more is begun; `coro` is its caller's still
            running.close()
            raise
        task.add_done_callback(lambda _: coro.close())  # who is cancelled at once has not begun it
        return task


async def uncancelled(work: Awaitable[_Result], name: str) -> _Result:
    """Returns the result of `work`. CancelledError is for whoever was cancelled: that what `work` waited for was is a
    failure.
    """
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        assert task is not None, "it is awaited in a task"
        if task.cancelling():
            raise
        raise RuntimeError(f"what {name!r} waited for was cancelled") from error


async def uninterrupted(work: asyncio.Future[_Result]) -> _Result:
    """Returns the result. A caller that is cancelled is so once the work has ended: nobody else meets it under way."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            # Cancelled again, as when its client has hung up and now the node ends, it has as little to give back.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({work})
        raise
