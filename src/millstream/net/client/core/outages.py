"""Addresses that cannot be reached: how long to wait before the next attempt (KIP-580), and when to say so in the log:
soon, then rarely, and once more when it is over.

One failure is no outage: the next address may answer, or the next attempt. The second in a row, or a second of silence,
is worth a warning. Reads no clock, writes no log: gives sentences.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from millstream.runtime import Random

SILENT_MS: Final = 1_000
"""Ours: so long may connecting take before it is mentioned. A lost packet is sent again within it (RFC 6298)."""
_FAILURES_BEFORE_FIRST: Final = 2
"""Ours: one failure is no news."""
_AGAIN_MS: Final = 60_000
"""Ours: an outage is told once a minute, however often it is tried."""


@dataclass(slots=True)
class _Outage:
    since_ms: int
    failures: int = 0
    said_ms: int | None = None


class Outages:
    def __init__(self) -> None:
        self._outages: dict[Hashable, _Outage] = {}

    def failed(self, address: Hashable, reason: str, now_ms: int) -> str | None:
        """An attempt to connect ended with `reason`. The warning to log, if it is time for one."""
        outage = self._outages.setdefault(address, _Outage(now_ms))
        outage.failures += 1
        if outage.failures < _FAILURES_BEFORE_FIRST or not _is_due(outage, now_ms):
            return None
        outage.said_ms = now_ms
        return f"{reason} ({outage.failures} attempts in {_seconds(now_ms - outage.since_ms)}; trying again)"

    def silent(self, address: Hashable, now_ms: int) -> str | None:
        """An attempt has lasted SILENT_MS by now. The warning to log, if it is time for one."""
        outage = self._outages.setdefault(address, _Outage(now_ms - SILENT_MS))
        if not _is_due(outage, now_ms):
            return None
        outage.said_ms = now_ms
        return f"{silence(address, SILENT_MS)}; still waiting"

    def connected(self, address: Hashable, now_ms: int) -> str | None:
        """Returns the line to log, if there had been a warning."""
        outage = self._outages.pop(address, None)
        if outage is None or outage.said_ms is None:
            return None
        return f"connected to {address} after {_seconds(now_ms - outage.since_ms)}"


def silence(address: Hashable, duration_ms: int) -> str:
    """Returns what is said of an address that takes connections, or nothing, and says nothing."""
    return f"no answer from {address} since {_seconds(duration_ms)}"


def _is_due(outage: _Outage, now_ms: int) -> bool:
    return outage.said_ms is None or now_ms - outage.said_ms >= _AGAIN_MS


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.1f} s"


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
