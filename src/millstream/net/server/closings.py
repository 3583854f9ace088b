"""Notes why connections are closed, so that a client that comes again and again, or a flood of them, fills no log.

A line says it at once; then it is silent about that address and that reason for ten minutes. Reasons may
quote what a client sent, so only so many different ones are told of in that time. What is not told is logged
at DEBUG, and the metrics of failed logins count it. A refused guess of a password is told each time: it is
evidence, and whoever guesses waits before each.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from millstream.quoting import counted

_LOGGER = logging.getLogger(__name__)
_AGAIN_MS: Final = 600_000
"""What goes on is told again after ten minutes, as failures are (`failure_log`)."""
_LINES_MAX: Final = 100
"""In that time."""
_REMEMBERED_MAX: Final = 1_000
"""Addresses with their reasons; of more than that the oldest is forgotten, and told again."""


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
        self._lines = 0

    def note(self, host: str, reason: str) -> str | None:
        """Returns what to add to the line that says it: nothing, or how often it was left out.

        None: it is left out this time, too.
        """
        now_ms = self._now_ms()
        told = self._told.get((host, reason))
        if told is not None and now_ms - told.at_ms < _AGAIN_MS:
            told.since_told += 1
            return None
        self._told[host, reason] = _Told(now_ms)
        self._told.move_to_end((host, reason))
        if len(self._told) > _REMEMBERED_MAX:
            self._told.popitem(last=False)
        if not self._may_tell(now_ms):
            return None
        if told is None or not told.since_told:
            return ""
        return f" ({counted(told.since_told, 'other')} since it was told)"

    def _may_tell(self, now_ms: int) -> bool:
        if self._lines_since_ms is None or now_ms - self._lines_since_ms >= _AGAIN_MS:
            self._lines_since_ms, self._lines = now_ms, 0
        self._lines += 1
        if self._lines == _LINES_MAX + 1:
            _LOGGER.warning(
                "very many connections are closed, for many reasons or from many addresses: for ten minutes DEBUG alone says which"
            )
        return self._lines <= _LINES_MAX
