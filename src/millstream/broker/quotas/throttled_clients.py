"""Notes who is held back by quotas: for the metrics, and for an operator who reads the log.

A line says who waits, for which quota, for how long, and what gives it more; then it is silent about that one for ten
minutes. Clients make up their ids, so only so many different ones are told of in ten minutes.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, final

from millstream.broker.metrics.recent_values import RecentValues
from millstream.quota.client_quotas import Counted
from millstream.quota.usages import Usages
from millstream.quoting import shortened

_LOGGER = logging.getLogger(__name__)
_AGAIN_MS: Final = 600_000
"""Who is still held back is told again after ten minutes, as failures are (`failure_log`)."""
_LINES_MAX: Final = 20
"""In that time. The metrics tell of the others."""


class QuotaKind(StrEnum):
    """The quotas of clients, by their keys."""

    PRODUCE = "producer_byte_rate"
    FETCH = "consumer_byte_rate"
    REQUEST = "request_percentage"
    CONTROLLER_MUTATION = "controller_mutation_rate"
    CONNECTION = "connection_creation_rate"


class Held(NamedTuple):
    """Those whom one quota holds back together."""

    kind: QuotaKind
    counted: Counted
    address: str = ""
    """Of quotas of addresses."""


@dataclass(slots=True)
class Throttling:
    """The waits of one of them."""

    waits_ms: RecentValues = field(default_factory=RecentValues)
    told_at_ms: int | None = None
    since_told: int = 0
    longest_ms: int = 0


@final
class ThrottledClients:
    """Notes whoever is held back. Times are milliseconds that never go back."""

    def __init__(self) -> None:
        self._throttled: Usages[Held, Throttling] = Usages()
        self.counts: dict[QuotaKind, int] = dict.fromkeys(QuotaKind, 0)
        """How often anybody was held back."""
        self._lines_since_ms: int | None = None
        self._lines = 0

    def note(self, held: Held, limit: float, wait_ms: int, now_ms: int) -> None:
        """Notes that a request, or a connection, of `held` has to wait for so long."""
        self.counts[held.kind] += 1
        throttling = self._throttled.get(held) or Throttling()
        self._throttled.put(held, throttling, now_ms)
        throttling.waits_ms.observe(wait_ms, now_ms)
        throttling.longest_ms = max(throttling.longest_ms, wait_ms)
        throttling.since_told += 1
        told_at_ms = throttling.told_at_ms
        if told_at_ms is None or now_ms - told_at_ms >= _AGAIN_MS:
            if self._may_tell(now_ms):
                _LOGGER.info("%s", _sentence(held, limit, wait_ms, throttling))
            throttling.told_at_ms = now_ms
            throttling.since_told = throttling.longest_ms = 0

    def average_ms(self, held: Held, now_ms: int) -> float:
        """Returns how long its requests had to wait lately; 0 where none had to."""
        found = self._throttled.get(held)
        return 0.0 if found is None else found.waits_ms.average(now_ms)

    def _may_tell(self, now_ms: int) -> bool:
        if self._lines_since_ms is None or now_ms - self._lines_since_ms >= _AGAIN_MS:
            self._lines_since_ms, self._lines = now_ms, 0
        self._lines += 1
        if self._lines == _LINES_MAX + 1:
            _LOGGER.info(
                "more clients are held back by quotas: the throttle-time metrics tell whom"
            )
        return self._lines <= _LINES_MAX


def _sentence(held: Held, limit: float, wait_ms: int, throttling: Throttling) -> str:
    before = ""
    if throttling.since_told > 1:
        before = f" ({throttling.since_told} times since it was told, {throttling.longest_ms} ms at most)"
    return (
        f"{_who(held)} is held back for {wait_ms} ms{before}: above its quota {held.kind} of {_number(limit)}. "
        f"More for it: kafka-configs.sh --alter {_entity(held)} --add-config {held.kind}=NUMBER"
    )


def _number(limit: float) -> str:
    return str(int(limit)) if limit == int(limit) else str(limit)


def _who(held: Held) -> str:
    if held.address:
        return f"address {held.address}"
    user, client_id = (shortened(part) for part in held.counted)
    return " with ".join(
        [
            *([f"user {user!r}"] if user else []),
            *([f"client id {client_id!r}"] if client_id else []),
        ]
    )


def _entity(held: Held) -> str:
    """Returns the options that name it for the tool.

    Names come from clients: they are quoted, and one with a line break breaks no line.
    """
    if held.address:
        return f"--entity-type ips --entity-name {held.address}"
    types = (("users", held.counted.user), ("clients", held.counted.client_id))
    return " ".join(
        f"--entity-type {kind} --entity-name {_argument(name)}" for kind, name in types if name
    )


def _argument(name: str) -> str:
    import shlex  # for the few lines of a log alone

    return shlex.quote(shortened(name)) if name.isprintable() else "NAME"
