"""The steps of records through a topology: data for the pictures that `timeline` draws.

Must not draw. One step is one record piped in, or one move of the wall clock, with all that came out of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.streams.serdes import Windowed

TOMBSTONE = "∅"


@dataclass(frozen=True, slots=True)
class TimelineRecord:
    """A record in a topic: one that went in, or one that came out."""

    topic: str
    key: object
    value: object
    timestamp: int

    @property
    def text(self) -> str:
        """The text `key=value`; the picture shows the window of a key."""
        key = self.key.key if isinstance(self.key, Windowed) else self.key
        return f"{shown(key)}={shown(self.value)}"


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `cause`: the record, or the milliseconds that the wall clock moved. `rows`: of the stores asked for."""

    cause: TimelineRecord | int
    results: Sequence[TimelineRecord]
    is_dropped: bool
    rows: Mapping[str, Sequence[TimelineRecord]]

    def result_text(self, result: TimelineRecord) -> str:
        """The time of a result is said where it is not that of the record it comes from."""
        if isinstance(self.cause, TimelineRecord) and self.cause.timestamp == result.timestamp:
            return result.text
        return f"{result.text} @{result.timestamp}"


def shown(value: object) -> str:
    """Returns a key or value as a picture has it."""
    return TOMBSTONE if value is None else str(value)
