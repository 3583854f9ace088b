"""A rate over the last windows, measured as Kafka measures it (`Rate` and `SimpleRate` over `WindowedSum`):
throttle times follow from it.

    record -> the sample of this window grows, or a new one begins
    per_second -> all samples / the time since the first of them began, and all windows but one count as passed

So the first records of a client are spread over the windows that came before: a burst is free as long as the
average is within the quota. Where a rate is `simple`, as that of replication is, no time counts before the
first sample but that of one window.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, final

THROTTLE_TIME_MAX_MS: Final = (1 << 31) - 1
"""The largest that answers can tell, where no time is long enough."""


@dataclass(frozen=True, slots=True)
class QuotaWindows:
    """Kafka's `quota.window.num` and `quota.window.size.seconds`, and those of other quotas."""

    count: int = 11
    size_ms: int = 1_000


@dataclass(slots=True)
class _Sample:
    start_ms: int
    last_ms: int
    value: float


@final
class Rate:
    """The values a second of the last windows. Times are milliseconds that never go back."""

    def __init__(self, windows: QuotaWindows, *, is_simple: bool = False) -> None:
        self._windows = windows
        self._is_simple = is_simple
        self._samples: deque[_Sample] = deque()

    def record(self, value: float, now_ms: int) -> None:
        """Adds a value; one below zero takes back what was added."""
        windows, samples = self._windows, self._samples
        if not samples or now_ms - samples[-1].start_ms >= windows.size_ms:
            samples.append(_Sample(now_ms, now_ms, 0.0))
            # One more than the windows is kept: the oldest may still overlap them.
            if len(samples) > windows.count + 1:
                samples.popleft()
        samples[-1].value += value
        samples[-1].last_ms = now_ms

    def per_second(self, now_ms: int) -> float:
        self._forget(now_ms)
        # In Kafka's order: the last bit decides where half a millisecond is rounded.
        return sum(sample.value for sample in self._samples) / (self.elapsed_ms(now_ms) / 1_000)

    def elapsed_ms(self, now_ms: int) -> int:
        """Returns the time that the rate is an average over."""
        self._forget(now_ms)
        size_ms = self._windows.size_ms
        elapsed_ms = now_ms - self._samples[0].start_ms if self._samples else 0
        if self._is_simple:
            return max(elapsed_ms, size_ms)
        missing = self._windows.count - 1 - elapsed_ms // size_ms
        return elapsed_ms + max(0, missing) * size_ms

    def ms_until(self, per_second: float, now_ms: int) -> float:
        """Returns how long it takes until the rate is no more than `per_second`, if nothing is recorded.

        For one that is simple.
        """
        self._forget(now_ms)
        needed_ms = sum(sample.value for sample in self._samples) * 1_000 / per_second
        if needed_ms <= self._windows.size_ms:
            return 0.0
        return max(0.0, needed_ms - (now_ms - self._samples[0].start_ms))

    def _forget(self, now_ms: int) -> None:
        """Drops samples whose last value has left the windows.

        Kafka starts them anew at `now_ms` instead: a sample that is empty and has just begun. It
        makes no difference here, since they are not older than those that are left, and where none
        is left the missing windows count as passed.
        """
        age_ms = self._windows.count * self._windows.size_ms
        while self._samples and now_ms - self._samples[0].last_ms >= age_ms:
            self._samples.popleft()


def throttle_time_ms(rate: Rate, quota: float, now_ms: int, max_ms: int | None = None) -> int:
    """Returns how long nothing may be recorded until the average is back at the quota, `max_ms` at most; 0
    where it is not above it.
    """
    per_second = rate.per_second(now_ms)
    if not per_second > quota:  # nor where the quota is no number, which Kafka's controllers take
        return 0
    if quota <= 0:
        # No time brings a rate to nothing; Kafka divides by zero and waits 2,147,483,647 ms.
        wait_ms = THROTTLE_TIME_MAX_MS
    else:
        wait_ms = whole_ms((per_second - quota) / quota * rate.elapsed_ms(now_ms))
    return min(wait_ms, THROTTLE_TIME_MAX_MS if max_ms is None else max_ms)


def whole_ms(wait_ms: float) -> int:
    """Returns a time that an answer can tell. Of a quota next to nothing it comes to infinity."""
    return int(wait_ms + 0.5) if wait_ms < THROTTLE_TIME_MAX_MS else THROTTLE_TIME_MAX_MS
