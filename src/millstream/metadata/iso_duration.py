"""Durations as Java's `Duration` reads them: `P1DT2H3M4.5S`, days and smaller, each number with a sign of its own."""

from __future__ import annotations

import re
from typing import Final

_DURATION: Final = re.compile(
    r"(?P<sign>[-+]?)P(?!$)(?:(?P<days>[-+]?[0-9]+)D)?"
    r"(?:T(?!$)(?:(?P<hours>[-+]?[0-9]+)H)?(?:(?P<minutes>[-+]?[0-9]+)M)?"
    r"(?:(?P<seconds>[-+]?[0-9]+)(?:[.,](?P<fraction>[0-9]{0,9}))?S)?)?",
    re.IGNORECASE,
)
_UNIT_SECONDS: Final = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_SECONDS_MAX: Final = (1 << 63) - 1
_NANOSECONDS: Final = 1_000_000_000


def duration_ms(text: str) -> int:
    """Returns a duration in milliseconds, rounded down.

    Raises ValueError, also for more seconds than fit into 64 bits.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text} is no duration: write PnDTnHnMn.nS")
    seconds = 0
    for name, unit in _UNIT_SECONDS.items():
        seconds += _check_64_bits(_check_64_bits(int(found[name] or 0)) * unit)
    nanoseconds = int((found["fraction"] or "").ljust(9, "0"))
    if (found["seconds"] or "").startswith("-"):
        nanoseconds = -nanoseconds
    total = _check_64_bits(seconds) * _NANOSECONDS + nanoseconds
    return (-total if found["sign"] == "-" else total) // 1_000_000


def _check_64_bits(seconds: int) -> int:
    """Raises ValueError."""
    if abs(seconds) > _SECONDS_MAX:
        raise ValueError(f"{seconds} seconds are more than 64 bits hold")
    return seconds
