"""A clock that a test moves."""

from __future__ import annotations

from millstream.runtime import Clock, Instant

START_MS = 1_700_000_000_000


class MovedClock(Clock):
    """Both of its clocks go forward by what `pass_ms` says; the monotonic one begins at 0."""

    def __init__(self) -> None:
        self._passed_ms = 0

    def pass_ms(self, time_ms: int) -> None:
        self._passed_ms += time_ms

    def now(self) -> Instant:
        return Instant(START_MS + self._passed_ms, self._passed_ms)

    def wall_ms(self) -> int:
        return self.now().wall_ms
