"""Punctuations: callbacks of processors on stream time or wall-clock time.

A punctuation fires at most once per check, even after a jump, and then aligns to its interval again (S41).
"""

from __future__ import annotations

from collections.abc import Callable

from millstream.streams.processor import PunctuationType


class Punctuation:
    """One scheduled callback of one node."""

    __slots__ = ("_callback", "_interval_ms", "cancelled", "next_ms", "node")

    def __init__(
        self, node: str, start_ms: int, interval_ms: int, callback: Callable[[int], object]
    ) -> None:
        self.node = node
        self.next_ms = start_ms
        self.cancelled = False
        self._interval_ms = interval_ms
        self._callback = callback

    def cancel(self) -> None:
        self.cancelled = True

    def fire(self, time_ms: int) -> None:
        """Call back with this time; it fires again at the next multiple of the interval, even where the call fails."""
        missed = (time_ms - self.next_ms) // self._interval_ms
        self.next_ms += (missed + 1) * self._interval_ms
        self._callback(time_ms)


class PunctuationQueue:
    """The punctuations of a task on one clock."""

    def __init__(self) -> None:
        self._punctuations: list[Punctuation] = []

    def append(self, punctuation: Punctuation) -> None:
        self._punctuations.append(punctuation)

    def due(self, time_ms: int) -> Punctuation | None:
        """The punctuation that is due first, or None."""
        self._punctuations = [each for each in self._punctuations if not each.cancelled]
        first = min(self._punctuations, key=lambda each: each.next_ms, default=None)
        return first if first is not None and first.next_ms <= time_ms else None


Punctuations = dict[PunctuationType, PunctuationQueue]
