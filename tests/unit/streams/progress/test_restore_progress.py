"""One line for all stores that are being restored: how much is done, how fast, and how long it still takes."""

from __future__ import annotations

import io
import pickle
import sys

import pytest

from millstream.model import TopicPartition
from millstream.streams import RestoreProgress
from tests.unit.streams.application.manual_clock import MovedClock

FIRST, SECOND = TopicPartition("app-counts-changelog", 0), TopicPartition("app-rows-changelog", 1)


class Shown:
    def __init__(self) -> None:
        self.stream, self.clock = io.StringIO(), MovedClock()
        self.progress = RestoreProgress(self.stream, self.clock)

    @property
    def line(self) -> str:
        """The last that was written, as it stands in the terminal."""
        return self.stream.getvalue().rstrip("\r").rpartition("\r")[2].strip()


def test_the_line_is_of_all_stores_together_and_goes_with_the_last() -> None:
    shown = Shown()
    shown.progress.on_restore_start(FIRST, "counts", 1_000, 11_000)
    shown.progress.on_restore_start(SECOND, "rows", 0, 10_000)
    shown.clock.pass_ms(1_000)
    shown.progress.on_batch_restored(FIRST, "counts", 2_999, 1_500)
    assert shown.line == (
        "restoring counts and 1 more: [##                  ] 10 %, 2,000 records/s, 9 s left"
    )
    shown.progress.on_restore_end(FIRST, "counts", 8_000)
    assert shown.line == ("restoring rows: [##########          ] 50 %, 10,000 records/s, 1 s left")
    shown.progress.on_restore_end(SECOND, "rows", 10_000)
    assert shown.line == ""
    assert shown.stream.getvalue().endswith(" \r")


def test_a_short_restoration_shows_nothing() -> None:
    shown = Shown()
    shown.progress.on_restore_start(FIRST, "counts", 0, 1_000)
    shown.clock.pass_ms(1_000)
    shown.progress.on_batch_restored(FIRST, "counts", 499, 500)
    shown.progress.on_restore_end(FIRST, "counts", 1_000)
    assert shown.stream.getvalue() == ""


def test_what_is_suspended_is_not_waited_for() -> None:
    shown = Shown()
    shown.progress.on_restore_start(FIRST, "counts", 0, 10_000)
    shown.progress.on_restore_start(SECOND, "rows", 0, 90_000)
    shown.clock.pass_ms(1_000)
    shown.progress.on_restore_suspended(SECOND, "rows", 0)
    shown.progress.on_batch_restored(FIRST, "counts", 999, 1_000)
    assert "10 %, 1,000 records/s, 9 s left" in shown.line
    shown.progress.on_restore_suspended(FIRST, "counts", 1_000)
    assert shown.line == ""


@pytest.mark.parametrize("is_copied", [False, True])
def test_where_nobody_looks_it_is_silent(
    monkeypatch: pytest.MonkeyPatch, *, is_copied: bool
) -> None:
    """No terminal, or the process of a stream thread, where it is a copy."""
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.setattr(sys, "stderr", written := io.StringIO())
    progress = RestoreProgress(clock=MovedClock())
    if is_copied:
        progress = pickle.loads(pickle.dumps(RestoreProgress(written)))
    progress.on_restore_start(FIRST, "counts", 0, 10_000)
    progress.on_batch_restored(FIRST, "counts", 9, 10)
    progress.on_restore_suspended(FIRST, "counts", 10)
    progress.on_restore_start(FIRST, "counts", 10, 20)
    progress.on_restore_end(FIRST, "counts", 10)
    assert written.getvalue() == ""
