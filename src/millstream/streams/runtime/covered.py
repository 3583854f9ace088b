"""The input that the stores of a task cover: as a position, and, for a standby, found out, since
changelogs do not tell it. Pure.

What a task has committed is in its changelogs before that. So the offsets of a commit are asked first and the ends of
the changelogs after them: stores that have been restored to these ends cover those offsets.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.streams.queries.result import Position


class CoveredInput:
    """`offsets`: by input topic, the next one that the stores have not seen; empty before it is known."""

    def __init__(self) -> None:
        self.offsets: Mapping[str, int] = {}
        self._next: tuple[Mapping[str, int], Mapping[str, int]] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the stores have yet to come to the ends that were noted."""
        return self._next is not None

    def note(self, committed: Mapping[str, int], ends: Mapping[str, int]) -> None:
        """Takes the offsets of a commit, and the changelogs' ends after it, open transactions included."""
        self._next = committed, ends

    def note_restored(self, offsets: Mapping[str, int]) -> None:
        """Says how far each changelog has been restored."""
        if self._next is None:
            return
        committed, ends = self._next
        if all(offsets.get(topic, 0) >= end for topic, end in ends.items()):
            self.offsets, self._next = committed, None


def last_offsets(next_offsets: Mapping[str, int], partition: int) -> Position:
    """Returns the position of stores that have seen all before these offsets, given by input topic."""
    return {topic: {partition: offset - 1} for topic, offset in next_offsets.items() if offset > 0}
