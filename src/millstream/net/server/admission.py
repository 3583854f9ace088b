"""Decides whether one more connection may be accepted: by how many there are, from whom, and how fast they come.

Knows no socket.

Too many from one address: the connection is closed at once. Too many in all or at its listener, or too fast: it waits
to be accepted, as in Kafka, so that a client that comes at a bad moment is slowed down and not turned away. Too fast
from one address: it waits, and is closed. The listener of brokers, where there are others beside it, is not kept
waiting by the clients of those (KIP-402).
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Protocol

from millstream.net.server.limits import ConnectionLimits, ListenerLimits
from millstream.quoting import counted

_NONE: Final = ListenerLimits()


class ConnectionRates(Protocol):
    """Measures how fast connections come (KIP-612). Times are monotonic milliseconds."""

    def record(
        self, listener_name: str, of_all_max: float | None, of_listener_max: float, now_ms: int
    ) -> int:
        """Counts a connection, and returns how long it waits to be accepted.

        `of_all_max` None: it counts for its listener alone.
        """
        ...

    def record_address(
        self, listener_name: str, host: str, now_ms: int, *, counts_for_all: bool
    ) -> int:
        """Counts a connection of an address.

        Returns after how long it is closed, and counted for nobody; 0: it may stay.
        """
        ...


class Unmeasured:
    """Measures nothing: whoever comes is let in at once."""

    def record(
        self, listener_name: str, of_all_max: float | None, of_listener_max: float, now_ms: int
    ) -> int:
        del listener_name, of_all_max, of_listener_max, now_ms
        return 0

    def record_address(
        self, listener_name: str, host: str, now_ms: int, *, counts_for_all: bool
    ) -> int:
        del listener_name, host, now_ms, counts_for_all
        return 0


class Admission:
    """Decides on new connections. Times are monotonic milliseconds."""

    def __init__(self, limits: ConnectionLimits, rates: ConnectionRates | None = None) -> None:
        self._limits = limits
        self._rates = Unmeasured() if rates is None else rates
        self._per_host: Counter[str] = Counter()
        self._per_listener: Counter[str] = Counter()
        self._count = 0

    @property
    def is_exceeded(self) -> bool:
        """Whether there are more connections than the limit: those of brokers are let in beyond it (KIP-402)."""
        return self._count > self._limits.connections_max

    def change_limits(self, limits: ConnectionLimits) -> None:
        self._limits = limits

    def is_protected(self, listener_name: str) -> bool:
        """Whether the connections of a listener do not count among those of all."""
        return listener_name == self._limits.protected_listener

    def is_full(self, listener_name: str, without: str | None = None) -> bool:
        """Whether the next connection of a listener has to wait for another one to end.

        `without`: if one of that listener did.
        """
        limits = self._limits
        own = limits.of_listeners.get(listener_name, _NONE).connections_max
        own_count = self._per_listener[listener_name] - (without == listener_name)
        if own_count >= (limits.connections_max if own is None else own):
            return True
        count = self._count - (without is not None)
        return not self.is_protected(listener_name) and count >= limits.connections_max

    def wait_ms(self, listener_name: str, now_ms: int) -> int:
        """Counts a connection that has come, and returns how long it has to wait because others came just before it."""
        limits = self._limits
        of_all = None if self.is_protected(listener_name) else limits.connections_per_second_max
        own = limits.of_listeners.get(listener_name, _NONE).connections_per_second_max
        if own is None:
            own = limits.connections_per_second_max
        return self._rates.record(listener_name, of_all, own, now_ms)

    def expulsion_ms(self, listener_name: str, host: str, now_ms: int) -> int:
        """Returns after how long a connection is closed because its address has sent others just
        before it; 0: it may stay.
        """
        counts_for_all = not self.is_protected(listener_name)
        return self._rates.record_address(
            listener_name, host, now_ms, counts_for_all=counts_for_all
        )

    def refusal(self, host: str) -> str | None:
        """Returns the reason why a connection from `host` must be closed; None when it may stay."""
        limit = self._limits.connections_per_host_overrides.get(
            host, self._limits.connections_per_host_max
        )
        if self._per_host[host] < limit:
            return None
        return f"its address has {counted(limit, 'connection')} already (max.connections.per.ip)"

    def admit(self, listener_name: str, host: str) -> None:
        self._per_host[host] += 1
        self._per_listener[listener_name] += 1
        self._count += 1

    def leave(self, listener_name: str, host: str) -> None:
        self._per_host[host] -= 1
        self._per_listener[listener_name] -= 1
        self._count -= 1
        if not self._per_host[host]:
            del self._per_host[host]
