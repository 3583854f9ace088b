"""A line in the terminal is written over the one before, and shown to people alone."""

from __future__ import annotations

import errno
import io
import sys
from types import ModuleType

import pytest

from millstream.streams.progress.terminal_line import TerminalLine, stream_of_a_person


def test_each_line_covers_the_one_before_and_nothing_is_left_of_the_last() -> None:
    stream = io.StringIO()
    line = TerminalLine(stream)
    line.write("")
    assert stream.getvalue() == "", "nothing was shown"
    for text in ("12345", "123", "", ""):
        line.write(text)
    assert stream.getvalue() == "\r12345\r123  \r   \r"


class GoneTerminal(io.StringIO):
    """What is left of a terminal whose session has ended, or of a stream that was closed."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.attempts = 0

    def write(self, _text: str) -> int:
        self.attempts += 1
        raise self.error


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), ValueError("closed")])
def test_a_terminal_that_is_gone_is_written_to_once_and_fails_nobody(error: Exception) -> None:
    """A restoration that shows its progress would fail with it, as if a disk had refused something."""
    terminal = GoneTerminal(error)
    line = TerminalLine(terminal)
    for text in ("12345", "123", ""):
        line.write(text)
    assert terminal.attempts == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_is_shown_to_people_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert stream_of_a_person() is None
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert stream_of_a_person() is terminal


@pytest.mark.parametrize(
    ("shell", "is_shown"), [("ZMQInteractiveShell", True), ("TerminalInteractiveShell", False)]
)
def test_a_notebook_shows_it_among_its_output(
    monkeypatch: pytest.MonkeyPatch, shell: str, is_shown: bool
) -> None:
    notebooks = ModuleType("IPython")
    notebooks.__dict__["get_ipython"] = type(shell, (), {})
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys, "stdout", output := io.StringIO())
    monkeypatch.setitem(sys.modules, "IPython", notebooks)
    assert stream_of_a_person() is (output if is_shown else None)
