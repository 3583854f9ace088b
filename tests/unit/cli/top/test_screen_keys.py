"""Keys that end `millstream top`, on a terminal of the test's own."""

from __future__ import annotations

import os
import pty
import sys
import tty
from collections.abc import Iterator

import pytest

from millstream.cli.top.screen import is_ended_by_key
from tests.patience import LONG_ENOUGH_S
from tests.support.patched_library import patch_library


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What is written here comes from standard input, as it is written."""
    ours, theirs = pty.openpty()
    tty.setcbreak(theirs)
    with os.fdopen(ours, "wb", buffering=0), open(theirs, encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        yield ours


def test_q_ends_it_behind_another_key(keyboard: int) -> None:
    os.write(keyboard, b"\x1b[A")
    assert not is_ended_by_key(LONG_ENOUGH_S)
    os.write(keyboard, b"q")
    assert is_ended_by_key(LONG_ENOUGH_S)


def test_keys_that_came_together_are_all_looked_at(keyboard: int) -> None:
    os.write(keyboard, b"\x1b[BQ")
    assert is_ended_by_key(LONG_ENOUGH_S)


def test_without_a_key_it_goes_on(keyboard: int) -> None:
    assert os.isatty(keyboard)
    assert not is_ended_by_key(0)


def test_a_terminal_that_hangs_up_ends_it(keyboard: int, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_library(monkeypatch, is_ended_by_key.__module__, os, read=lambda *_: b"")
    os.write(keyboard, b"x")
    assert is_ended_by_key(LONG_ENOUGH_S)
