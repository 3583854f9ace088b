"""Exponential backoff with jitter (KIP-580)."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.runtime import Random

_JITTER = 0.2
"""Java's (`CommonClientConfigs.RETRY_BACKOFF_JITTER`)."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits double from `initial_ms` to `max_ms`, each spread by 20 % so that clients do not move in step."""

    initial_ms: int
    max_ms: int

    def delay_ms(self, failures: int, random: Random) -> int:
        """Returns the wait after the `failures`-th failure in a row (1 = the first)."""
        assert failures > 0, "a backoff follows a failure"
        exponent = min(failures - 1, 32)
        plain = min(self.initial_ms * 2**exponent, max(self.initial_ms, self.max_ms))
        return int(plain * (1 - _JITTER + 2 * _JITTER * random.random()))
