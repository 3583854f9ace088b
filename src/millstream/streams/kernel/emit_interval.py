"""The pace of results that wait for stream time: once an interval of the wall clock.

Looking for closed windows costs a scan of a store; Kafka Streams' threads look once a second.
"""

from __future__ import annotations

from typing import Final

FINAL_EMIT: Final = "window-aggregate-final-emit"
"""What the metric of rows given out on window close is called."""


class EmitInterval:
    """Of one operator, or of the two sides of a join. An interval of 0 is always over."""

    __slots__ = ("_interval_ms", "_next_ms")

    def __init__(self, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self._next_ms = 0

    @property
    def is_always_over(self) -> bool:
        return self._interval_ms == 0

    def is_over(self, now_ms: int) -> bool:
        """Whether the time to look has come; the next interval then begins."""
        if now_ms < self._next_ms:
            return False
        self._next_ms = now_ms + self._interval_ms
        return True
