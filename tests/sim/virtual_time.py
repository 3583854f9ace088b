"""An asyncio loop whose clock stands still while anything runs, and jumps to the next timer when nothing does.

What takes minutes on a wall clock takes the time of its callbacks here, and always goes the same way. A loop that waits
without a timer would wait for ever: that is an error.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everybody waits, and nobody for a timer")
        if timeout > 0:
            self._jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__(_JumpingSelector(self._jump))

    def time(self) -> float:
        return self.now_s

    @property
    def now_ms(self) -> int:
        return round(self.now_s * 1000)

    def _jump(self, seconds: float) -> None:
        self.now_s += seconds


def run_in_virtual_time(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Runs to its end; fails if it leaves tasks behind."""
    loop = VirtualLoop()
    try:
        result = loop.run_until_complete(coroutine)
        assert not asyncio.all_tasks(loop), "tasks were left behind"
        return result
    finally:
        loop.close()
