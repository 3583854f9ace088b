"""Index files as a whole: entries of one fixed size, trusted only when the file is a multiple of it.

Marks say what the files of a segment held when that was noted, for whoever opens them later to compare.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from millstream.errors import MillstreamError
from millstream.runtime import File, FileSystem

OFFSET_ENTRY_BYTES: Final = 8
TIME_ENTRY_BYTES: Final = 12


class IndexMark(NamedTuple):
    """Size and checksum of a transaction index, as it is once its segment is sealed."""

    size_bytes: int
    crc: int
    """CRC-32C of the whole file."""


NOTHING_ABORTED: Final = IndexMark(0, 0)
"""There is no file, or an empty one."""


class SegmentMark(NamedTuple):
    """Sizes of the files of a segment. The offset index needs no mark: whatever it says is checked where it is used."""

    base_offset: int
    log_bytes: int
    time_index_bytes: int
    transaction_index: IndexMark = NOTHING_ABORTED


class CorruptIndex(MillstreamError):
    """An index file that contradicts itself. Never fatal: it is rebuilt from its segment."""


def read_entries(file_system: FileSystem, path: str, entry_bytes: int) -> bytes:
    """Returns all entries of `path`, without the zeroed space that Kafka preallocates.

    An entry of zeros is legal in the first slot only, as in Kafka: everything from the
    first later one on is free space.
    """
    data = file_system.read(path)
    if len(data) % entry_bytes:
        raise CorruptIndex(
            f"{path} has {len(data)} bytes, not a multiple of {entry_bytes}; it is rebuilt"
        )
    used = len(data.rstrip(b"\0"))
    entries = -(-used // entry_bytes)
    if entries == 0 and len(data) == entry_bytes:
        entries = 1
    return data[: entries * entry_bytes]


class IndexWriter:
    """Writes the entries an index gained since the last time, and remembers which file must be synced.

    Indexes of the active segment live in memory: a crash rebuilds them from the log, so nothing is gained by writing
    each entry when it is made.
    """

    __slots__ = ("_file_system", "_path", "_written_bytes")

    def __init__(self, file_system: FileSystem, path: str, written_bytes: int) -> None:
        self._file_system = file_system
        self._path = path
        self._written_bytes = written_bytes

    @property
    def path(self) -> str:
        return self._path

    @property
    def written_bytes(self) -> int:
        return self._written_bytes

    def update_path(self, path: str) -> None:
        self._path = path

    def write(self, data: bytes) -> File | None:
        """Makes the file hold exactly `data`, whose first `written_bytes` it holds already.

        Returns the file, for the caller to sync and close; None when there was nothing to write that could be lost.
        """
        if self._written_bytes == 0 and self._file_system.exists(self._path):
            if not data and self._file_system.size(self._path) == 0:
                return None  # of an idle partition, whose file was made at an earlier stop
            # It was rebuilt, perhaps because it cannot be read.
            self._file_system.remove(self._path)
        file = self._file_system.open(self._path)
        is_same = len(data) == self._written_bytes == file.size
        try:
            if file.size != self._written_bytes:
                file.truncate(self._written_bytes)
            if not is_same:
                file.append([data[self._written_bytes :]])
        except OSError:
            file.close()
            raise
        self._written_bytes = len(data)
        if is_same:
            file.close()
            return None
        return file

    def forget_after(self, size: int) -> None:
        """The entries from byte `size` on are wrong now; the next write replaces them."""
        self._written_bytes = min(self._written_bytes, size)
