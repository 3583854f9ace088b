"""Says which directories of tasks may go: those of tasks that this instance has not had for state.cleanup.delay.ms.

Pure.

A task that returns soon finds its stores. Nothing goes until the instance has run for the delay: what is there at its
start may be given to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final


class ObsoleteTasks:
    """Remembers when tasks were here last. Times are monotonic. Directories are known by their names."""

    def __init__(self, delay_ms: int, now_ms: int) -> None:
        self.delay_ms: Final = delay_ms
        self._started_ms = now_ms
        self._owned: AbstractSet[str] = frozenset()
        self._owned_until_ms: dict[str, int] = {}

    def note(self, owned: AbstractSet[str], now_ms: int) -> None:
        """Takes note of the tasks that the instance has now."""
        self._owned_until_ms |= dict.fromkeys(self._owned | owned, now_ms)
        self._owned = owned

    def names(self, present: Iterable[str], now_ms: int) -> list[str]:
        """Returns those of the directories that may go."""
        return [
            name
            for name in present
            if name not in self._owned
            and now_ms - self._owned_until_ms.get(name, self._started_ms) >= self.delay_ms
        ]
