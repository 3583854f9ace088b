"""Says in the log who was refused something, and from where: forms, logins that were not looked at, changes by readers.

Whoever sends them chooses how many there are, so an address has a line a second; the next line says how many had none.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from millstream.console.entrance.failed_logins import network_of
from millstream.console.views.payload import visible
from millstream.quoting import shortened

BETWEEN_LINES_MS: Final = 1_000
ADDRESSES_MAX: Final = 10_000
_LOGGER = logging.getLogger("millstream.console")


@dataclass(slots=True)
class _Said:
    last_ms: int
    left_out: int = 0


class RefusalLog:
    """The refusals of the last moments, by address. Times are given."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        """In the order of their last lines."""

    def say(self, address: str, what: str, why: str, now_ms: int) -> None:
        """Says that `what` was refused. An address is counted as for failed logins."""
        key = network_of(address)
        known = self._said.get(key)
        if known is not None and now_ms - known.last_ms < BETWEEN_LINES_MS:
            known.left_out += 1
            return
        left_out = self._said.pop(key).left_out if known is not None else 0
        more = f" ({left_out:,} more from there before)" if left_out else ""
        _LOGGER.info("%s from %s was refused: %s%s", what, address, one_line(why), more)
        self._said[key] = _Said(now_ms)
        if len(self._said) > ADDRESSES_MAX:
            del self._said[next(iter(self._said))]


def one_line(text: str) -> str:
    """Returns a sentence as the log shows it: names that others chose stand in it, and none begins
    a line of its own.
    """
    return shortened(" ".join(visible(text).split()))
