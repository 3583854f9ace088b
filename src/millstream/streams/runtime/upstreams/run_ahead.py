"""Says how many records a task has processed beyond the time that the slowest of its like has reached (ADR 0021).

Pure.
"""

from __future__ import annotations

from collections import deque
from typing import Final

RUN_AHEAD_RECORDS: Final = 50_000
"""What downstream tasks hold in memory meanwhile. Fewer would have tasks wait for each other at every fetch, which is
some 10,000 small records."""
CHECKED_RECORDS: Final = RUN_AHEAD_RECORDS // 5
"""After so many a task looks anew how far the others are, so it may be that many further ahead."""
_NOTES_MAX: Final = 1_024
"""What is kept in memory for a task is bounded; half as exact is exact enough for RUN_AHEAD_RECORDS."""


class RunAhead:
    """Of one task."""

    def __init__(self) -> None:
        self._processed = self._checked = 0
        self._before = 0
        """The number of records that had been processed before those of the first note."""
        self._notes: deque[tuple[int, int]] = deque()
        """Origin times, each with the number of records that had been processed when the task had reached it."""

    def note(self, records: int, origin_time: int) -> None:
        """Notes a round of the task."""
        if not records:
            return
        self._processed += records
        if self._notes and self._notes[-1][0] == origin_time:
            self._notes.pop()
        self._notes.append((origin_time, self._processed))
        if (
            len(self._notes) > _NOTES_MAX
        ):  # half as exact, but for the first, from which is counted, and the last
            *before, last = self._notes
            self._notes = deque([*before[::2], last])

    def maybe_check(self) -> bool:
        """Whether it has processed so much since the last time that this was so that
        somebody has to look at the others.
        """
        is_due = self._processed - self._checked >= CHECKED_RECORDS
        if is_due:
            self._checked = self._processed
        return is_due

    def beyond(self, slowest: int) -> int:
        """Returns the number of records processed since the task had reached this time, at which the slowest is.

        It is smaller where one is behind the slowest of before: what was processed until then is not known any more.
        """
        while len(self._notes) > 1 and self._notes[1][0] <= slowest:
            self._before = self._notes.popleft()[1]
        if not self._notes or self._notes[-1][0] <= slowest:
            return 0
        first = self._notes[0]
        return self._processed - (first[1] if first[0] <= slowest else self._before)
