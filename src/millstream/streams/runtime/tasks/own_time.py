"""Tells how long work takes that runs in a thread, without the time for which that thread waits for a processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from millstream.runtime import Clock

SHORT_MS: Final = 5
"""So exact it is: looking at the waits takes 5 µs, as long as some records."""
TIMES_OWN_MAX: Final = 10
"""However busy the machine is, the whole time is taken for so many times the thread's own: the group, commits and the
broker's transaction wait for the end of the work."""
_NS_PER_MS: Final = 1_000_000
_Result = TypeVar("_Result")


class OwnTime:
    """Of one thread at a time. `waited_ns` tells how long the thread that asks has waited for a processor until now."""

    def __init__(self, clock: Clock, waited_ns: Callable[[], int]) -> None:
        self._clock = clock
        self._waited_ns = waited_ns
        self._looked_ms: int | None = None
        """When it has looked the last time."""
        self._waited_ms = 0

    def measure(self, work: Callable[[], _Result]) -> tuple[_Result, int, int]:
        """Does something. Returns what comes out, the thread's own time for it, and the whole time."""
        began_ms = self._now_ms
        if self._looked_ms is None or began_ms - self._looked_ms >= SHORT_MS:
            self._look(began_ms)
        done, before_ms = work(), self._waited_ms
        ended_ms = self._now_ms
        whole_ms = own_ms = ended_ms - began_ms
        if whole_ms >= SHORT_MS:
            self._look(ended_ms)
            own_ms = max(whole_ms - (self._waited_ms - before_ms), whole_ms // TIMES_OWN_MAX)
        return done, own_ms, whole_ms

    def _look(self, now_ms: int) -> None:
        self._looked_ms, self._waited_ms = now_ms, self._waited_ns() // _NS_PER_MS

    @property
    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms
