"""The `.snapshot` files of one partition directory: written at roll and shutdown, the newest usable
one read at start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import final

from millstream.log.producers.snapshot import (
    CorruptSnapshot,
    ProducerSnapshotEntry,
    decode_producer_snapshot,
    encode_producer_snapshot,
)
from millstream.log.segments.files import SNAPSHOT_SUFFIX, offset_of, segment_path
from millstream.runtime import File, FileSystem

SnapshotCheck = Callable[[int, Sequence[ProducerSnapshotEntry]], bool]
"""Whether a snapshot with these entries may have been taken of a log at this offset: its checksum
does not tell of which log it is."""


def is_believed(_offset: int, _entries: Sequence[ProducerSnapshotEntry]) -> bool:
    return True


@final
class ProducerSnapshots:
    def __init__(self, file_system: FileSystem, directory: str, names: Iterable[str]) -> None:
        """`names`: what lies in the directory."""
        self._file_system = file_system
        self._directory = directory
        self._offsets = {
            offset for name in names if (offset := offset_of(name, SNAPSHOT_SUFFIX)) is not None
        }

    def update_directory(self, directory: str) -> None:
        self._directory = directory

    def offsets(self) -> list[int]:
        return sorted(self._offsets)

    @property
    def newest_offset(self) -> int | None:
        return max(self._offsets, default=None)

    def write(self, offset: int, entries: Iterable[ProducerSnapshotEntry]) -> list[File]:
        """Writes a snapshot.

        Returns the file for the next flush to sync, to be closed afterwards; none where the same was there.

        A checksum tells a torn one, and the log replaces it; but not exactly where records have left the log since.
        """
        data = encode_producer_snapshot(entries)
        if offset in self._offsets and self._file_system.read(self._path(offset)) == data:
            return []  # an idle log is closed again and again; emptying a file costs more than reading it
        file = self._file_system.open(self._path(offset))
        try:
            if file.size:
                file.truncate(0)
            file.append([data])
        except OSError:
            file.close()
            raise
        self._offsets.add(offset)
        return [file]

    def sync_newest_after(self, offset: int) -> None:
        """Syncs the newest snapshot if it is of records behind `offset`: no flush has synced that of a killed process.

        Markers that it covers may be cleaned away soon.
        """
        newest = self.newest_offset
        if newest is not None and newest > offset:
            file = self._file_system.open(self._path(newest))
            try:
                file.sync()
            finally:
                file.close()

    def load_latest(
        self, highest: int, is_of_log: SnapshotCheck = is_believed
    ) -> tuple[int, list[ProducerSnapshotEntry]] | None:
        """Returns the newest readable snapshot taken at or below `highest`; those that are damaged, or of
        another log, are removed.
        """
        for offset in reversed(self.offsets()):
            if offset <= highest:
                try:
                    entries = decode_producer_snapshot(self._file_system.read(self._path(offset)))
                except (CorruptSnapshot, OSError):
                    entries = None
                if entries is not None and is_of_log(offset, entries):
                    return offset, entries
                self.remove([offset])
        return None

    def remove(self, offsets: Iterable[int]) -> None:
        for offset in list(offsets):
            if offset in self._offsets:
                self._file_system.remove(self._path(offset))
                self._offsets.remove(offset)

    def remove_after(self, offset: int) -> None:
        """They are gone from the disk when this returns: a crash could else bring back what another log has left."""
        self.forget_after(offset)()

    def forget_after(self, offset: int) -> Callable[[], None]:
        """Does the first half of `remove_after`, in memory.

        The second half, which is returned, blocks, in any thread; it raises OSError.
        """
        later = [self._path(found) for found in self.offsets() if found > offset]
        self._offsets = {found for found in self._offsets if found <= offset}
        return partial(_remove, self._file_system, self._directory, later)

    def remove_strays(self, base_offsets: Iterable[int]) -> None:
        """Keeps the snapshots at segment boundaries and the newest one, which a shutdown left."""
        kept = set(base_offsets) | set(self.offsets()[-1:])
        self.remove(found for found in self.offsets() if found not in kept)

    def _path(self, offset: int) -> str:
        return segment_path(self._directory, offset, SNAPSHOT_SUFFIX)


def _remove(file_system: FileSystem, directory: str, paths: Sequence[str]) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # a second call finds none
            file_system.remove(path)
    if paths:
        file_system.sync_directory(directory)
