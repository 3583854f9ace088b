"""Shows the line of a catch-up where a person is looking: on a terminal, or in a notebook. Never in a file or a log."""

from __future__ import annotations

import threading
from typing import TextIO

from millstream.runtime import Clock
from millstream.spark.pipeline.catch_up import CatchUp, MicroBatchFigures
from millstream.spark.pipeline.micro_batches import Progress
from millstream.streams.progress.terminal_line import TerminalLine


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
