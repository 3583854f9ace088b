"""One call at a time: another caller of a consumer is told so, and may interrupt the call that is waiting.

A listener or callback that the call itself runs may use the consumer: what runs in the call's context belongs to it,
also when it crosses to another thread and back, because contexts travel along.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import final

from millstream.clients.consumer.core.errors import WakeupError
from millstream.clients.core.illegal_state import ConcurrentUse
from millstream.clients.group.member import RebalanceListener
from millstream.errors import MillstreamError
from millstream.model import TopicPartition

_CALLS: ContextVar[tuple[object, ...]] = ContextVar("calls under way", default=())


class CallGuard:
    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._aside = object()
        """Stands for the work beside the calls, as a call of its own."""
        self._call: object | None = None
        self._task: asyncio.Task[object] | None = None
        self._interruption: MillstreamError | None = None
        """Raised by the call under way, or else by the next one that may wait."""
        self._cancelled = False
        self._shielded = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def check(self) -> None:
        """Raises ConcurrentUse while a call that is not ours is under way."""
        if self._call is not None and not self.is_inside:
            raise ConcurrentUse(
                f"another task or thread is using this {self._owner}; wait for its call, or end it with wakeup()"
            )

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Wraps what may wait. Raises ConcurrentUse, and WakeupError when `interrupt` ended it."""
        self.check()
        if self._call is not None or self.is_aside:
            yield  # called by a listener that the outer call waits for
            return
        self._raise_interruption()
        self._call = object()
        self._task = task = asyncio.current_task()
        assert task is not None, "calls run in tasks"
        cancelling = task.cancelling()
        token = _CALLS.set((*_CALLS.get(), self._call))
        self._idle.clear()
        try:
            yield
        except asyncio.CancelledError:
            if self._cancelled:
                self._cancelled = False
                if task.uncancel() <= cancelling:
                    self._raise_interruption()
            raise
        finally:
            if self._cancelled:
                self._cancelled = False
                task.uncancel()
            _CALLS.reset(token)
            self._call = self._task = None
            self._idle.set()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Wraps what goes on beside the calls, each of which waits for its end: a listener that it runs may use the
        consumer like one that a call runs.
        """
        token = _CALLS.set((*_CALLS.get(), self._aside))
        try:
            yield
        finally:
            _CALLS.reset(token)

    @property
    def is_aside(self) -> bool:
        """Whether this is inside of `aside`: such a caller must not wait for the end of it."""
        return self._aside in _CALLS.get()

    @property
    def is_inside(self) -> bool:
        """Whether this is inside of the call under way, or aside: such a caller waits for the end of neither."""
        return self.is_aside or self._call in _CALLS.get()

    @contextlib.contextmanager
    def shielded(self) -> Iterator[None]:
        """Wraps the application's own code, which is not interrupted: the next wait is."""
        self._shielded += 1
        try:
            yield
        finally:
            self._shielded -= 1

    def check_interruption(self) -> None:
        """Raises, before a wait, what could not be raised earlier."""
        if not self._shielded:
            self._raise_interruption()

    def wake_up(self) -> None:
        """Ends the call that is waiting with WakeupError; when there is none, the next one."""
        self._interruption = self._interruption or WakeupError("woken up by wakeup()")
        self._cancel()

    async def end_other_calls(self, error: MillstreamError) -> None:
        """Interrupts the call of another caller until there is none."""
        while self._call is not None and self._call not in _CALLS.get():
            self._interruption = error
            self._cancel()
            await self._idle.wait()
        self._interruption = None

    def _cancel(self) -> None:
        """Cancels the call under way, but not from inside it: a task that cancels itself is
        cancelled at whatever it does next.
        """
        task = self._task
        if self._shielded or self._cancelled or task in (None, asyncio.current_task()):
            return
        assert task is not None, "checked above"
        self._cancelled = True
        task.cancel()

    def _raise_interruption(self) -> None:
        error, self._interruption = self._interruption, None
        if error is not None:
            raise error


@final
class ShieldedListener(RebalanceListener):
    """A rebalance listener that `wakeup()` does not interrupt."""

    def __init__(self, listener: RebalanceListener, guard: CallGuard) -> None:
        self._listener = listener
        self._guard = guard

    async def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        with self._guard.shielded():
            await self._listener.on_partitions_revoked(partitions)

    async def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        with self._guard.shielded():
            await self._listener.on_partitions_assigned(partitions)

    async def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        with self._guard.shielded():
            await self._listener.on_partitions_lost(partitions)
