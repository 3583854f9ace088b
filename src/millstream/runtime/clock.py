"""The interface to clocks that cores use."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Instant(NamedTuple):
    """One reading of both clocks: the wall clock stamps data, the monotonic clock measures waits."""

    wall_ms: int
    """Milliseconds since 1970-01-01 UTC; may jump."""
    monotonic_ms: int
    """Milliseconds since an arbitrary start; never goes back."""


class Clock(Protocol):
    def now(self) -> Instant: ...

    def wall_ms(self) -> int:
        """Returns the same as `now().wall_ms`, for callers that ask for each record."""
        ...
