"""The usages of those who are counted, in the order in which they took something last.

Who takes nothing for an hour is forgotten, as by Kafka. Clients make up client ids, and an address of version 6 has
many neighbours: so only so many are known at a time, of which Kafka has no bound.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Final, Generic, TypeVar

_INACTIVE_MS: Final = 3_600_000
"""Kafka's `InactiveSensorExpirationTimeSeconds`."""
COUNTED_MAX: Final = 10_000
"""Some 10 MB. Those that took nothing for the longest time are forgotten first."""

CountedT = TypeVar("CountedT", bound=Hashable)
UsageT = TypeVar("UsageT")


class Usages(Generic[CountedT, UsageT]):
    """The usages by who is counted. Times are milliseconds that never go back."""

    def __init__(self, counted_max: int = COUNTED_MAX) -> None:
        self._counted_max = counted_max
        self._known: OrderedDict[CountedT, tuple[UsageT, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, counted: CountedT) -> UsageT | None:
        found = self._known.get(counted)
        return None if found is None else found[0]

    def put(self, counted: CountedT, usage: UsageT, now_ms: int) -> None:
        """Notes that `counted` has taken something now."""
        self._known[counted] = usage, now_ms
        self._known.move_to_end(counted)
        while len(self._known) > self._counted_max or self._oldest_ms() <= now_ms - _INACTIVE_MS:
            self._known.popitem(last=False)

    def forget(self, counted: CountedT) -> None:
        self._known.pop(counted, None)

    def latest(self) -> Iterator[tuple[CountedT, UsageT]]:
        """Yields who took something last first. Nothing may be put meanwhile."""
        for counted, (usage, _) in reversed(self._known.items()):
            yield counted, usage

    def _oldest_ms(self) -> int:
        return next(iter(self._known.values()))[1]
