"""An asyncio loop whose clock stands still while anything runs, and jumps to the next timer when nothing does.

What takes minutes on a wall clock takes the time of its callbacks here, and always goes the same way. A loop that waits
without a timer would wait for ever: that is an error. Sockets work as long as both ends are in this loop, since what one end
wrote is there for the other at once; ready sockets have their turn in the order in which they were first watched.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from itertools import count
from typing import Any, TypeVar, TypeVarTuple, Unpack

from millstream.runtime import Instant

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

EPOCH_MS = 1_767_225_600_000
"""The wall clock at the loop's second 0: the first of January 2026."""


class _JumpingSelector(selectors.PollSelector):
    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump
        self._order: dict[int, int] = {}
        self._numbers = count()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        self._order[key.fd] = next(self._numbers)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready:
            return sorted(ready, key=lambda each: self._order[each[0].fd])
        if timeout is None:
            raise AssertionError("everybody waits, and nobody for a timer")
        if timeout > 0:
            self._jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`run_in_executor` does the work at once: threads would bring their own time."""

    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__(_JumpingSelector(self._jump))

    def time(self) -> float:
        return self.now_s

    @property
    def now_ms(self) -> int:
        return round(self.now_s * 1000)

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[Unpack[Arguments]], Result],
        *args: *Arguments,
    ) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = self.create_future()
        self.call_soon(run_work, future, func, args)
        return future

    def _jump(self, seconds: float) -> None:
        self.now_s += seconds


class VirtualClock:
    """The time of the running loop, as a `runtime.Clock`."""

    def now(self) -> Instant:
        now_ms = self._now_ms()
        return Instant(EPOCH_MS + now_ms, now_ms)

    def wall_ms(self) -> int:
        return EPOCH_MS + self._now_ms()

    def _now_ms(self) -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop), "virtual time is that of a virtual loop"
        return loop.now_ms


def run_in_virtual_time(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Runs to its end; fails if it leaves tasks behind."""
    loop = VirtualLoop()
    try:
        result = loop.run_until_complete(coroutine)
        assert not asyncio.all_tasks(loop), "tasks were left behind"
        return result
    finally:
        loop.close()


def run_work(
    future: asyncio.Future[Result],
    func: Callable[[Unpack[Arguments]], Result],
    args: tuple[*Arguments],
) -> None:
    if future.cancelled():
        return
    try:
        future.set_result(func(*args))
    except BaseException as error:  # noqa: BLE001 - whatever it is, the caller has it
        future.set_exception(error)
