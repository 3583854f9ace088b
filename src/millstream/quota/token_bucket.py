"""A bucket of tokens that fills at the rate of a quota, and one request that is charged with the changes of metadata
that it makes (KIP-599).

What is taken while it is not empty is taken whole. Nothing is taken before a request has been planned for good: a
plan may be made again.
"""

from __future__ import annotations

from typing import final

from millstream.errors import ThrottlingQuotaExceeded
from millstream.quota.rate import THROTTLE_TIME_MAX_MS, QuotaWindows, whole_ms


def refill_time_ms(tokens: float, per_second: float) -> int:
    """Returns the time until there are no less than zero tokens, if nothing is taken."""
    if not tokens < 0:  # nor where the quota is no number
        return 0
    if per_second <= 0:
        return THROTTLE_TIME_MAX_MS
    return whole_ms(-tokens / per_second * 1_000)


@final
class TokenBucket:
    """Full at the beginning. Times are milliseconds that never go back."""

    def __init__(self, per_second: float, windows: QuotaWindows, now_ms: int) -> None:
        self._windows_s = windows.count * windows.size_ms / 1_000
        self.per_second = per_second
        self._tokens = self._burst
        self._filled_at_ms = now_ms

    @property
    def _burst(self) -> float:
        return self._windows_s * self.per_second

    def change_rate(self, per_second: float) -> None:
        """Fills at another rate, also for the time since it was asked last, as Kafka's does.

        What is above the new burst is lost.
        """
        self.per_second = per_second

    def tokens(self, now_ms: int) -> float:
        """Returns how many there are; below zero: more were taken than there were."""
        self._fill(now_ms)
        return self._tokens

    def take(self, count: float, now_ms: int) -> None:
        self._fill(now_ms)
        self._tokens = min(self._burst, self._tokens - count)

    def throttle_time_ms(self, now_ms: int) -> int:
        """Returns the time until there are no less than zero, if nothing is taken."""
        return refill_time_ms(self.tokens(now_ms), self.per_second)

    def _fill(self, now_ms: int) -> None:
        added = self.per_second * (now_ms - self._filled_at_ms) / 1_000
        self._tokens = min(self._burst, self._tokens + added)
        self._filled_at_ms = now_ms


@final
class MutationCharge:
    """A partition that is created or deleted takes a token."""

    def __init__(self, tokens: float, per_second: float, *, is_strict: bool) -> None:
        """`tokens`: what is in the bucket, which fills with `per_second`.

        `is_strict`: what comes when it is overdrawn is refused.

        Clients from before KIP-599, which do not know the error, have it done and wait afterwards.
        """
        self._tokens = tokens
        self._per_second = per_second
        self._is_strict = is_strict
        self.taken = 0
        self.throttle_time_ms = 0
        """How long the client has to wait; one whose version knows the error waits only where something was refused."""

    def take(self, partitions: int) -> None:
        """Raises ThrottlingQuotaExceeded where the request is refused."""
        if self._is_strict and self._tokens < 0:
            self.throttle_time_ms = refill_time_ms(self._tokens, self._per_second)
            raise ThrottlingQuotaExceeded
        self._tokens -= partitions
        self.taken += partitions
        if not self._is_strict:
            self.throttle_time_ms = refill_time_ms(self._tokens, self._per_second)
