"""Shows the line of a catch-up where a person is looking: on a terminal, or in a notebook. Never in a file or a log."""

from __future__ import annotations

import sys
import threading
from typing import TextIO

from millstream.runtime import Clock
from millstream.spark.pipeline.catch_up import CatchUp, MicroBatchFigures
from millstream.spark.pipeline.micro_batches import Progress


class ProgressLine:
    """Writes over the line that it has written before. Several threads may use it."""

    def __init__(self, application_id: str, clock: Clock, stream: TextIO) -> None:
        self._catch_up = CatchUp(application_id)
        self._clock = clock
        self._stream = stream
        self._written = 0
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
            self._write(self._catch_up.take(batch, self._clock.now().monotonic_ms))

    def clear(self) -> None:
        """Leaves nothing behind."""
        with self._lock:
            self._write("")

    def _write(self, line: str) -> None:
        if not (line or self._written):
            return
        self._stream.write(f"\r{line.ljust(self._written)}" + ("" if line else "\r"))
        self._stream.flush()
        self._written = len(line)


def stream_of_a_person() -> TextIO | None:
    """Returns the stream that a person looks at now; None where there is none."""
    if sys.stderr is not None and sys.stderr.isatty():
        return sys.stderr
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return sys.stdout if type(running).__name__ == "ZMQInteractiveShell" else None
