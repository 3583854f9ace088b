"""Decides whether one more connection may be accepted: by how many there are, from whom, and how fast they come. Knows no socket.

Too many from one address: the connection is closed at once. Too many in all, or too fast: it waits to be accepted, as in Kafka, so
that a client that comes at a bad moment is slowed down and not turned away.
"""

from __future__ import annotations

from collections import Counter

from millstream.net.server.limits import ConnectionLimits
from millstream.quoting import counted


class Admission:
    """Decides on new connections. Times are monotonic milliseconds."""

    def __init__(self, limits: ConnectionLimits, now_ms: int) -> None:
        self._limits = limits
        self._per_host: Counter[str] = Counter()
        self._count = 0
        self._allowance = float(limits.connections_per_second_max)
        """Connections that may come at once; grows with time up to those of one second."""
        self._counted_ms = now_ms

    @property
    def is_full(self) -> bool:
        return self._count >= self._limits.connections_max

    def change_limits(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._allowance = min(self._allowance, limits.connections_per_second_max)

    def wait_ms(self, now_ms: int) -> int:
        """Returns the milliseconds that the next connection has to wait because others came just before it."""
        rate = self._limits.connections_per_second_max
        if rate == 0:
            return 1_000
        grown = (now_ms - self._counted_ms) * rate / 1_000
        self._allowance = min(float(rate), self._allowance + grown)
        self._counted_ms = now_ms
        return 0 if self._allowance >= 1 else int((1 - self._allowance) * 1_000 / rate) + 1

    def refusal(self, host: str) -> str | None:
        """Returns the reason why a connection from `host` must be closed; None when it may stay."""
        limit = self._limits.connections_per_host_overrides.get(
            host, self._limits.connections_per_host_max
        )
        if self._per_host[host] < limit:
            return None
        return f"its address has {counted(limit, 'connection')} already (max.connections.per.ip)"

    def admit(self, host: str) -> None:
        self._per_host[host] += 1
        self._count += 1
        self._allowance -= 1

    def leave(self, host: str) -> None:
        self._per_host[host] -= 1
        self._count -= 1
        if not self._per_host[host]:
            del self._per_host[host]
