"""Limits how fast one server of a node accepts connections: of all its listeners, of each,
and of each address (KIP-612).

Rates and times are those of Kafka's ConnectionQuotas. Above the rate of all, or of its listener, a connection waits to
be accepted, one window at most. Above the rate of its address it is counted for nobody, waits, and is closed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import final

from millstream.broker.metrics.recent_values import RecentValues
from millstream.broker.quotas.throttled_clients import Held, QuotaKind, ThrottledClients
from millstream.quota.client_quotas import Counted
from millstream.quota.rate import QuotaWindows, Rate, throttle_time_ms
from millstream.quota.usages import Usages
from millstream.security.principal import host_text

_NO_CLIENT = Counted("", "")


@dataclass(slots=True)
class _Listener:
    accepted: Rate
    waits_ms: RecentValues = field(default_factory=RecentValues)
    waits_of_addresses_ms: RecentValues = field(default_factory=RecentValues)


@final
class ConnectionQuotas:
    """Implements `net.server.admission.ConnectionRates`. Times are milliseconds that never go back."""

    def __init__(self, windows: QuotaWindows) -> None:
        self._windows = windows
        self._of_all = Rate(windows)
        self._listeners: defaultdict[str, _Listener] = defaultdict(lambda: _Listener(Rate(windows)))
        self._addresses: Usages[str, Rate] = Usages()
        self._limits: dict[str, float] = {}
        """By address."""
        self._default_limit: float | None = None
        self.throttled = ThrottledClients()

    def use(self, limits: Mapping[str | None, float]) -> None:
        """Takes over the quotas of addresses; None is that of all without one of their own."""
        self._default_limit = limits.get(None)
        self._limits = {
            host_text(address): limit for address, limit in limits.items() if address is not None
        }

    def record(
        self, listener_name: str, of_all_max: float | None, of_listener_max: float, now_ms: int
    ) -> int:
        """Counts a connection, and returns how long it waits to be accepted.

        `of_all_max` None: it counts for its listener alone.
        """
        wait_ms = 0
        if of_all_max is not None:
            wait_ms = self._recorded(self._of_all, of_all_max, now_ms)
        listener = self._listeners[listener_name]
        wait_ms = max(wait_ms, self._recorded(listener.accepted, of_listener_max, now_ms))
        if wait_ms:
            listener.waits_ms.observe(wait_ms, now_ms)
        return wait_ms

    def record_address(
        self, listener_name: str, host: str, now_ms: int, *, counts_for_all: bool
    ) -> int:
        """Counts a connection of an address. Returns after how long it is closed; 0: it may stay."""
        if self._default_limit is None and not self._limits:
            return 0
        address = host_text(host)
        limit = self._limit(address)
        if limit is None:
            return 0
        rate = self._addresses.get(address) or Rate(self._windows)
        self._addresses.put(address, rate, now_ms)
        wait_ms = self._recorded(rate, limit, now_ms)
        if wait_ms:
            listener = self._listeners[listener_name]
            listener.waits_of_addresses_ms.observe(wait_ms, now_ms)
            counted = [rate, listener.accepted]
            if counts_for_all:
                counted.append(self._of_all)
            for each in counted:
                each.record(-1, now_ms)
            held = Held(QuotaKind.CONNECTION, _NO_CLIENT, address)
            self.throttled.note(held, limit, wait_ms, now_ms)
        return wait_ms

    # What metrics tell

    def accepted_per_second(self, now_ms: int) -> float:
        """Returns the rate of all listeners."""
        return self._of_all.per_second(now_ms)

    def listeners(self) -> Iterator[tuple[str, Rate, RecentValues, RecentValues]]:
        """Yields each listener with its rate, the waits for it, and those of addresses."""
        for name, of_listener in self._listeners.items():
            yield (
                name,
                of_listener.accepted,
                of_listener.waits_ms,
                of_listener.waits_of_addresses_ms,
            )

    def addresses(self) -> Iterator[tuple[str, Rate]]:
        """Yields the rates of addresses with a quota, the latest first."""
        return (each for each in self._addresses.latest() if self._limit(each[0]) is not None)

    def _limit(self, address: str) -> float | None:
        return self._limits.get(address, self._default_limit)

    def _recorded(self, rate: Rate, limit: float, now_ms: int) -> int:
        rate.record(1, now_ms)
        return throttle_time_ms(rate, limit, now_ms, self._windows.size_ms)
