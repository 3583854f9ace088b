"""Notes of cuts: empty files `%020d-N.cut` in a partition directory, each named for the offset where the log was cut.

The checkpoints of the data directory are written once a minute. After a cut they say too much of a log: a recovery
point, a log start, an end of a cleaning, sizes of segments of records that are gone, where others may have been written
since. A note stands for that until they are written again: after a crash nothing that was said beyond its offset
counts. Kafka writes the checkpoints of the directory with every truncation instead (LogManager.truncateTo); in a
failover that would be all of them for each partition.

The name is all there is, so a note reaches the disk with the next change of names in the directory, as every file of a
segment that is begun after it. Kafka leaves files with other names alone.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, final

from millstream.log.directory.log_environment import SavedState
from millstream.runtime import FileSystem

_NAME: Final = re.compile(r"([0-9]{20})-([0-9]+)\.cut")


@final
class CutNotes:
    def __init__(self, file_system: FileSystem, directory: str, names: Iterable[str]) -> None:
        """`names`: what lies in the directory."""
        self._file_system = file_system
        self._directory = directory
        found = [match for name in names if (match := _NAME.fullmatch(name))]
        self._offsets = {match[0]: int(match[1]) for match in found}
        self._next_number = 1 + max((int(match[2]) for match in found), default=-1)

    def update_directory(self, directory: str) -> None:
        self._directory = directory

    @property
    def lowest(self) -> int | None:
        """The offset from which on nothing that checkpoints say counts; None where they may be believed."""
        return min(self._offsets.values(), default=None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._offsets)

    def note(self, offset: int) -> None:
        """Notes a cut, before anything is cut. Raises OSError."""
        if offset >= min(self._offsets.values(), default=offset + 1):
            return
        # A number of its own: checkpoints are written in another thread, which may remove older notes in this very moment.
        name = f"{offset:020d}-{self._next_number}.cut"
        self._next_number += 1
        self._file_system.open(f"{self._directory}/{name}").close()
        self._offsets[name] = offset

    def forget(self, names: Iterable[str]) -> None:
        """Removes notes; `names` was read before the checkpoints were written that make them void. Raises OSError."""
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # of a log that was deleted meanwhile
                self._file_system.remove(f"{self._directory}/{name}")
            self._offsets.pop(name, None)

    def limited(self, saved: SavedState) -> SavedState:
        """Returns what is left of a saved state. A clean shutdown has written all of it after the last cut."""
        lowest = self.lowest
        if lowest is None or saved.was_clean:
            return saved
        cleaned = saved.cleaner_checkpoint
        return replace(
            saved,
            recovery_point=min(saved.recovery_point, lowest),
            log_start_offset=min(saved.log_start_offset, lowest),
            cleaner_checkpoint=None if cleaned is None else min(cleaned, lowest),
            synced_to=min(saved.synced_to, lowest),
            marks=(),
            marks_are_exact=False,
        )
