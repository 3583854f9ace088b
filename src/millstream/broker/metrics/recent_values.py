"""Averages, maxima and rates of the last minute, as Kafka's sensors have them: two windows of 30 seconds, of
which the older one goes.

Observing costs a few operations, whatever is observed how often.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

_WINDOW_MS: Final = 30_000
"""Kafka's default of metrics.sample.window.ms."""
_WINDOWS: Final = 2
"""Kafka's `metrics.sample.window.ms` and `metrics.num.samples`, which a node here cannot be told."""


@dataclass(slots=True)
class _Window:
    begin_ms: int
    count: int = 0
    sum: float = 0
    maximum: float = 0


class RecentValues:
    """The values of the last 30 to 60 seconds. Everything is 0 while there were none."""

    def __init__(self) -> None:
        self._windows: deque[_Window] = deque(maxlen=_WINDOWS)

    def observe(self, value: float, now_ms: int) -> None:
        """Adds a value, which is not negative."""
        if not self._windows or now_ms - self._windows[-1].begin_ms >= _WINDOW_MS:
            self._windows.append(_Window(now_ms))
        window = self._windows[-1]
        window.count += 1
        window.sum += value
        window.maximum = max(window.maximum, value)

    def average(self, now_ms: int) -> float:
        windows = self._recent(now_ms)
        count = sum(window.count for window in windows)
        return sum(window.sum for window in windows) / count if count else 0.0

    def maximum(self, now_ms: int) -> float:
        return max((window.maximum for window in self._recent(now_ms)), default=0.0)

    def per_second(self, now_ms: int) -> float:
        """Returns the sum of the values in a second.

        Less than a whole window counts as one, so that the first value is no peak.
        """
        windows = self._recent(now_ms)
        if not windows:
            return 0.0
        passed_ms = max(now_ms - windows[0].begin_ms, _WINDOW_MS)
        return sum(window.sum for window in windows) * 1000 / passed_ms

    def _recent(self, now_ms: int) -> list[_Window]:
        return [each for each in self._windows if now_ms - each.begin_ms < _WINDOWS * _WINDOW_MS]
