"""A StateRestoreListener that shows one line for all stores that are being restored, where a person is looking."""

from __future__ import annotations

import threading
from typing import TextIO

from millstream.model import TopicPartition
from millstream.runtime import Clock
from millstream.runtime.system import SystemClock
from millstream.streams.progress.terminal_line import (
    LONG_MS,
    Course,
    TerminalLine,
    stream_of_a_person,
)


class RestoreProgress:
    """Give it to an application as `restore_listener`. A restoration that takes less than three seconds shows nothing.

    `stream`: where to write; without it the terminal or the notebook of a person, or nowhere. Stream threads that are
    processes have no terminal: there it is silent. Shares and speeds count offsets of changelogs.
    """

    def __init__(self, stream: TextIO | None = None, clock: Clock | None = None) -> None:
        shown = stream_of_a_person() if stream is None else stream
        self._line = None if shown is None else TerminalLine(shown)
        self._clock = SystemClock() if clock is None else clock
        self._lock = threading.Lock()
        self._course: Course | None = None
        self._is_shown = False
        self._at: dict[tuple[TopicPartition, str], int] = {}
        """By restoration that is under way, the offset that it has come to."""
        self._ends: dict[tuple[TopicPartition, str], int] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._at)} stores>"

    def __reduce__(self) -> tuple[type[SilentProgress], tuple[()]]:
        """Pickles what the process of a stream thread gets: several of them would write over each other."""
        return SilentProgress, ()

    def on_restore_start(
        self, changelog: TopicPartition, store: str, starting_offset: int, ending_offset: int
    ) -> None:
        """Takes a restoration into the line."""
        with self._lock:
            if self._course is None:
                self._course = Course(self._now_ms)
            self._course.left += ending_offset - starting_offset
            self._at[changelog, store] = starting_offset
            self._ends[changelog, store] = ending_offset

    def on_batch_restored(
        self, changelog: TopicPartition, store: str, batch_end_offset: int, restored: int
    ) -> None:
        """Moves the line forward."""
        del restored  # compaction has removed the records between
        with self._lock:
            self._advance((changelog, store), batch_end_offset + 1)
            self._show()

    def on_restore_end(self, changelog: TopicPartition, store: str, total_restored: int) -> None:
        """Takes a restoration out of the line, as done."""
        del total_restored
        with self._lock:
            self._advance((changelog, store), self._ends[changelog, store])
            self._leave((changelog, store))

    def on_restore_suspended(
        self, changelog: TopicPartition, store: str, total_restored: int
    ) -> None:
        """Takes a restoration out of the line, with what is left of it."""
        del total_restored
        with self._lock:
            if self._course is not None:
                self._course.left -= self._ends[changelog, store] - self._at[changelog, store]
            self._leave((changelog, store))

    def _advance(self, restoration: tuple[TopicPartition, str], offset: int) -> None:
        if self._course is not None:
            further = offset - self._at[restoration]
            self._course.done += further
            self._course.left -= further
        self._at[restoration] = offset

    def _leave(self, restoration: tuple[TopicPartition, str]) -> None:
        del self._at[restoration], self._ends[restoration]
        if not self._at:
            self._course, self._is_shown = None, False
        self._show()

    def _show(self) -> None:
        if self._line is None:
            return
        if self._course is None:
            self._line.write("")
            return
        now_ms = self._now_ms
        self._is_shown = self._is_shown or self._course.left_ms(now_ms) >= LONG_MS
        if self._is_shown:
            stores = sorted({store for _, store in self._at})
            others = "" if len(stores) == 1 else f" and {len(stores) - 1} more"
            self._line.write(f"restoring {stores[0]}{others}: {self._course.text(now_ms)}")

    @property
    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms


class SilentProgress:
    """Stands for a RestoreProgress where nobody looks."""

    def on_restore_start(self, *_: object) -> None:
        """Shows nothing."""

    def on_batch_restored(self, *_: object) -> None:
        """Shows nothing."""

    def on_restore_end(self, *_: object) -> None:
        """Shows nothing."""

    def on_restore_suspended(self, *_: object) -> None:
        """Shows nothing."""
