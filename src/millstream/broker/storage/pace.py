"""Limits background copying to a number of bytes a second, over all tasks that copy.

The limit is asked for again and again: it may change during a wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, final

_LOOK_AGAIN_S: Final = 1.0
"""The rate may be changed while it is waited for."""
_NOT_WORTH_IT_S: Final = 1e-6
"""The loop wakes no sooner."""


@final
class Pace:
    def __init__(
        self, bytes_per_second: Callable[[], float], time_s: Callable[[], float] | None = None
    ) -> None:
        """Nothing moves while `bytes_per_second` is 0 or less. `time_s`: the loop's time, unless it is given."""
        self._bytes_per_second = bytes_per_second
        self._time_s = time_s
        self._owed_bytes = 0.0
        self._seen_s = 0.0

    async def maybe_throttle(self, count: int) -> None:
        """Notes that `count` bytes were moved; returns when the next may be. Gives way in any case."""
        self._pay_off()
        self._owed_bytes += count
        await asyncio.sleep(0)
        while (wait_s := self._wait_s()) > 0:  # noqa: ASYNC110 - time pays the bytes off, and no event tells of it
            await asyncio.sleep(min(wait_s, _LOOK_AGAIN_S))

    def _wait_s(self) -> float:
        self._pay_off()
        rate = self._bytes_per_second()
        if rate <= 0:
            return _LOOK_AGAIN_S
        wait_s = self._owed_bytes / rate
        return wait_s if wait_s > _NOT_WORTH_IT_S else 0.0

    def _pay_off(self) -> None:
        now_s = asyncio.get_running_loop().time() if self._time_s is None else self._time_s()
        paid = (now_s - self._seen_s) * max(0.0, self._bytes_per_second())
        self._owed_bytes = max(0.0, self._owed_bytes - paid)
        self._seen_s = now_s
