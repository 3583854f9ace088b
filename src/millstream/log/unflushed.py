"""Keeps track of what is not on the disk yet besides the records: sealed indexes, names of new
files, and since when.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from millstream.log.flush_plan import FlushPlan
from millstream.log.log_state import LogState
from millstream.metadata.topic_config import LogConfig
from millstream.runtime import File, FileSystem, Instant


@final
class Unflushed:
    def __init__(self, directories: tuple[str, ...], now: Instant) -> None:
        """`directories`: where the log's first files were made."""
        self._directories = directories
        self._sealed_files: list[File] = []
        self._unsynced_seals = 0
        """How many files that `add_sealed` took are not synced yet: those in a plan that is under way count, too."""
        self._last_flush_ms = now.monotonic_ms
        self.wanted_to = 0
        """Records below it must be on the disk before they are acknowledged: flush.messages was reached there."""

    def note_append(self, first_offset: int, state: LogState, config: LogConfig) -> None:
        """Notes that records from `first_offset` on were written."""
        flushed = max(state.recovery_point, min(self.wanted_to, first_offset))
        if state.log_end_offset - flushed >= config.flush_messages:
            self.wanted_to = state.log_end_offset

    def is_overdue(self, state: LogState, config: LogConfig, now: Instant) -> bool:
        """Whether flush.ms has passed since the last flush, and there is something to flush."""
        return (
            state.recovery_point < state.log_end_offset
            and now.monotonic_ms - self._last_flush_ms >= config.flush_ms
        )

    def add_sealed(self, files: Iterable[File]) -> None:
        """Takes open files that are not written any more: indexes, and the snapshot of
        producers at the end of a segment.
        """
        added = list(files)
        self._sealed_files.extend(added)
        self._unsynced_seals += len(added)

    def lacks_segments(self, state: LogState) -> bool:
        """Whether a segment was rolled whose records, indexes or snapshot of producers no flush has synced yet."""
        return self._unsynced_seals > 0 or state.recovery_point < state.segments.active.base_offset

    def cleanable_to(self, state: LogState, stable_offset: int) -> int:
        """Markers may be cleaned away before it: the newest snapshot of producers is behind them, and on the
        disk, as the records are.

        After a crash an older one would count, in which the transactions of those markers are open.
        """
        snapshot = state.snapshots.newest_offset
        if self._unsynced_seals or snapshot is None:
            return state.segments.first.base_offset
        return min(stable_offset, state.recovery_point, snapshot)

    def add_directory(self, directory: str) -> None:
        if directory not in self._directories:
            self._directories = (*self._directories, directory)

    def rename_directory(self, before: str, after: str) -> None:
        """Follows a renamed directory: what was made in it is not on the disk by its new name either."""
        self._directories = tuple(after if each == before else each for each in self._directories)

    def take_plan(self, state: LogState, file_system: FileSystem) -> FlushPlan | None:
        """Returns the plan of the next flush, which the caller syncs.

        None when everything is on the disk that the log could lose.
        """
        is_empty = state.log_end_offset == state.segments.first.base_offset
        lacks_names = bool(self._directories) and not is_empty
        has_records = state.recovery_point < state.log_end_offset
        epochs = state.leader_epochs.plan_write()
        if not (has_records or self._sealed_files or lacks_names or epochs):
            return None
        log_files = tuple(s.file for s in state.segments.from_offset(state.recovery_point))
        sealed_files, self._sealed_files = tuple(self._sealed_files), []
        directories, self._directories = self._directories, ()
        return FlushPlan(
            state.log_end_offset,
            log_files,
            sealed_files,
            directories,
            epochs,
            file_system,
            state.cut_count,
        )

    def complete(self, plan: FlushPlan, state: LogState, now: Instant) -> None:
        """Moves the recovery point; not where the log was cut while the disk worked: what was written since
        may stand there unsynced.
        """
        self._last_flush_ms = now.monotonic_ms
        self._unsynced_seals -= len(plan.sealed_files)
        if plan.epochs is not None:
            state.leader_epochs.note_written(plan.epochs)
        if plan.cut_count == state.cut_count:
            state.recovery_point = max(state.recovery_point, plan.end_offset)

    def close(self) -> None:
        """Closes the open index files as they are."""
        for file in self._sealed_files:
            file.close()
        self._sealed_files.clear()
