"""Notes why connections are closed, so that a client that comes again and again, or a flood of them, fills no log.

A line says it at once; then it is silent about that address and that reason for ten minutes. Reasons may
quote what a client sent, so there are only so many lines in that time, and fewer of one address. What is not told is
logged at DEBUG, and the metrics of failed logins count it. A refused guess of a password is told each time: it is
evidence, and whoever guesses waits before each.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from millstream.quoting import counted

_LOGGER = logging.getLogger(__name__)
_AGAIN_MS: Final = 600_000
"""What goes on is told again after ten minutes, as failures are (`failure_log`)."""
_LINES_MAX: Final = 100
"""Ours: in that time."""
_LINES_OF_HOST_MAX: Final = 5
"""Ours: so one client that makes up reasons takes no line from others."""
_REMEMBERED_MAX: Final = 1_000
"""Ours: addresses with their reasons; of more than that the oldest is forgotten, and told again."""


@dataclass(slots=True)
class _Told:
    at_ms: int
    since_told: int = 0


@final
class Closings:
    """Everything runs on one loop."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._told: OrderedDict[tuple[str, str], _Told] = OrderedDict()
        self._lines_since_ms: int | None = None
        self._lines: Counter[str] = Counter()
        """By address, of these ten minutes: no more addresses than there may be lines."""
        self._said: set[str] = set()
        """Of which addresses it was said that they have had their lines; an empty one stands for all of them."""

    def note(self, host: str, reason: str) -> str | None:
        """Returns what to add to the line that says it: nothing, or how often it was left out.

        None: it is left out this time, too.
        """
        now_ms = self._now_ms()
        told = self._told.get((host, reason))
        is_due = told is None or now_ms - told.at_ms >= _AGAIN_MS
        if not is_due or not self._may_tell(host, now_ms):
            if told is not None:
                told.since_told += 1
            return None
        self._told[host, reason] = _Told(now_ms)
        self._told.move_to_end((host, reason))
        if len(self._told) > _REMEMBERED_MAX:
            self._told.popitem(last=False)
        if told is None or not told.since_told:
            return ""
        return f" ({counted(told.since_told, 'other')} since it was told)"

    def _may_tell(self, host: str, now_ms: int) -> bool:
        """Whether there may be another line, which is counted then."""
        if self._lines_since_ms is None or now_ms - self._lines_since_ms >= _AGAIN_MS:
            self._lines_since_ms = now_ms
            self._lines.clear()
            self._said.clear()
        if self._lines.total() >= _LINES_MAX:
            self._say_once(
                "", "very many connections are closed, for many reasons or from many addresses"
            )
            return False
        if self._lines[host] >= _LINES_OF_HOST_MAX:
            self._say_once(host, f"connections from {host} are closed for many reasons")
            return False
        self._lines[host] += 1
        return True

    def _say_once(self, whose: str, what: str) -> None:
        if whose not in self._said:
            self._said.add(whose)
            _LOGGER.warning("%s: for ten minutes DEBUG alone says which", what)
