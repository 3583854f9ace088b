"""A line that is written over and over where a person is looking: on a terminal, or in a notebook.

Never in a file or a log.
"""

from __future__ import annotations

import sys
from typing import TextIO


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
