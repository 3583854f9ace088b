"""The offset to start at without a committed one, or when the committed one is gone (auto.offset.reset, KIP-1106)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

EARLIEST_TIMESTAMP: Final = -2
LATEST_TIMESTAMP: Final = -1

_BY_DURATION: Final = "by_duration:"
_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AutoOffsetResetStrategy:
    """The start (-2), the end (-1), or the first record at most `ago_ms` old."""

    timestamp: int = LATEST_TIMESTAMP
    ago_ms: int | None = None

    def timestamp_at(self, wall_ms: int) -> int:
        """Returns the timestamp to ask ListOffsets for."""
        return self.timestamp if self.ago_ms is None else max(0, wall_ms - self.ago_ms)


EARLIEST: Final = AutoOffsetResetStrategy(EARLIEST_TIMESTAMP)
LATEST: Final = AutoOffsetResetStrategy(LATEST_TIMESTAMP)


def parse_offset_reset(text: str) -> AutoOffsetResetStrategy | None:
    """Parses earliest, latest, and by_duration:<ISO 8601 of days and below, as PT1H30M>. Returns None for none.

    Raises ValueError.
    """
    name = text.lower()
    if name in ("earliest", "latest", "none"):
        return {"earliest": EARLIEST, "latest": LATEST, "none": None}[name]
    if name.startswith(_BY_DURATION):
        return AutoOffsetResetStrategy(ago_ms=_milliseconds(text[len(_BY_DURATION) :]))
    raise ValueError("it must be earliest, latest, none or by_duration:PT1H and the like")


def _milliseconds(duration: str) -> int:
    found = _DURATION.fullmatch(duration)
    if found is None or not any(found.groups()):
        raise ValueError(f"{duration!r} is not an ISO 8601 duration such as P1D, PT1H or PT90S")
    days, hours, minutes = (int(found[unit] or 0) for unit in ("days", "hours", "minutes"))
    return ((days * 24 + hours) * 60 + minutes) * 60_000 + round(
        float(found["seconds"] or 0) * 1000
    )
