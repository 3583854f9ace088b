"""The line that says how long a catch-up still takes. Pure: the figures of micro-batches come in, a line of text comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

LONG_MS: Final = 3_000
"""A catch-up that takes less is not worth a line."""
_BAR_CHARS: Final = 20


@dataclass(slots=True)
class _Course:
    """One sub-topology since it was last at the end of its topics."""

    began_ms: int
    done: int = 0
    left: int = 0

    def left_ms(self, now_ms: int) -> float:
        """The time that is left at the speed so far."""
        return self.left * (now_ms - self.began_ms) / self.done if self.done else 0


@dataclass(frozen=True, slots=True)
class MicroBatchFigures:
    """The figures of a micro-batch: records `done`, and `left` behind it."""

    sub_topology: int
    done: int
    left: int
    duration_ms: int


@dataclass(slots=True)
class CatchUp:
    """All sub-topologies of an application; the line is of the one that has the longest way to go."""

    application_id: str
    _courses: dict[int, _Course] = field(default_factory=dict)
    _is_shown: bool = False

    def take(self, batch: MicroBatchFigures, now_ms: int) -> str:
        """Takes a micro-batch that has just ended. Returns the line to show now; empty where there is none."""
        began_ms = now_ms - batch.duration_ms
        course = self._courses.setdefault(batch.sub_topology, _Course(began_ms))
        course.done += batch.done
        course.left = batch.left
        if course.left == 0:
            del self._courses[batch.sub_topology]
        if not self._courses:
            self._is_shown = False
            return ""
        number = max(self._courses, key=lambda each: self._courses[each].left_ms(now_ms))
        slowest = self._courses[number]
        self._is_shown = self._is_shown or slowest.left_ms(now_ms) >= LONG_MS
        return self._line(number, slowest, now_ms) if self._is_shown else ""

    def _line(self, number: int, course: _Course, now_ms: int) -> str:
        share = course.done / (course.done + course.left)
        full = int(share * _BAR_CHARS)
        speed = course.done * 1000 / max(1, now_ms - course.began_ms)
        return (
            f"{self.application_id}, sub-topology {number}: [{'#' * full}{' ' * (_BAR_CHARS - full)}] {int(share * 100)} %, "
            f"{speed:,.0f} records/s, {_in_words(course.left_ms(now_ms))} left"
        )


def _in_words(time_ms: float) -> str:
    seconds = round(time_ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"
