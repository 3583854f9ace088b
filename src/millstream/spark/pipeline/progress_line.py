"""The line that says how long a catch-up still takes, shown where a person is looking: on a terminal, or in a notebook.

Never in a file or a log.

What the line says is decided purely: the figures of micro-batches come in, a line of text comes out.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TextIO

from millstream.runtime import Clock
from millstream.spark.pipeline.micro_batches import Progress
from millstream.streams.progress.terminal_line import LONG_MS, Course, TerminalLine


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
    _courses: dict[int, Course] = field(default_factory=dict)
    _is_shown: bool = False

    def take(self, batch: MicroBatchFigures, now_ms: int) -> str:
        """Takes a micro-batch that has just ended. Returns the line to show now; empty where there is none."""
        began_ms = now_ms - batch.duration_ms
        course = self._courses.setdefault(batch.sub_topology, Course(began_ms))
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
        if not self._is_shown:
            return ""
        return f"{self.application_id}, sub-topology {number}: {slowest.text(now_ms)}"


class ProgressLine:
    """Writes over the line that it has written before. Several threads may use it."""

    def __init__(self, application_id: str, clock: Clock, stream: TextIO) -> None:
        self._catch_up = CatchUp(application_id)
        self._clock = clock
        self._line = TerminalLine(stream)
        self._lock = threading.Lock()

    def take(self, progress: Progress) -> None:
        """Takes a micro-batch that has just ended."""
        with self._lock:
            batch = MicroBatchFigures(
                progress.sub_topology,
                progress.input_records,
                progress.lag,
                progress.duration_ms,
            )
            self._line.write(self._catch_up.take(batch, self._clock.now().monotonic_ms))

    def clear(self) -> None:
        """Leaves nothing behind."""
        with self._lock:
            self._line.write("")
