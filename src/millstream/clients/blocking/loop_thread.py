"""The event loop behind all blocking clients of a process: one daemon thread, started when first needed."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Protocol, TypeVar

from millstream.net.client.tasks import ClientClosed, ForkedClient, WrongEventLoop

_Result = TypeVar("_Result")

_EXIT_SECONDS = 30.0


class Closable(Protocol):
    def close(self) -> object: ...


class LoopThread:
    """Runs coroutines for other threads. `shared` gives the one of this process."""

    def __init__(self) -> None:
        self._is_parents = False
        self._has_ended = False
        os.register_at_fork(after_in_child=self._disown)
        self._loop = _new_event_loop()
        self._open: weakref.WeakSet[Closable] = weakref.WeakSet()
        self._thread = threading.Thread(
            target=self._run_loop, name="millstream clients", daemon=True
        )
        self._thread.start()
        _call_at_exit(self._close_clients)

    def run(
        self, coroutine: Coroutine[object, object, _Result], timeout_s: float | None = None
    ) -> _Result:
        """Wait for `coroutine` to end on the loop. An interrupted wait (Ctrl-C) cancels it; the client stays usable."""
        self._check(coroutine)
        future: Future[_Result] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        if self._has_ended:
            future.cancel()  # it ended since the check, and may not have seen this
        try:
            return future.result(timeout_s)
        except BaseException as error:
            if self._has_ended and isinstance(error, CancelledError):
                raise _interpreter_exits() from None
            if future.cancel():
                self._wait_for_end(coroutine)
            raise

    def close(self, goodbye: Coroutine[object, object, object]) -> None:
        """Waits for the end of a client. Does nothing where the exit of the interpreter has closed it already."""
        try:
            self.run(goodbye)
        except ClientClosed:
            if not self._has_ended:
                raise

    def call(self, function: Callable[[], _Result]) -> _Result:
        """Returns the result of a plain function that must run on the loop."""

        async def on_loop() -> _Result:
            return function()

        return self.run(on_loop())

    def _wait_for_end(self, coroutine: Coroutine[object, object, object]) -> None:
        """Waits for the end of what was cancelled: until then the client is in use, and refuses the next call."""

        async def wait() -> None:
            if tasks := [each for each in asyncio.all_tasks() if each.get_coro() is coroutine]:
                await asyncio.wait(tasks)

        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(wait(), self._loop).result(_EXIT_SECONDS)

    def call_soon(self, function: Callable[[], object]) -> None:
        """Calls a function on the loop without waiting, from any thread."""
        self.check()
        self._loop.call_soon_threadsafe(function)

    @property
    def is_current(self) -> bool:
        """Whether the caller is in the loop thread, where nothing can be waited for."""
        return threading.current_thread() is self._thread

    def check(self) -> None:
        """Cheap: producers ask for each record."""
        if self._is_parents:
            raise ForkedClient("this client was made before a fork; make a new one in this process")
        if self._has_ended:
            raise _interpreter_exits()

    def close_at_exit(self, client: Closable) -> None:
        self._open.add(client)

    def _check(self, coroutine: Coroutine[object, object, object]) -> None:
        try:
            self.check()
            self._check_thread()
        except BaseException:
            coroutine.close()
            raise

    def _check_thread(self) -> None:
        if self.is_current:
            raise WrongEventLoop(
                "a blocking client cannot wait in the thread that does its work, where functions run that"
                " were given to it; use the asyncio client there"
            )

    def _disown(self) -> None:
        """In a forked child, which has no such thread."""
        self._is_parents = True

    def _close_clients(self) -> None:
        if self._is_parents:
            return
        with contextlib.ExitStack() as all_of_them:  # also when one cannot be closed cleanly
            all_of_them.callback(self._stop)
            for client in list(self._open):
                all_of_them.callback(client.close)

    def _stop(self) -> None:
        """Threads that are no daemons run on while the interpreter exits: none may wait for a loop that has ended.

        The order matters: whoever does not see that it ends has handed its coroutine over before the loop stops.
        """
        self._has_ended = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_EXIT_SECONDS)

    def _run_loop(self) -> None:
        self._loop.run_forever()
        if tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.wait(tasks))


class _Shared:
    """The process-wide loop. A forked child forgets its parent's and starts its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        os.register_at_fork(after_in_child=self._forget)

    def get(self) -> LoopThread:
        with self._lock:
            if self._thread is None:
                self._thread = LoopThread()
            return self._thread

    def _forget(self) -> None:
        self._lock = threading.Lock()  # the parent's may be held by a thread that is not here
        self._thread = None


def _call_at_exit(function: Callable[[], None]) -> None:
    """As `atexit`, but before the pools of threads end: clients and applications that are
    closed then still need theirs.

    Python's own pools end by the same list, last first, and have no public way into it.
    """
    import concurrent.futures.thread  # noqa: F401  # its entry must come before ours

    register = getattr(threading, "_register_atexit", atexit.register)
    register(function)


def _interpreter_exits() -> ClientClosed:
    return ClientClosed(
        "the interpreter exits, and has closed all blocking clients; join the threads that use them before the main"
        " thread ends"
    )


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


shared = _Shared().get
