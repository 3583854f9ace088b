"""A line that is written over and over where a person is looking: on a terminal, or in a notebook.

Never in a file or a log.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final, TextIO


class TerminalLine:
    """A line that covers what it has written before. Not for use by two threads at a time.

    Once the terminal is gone, as after the end of a session, nobody looks: nothing is written any
    more, and nothing raised.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._written = 0
        self._is_gone = False

    def write(self, line: str) -> None:
        """Shows this in place of what it shows; empty leaves nothing behind."""
        if self._is_gone or not (line or self._written):
            return
        try:
            self._stream.write(f"\r{line.ljust(self._written)}" + ("" if line else "\r"))
            self._stream.flush()
        except (OSError, ValueError):  # ValueError: the stream was closed
            self._is_gone = True
        self._written = len(line)


def stream_of_a_person() -> TextIO | None:
    """Returns the stream that a person looks at now; None where there is none."""
    if sys.stderr is not None and sys.stderr.isatty():
        return sys.stderr
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return sys.stdout if type(running).__name__ == "ZMQInteractiveShell" else None


LONG_MS: Final = 3_000
"""What takes less is not worth a line."""
_BAR_CHARS: Final = 20


@dataclass(slots=True)
class Course:
    """Records `done` since it began, and `left`."""

    began_ms: int
    done: int = 0
    left: int = 0

    def left_ms(self, now_ms: int) -> float:
        """Returns the time that is left at the speed so far."""
        return self.left * (now_ms - self.began_ms) / self.done if self.done else 0

    def text(self, now_ms: int) -> str:
        """Returns a bar with the share, the speed and the time that is left."""
        share = self.done / max(1, self.done + self.left)
        full = int(share * _BAR_CHARS)
        speed = self.done * 1000 / max(1, now_ms - self.began_ms)
        return (
            f"[{'#' * full}{' ' * (_BAR_CHARS - full)}] {int(share * 100)} %, "
            f"{speed:,.0f} records/s, {_in_words(self.left_ms(now_ms))} left"
        )


def _in_words(time_ms: float) -> str:
    seconds = round(time_ms / 1000)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"
