"""The transaction index of a segment: `%020d.txnindex`, one 34-byte entry per transaction aborted in it.

    i16 version 0 · i64 producer id · i64 first offset · i64 last offset (the abort marker) · i64 last stable offset

Readers at `read_committed` get the entries that overlap what they fetch. The file exists only once something aborted,
and gets the entries when its segment is sealed.

An entry that is lost or wrong shows aborted records as committed, so the file is never believed for itself: its size
and checksum are noted elsewhere (`IndexMark`, in the segment checkpoint of the data directory) and compared whenever it
is read. Kafka believes any file that is a list of entries, and any file that is missing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, NamedTuple, final

from crc32c import crc32c

from millstream.log.segments.index_file import NOTHING_ABORTED, CorruptIndex, IndexMark
from millstream.runtime import File, FileSystem

_VERSION: Final = 0
_ENTRY: Final = struct.Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@final
class TransactionIndex:
    """The entries of an active segment are always in memory, as those of its other indexes; those of a sealed
    one are read when needed.
    """

    def __init__(self, file_system: FileSystem, path: str, mark: IndexMark | None = None) -> None:
        """`mark`: what the file must hold; None where nobody noted it."""
        self._file_system = file_system
        self._path = path
        self._mark = mark
        self._entries: list[AbortedTransaction] | None = None
        self._is_written = True

    @property
    def mark(self) -> IndexMark:
        """Describes the entries, as far as any were added or read; without either, an empty file.

        Entries that `write` has not put into the file yet count: should it fail to reach the disk, nobody may
        believe what is there instead.
        """
        return NOTHING_ABORTED if self._mark is None else self._mark

    @property
    def is_noted(self) -> bool:
        """Whether it is known what the file must hold."""
        return self._mark is not None

    def append(self, aborted: AbortedTransaction) -> None:
        """Adds an entry to an active segment, in memory: its marker is in the log already, so nothing may fail here.

        `write` comes when the segment is sealed; after a crash recovery finds the marker.
        """
        assert self._entries is not None, "the entries of an active segment are in memory"
        self._entries.append(aborted)
        data = _ENTRY.pack(_VERSION, *aborted)
        self._mark = IndexMark(self.mark.size_bytes + len(data), crc32c(data, self.mark.crc))
        self._is_written = False

    def write(self) -> File | None:
        """Makes the file hold the entries.

        Returns it, for the caller to sync and close; None when there is nothing to sync.

        Whatever was there goes first, readable or not. Without entries there is no file.
        """
        if self._is_written:
            return None
        entries = self.entries()
        if self._file_system.exists(self._path):
            self._file_system.remove(self._path)
        file = None
        if entries:
            file = self._file_system.open(self._path)
            try:
                file.append([_encode(entries)])
            except OSError:
                file.close()
                raise
        self._is_written = True
        return file

    def create(self, entries: Iterable[AbortedTransaction]) -> None:
        """Writes the file anew, also when there are no entries, and syncs it."""
        self.rebuild(entries)
        self._file_system.write_atomically(self._path, _encode(self.entries()))
        self._is_written = True

    def rebuild(self, entries: Iterable[AbortedTransaction]) -> None:
        """Replaces the entries by what the markers in the log say, in memory: the file is not looked at."""
        self._entries = list(entries)
        self._mark = mark_of(_encode(self._entries))
        self._is_written = False

    def truncate(self, offset: int) -> None:
        """Keeps the transactions that ended before `offset`. Raises OSError, CorruptIndex."""
        kept = [entry for entry in self.entries() if entry.last_offset < offset]
        if len(kept) < len(self.entries()):
            self.rebuild(kept)

    def update_path(self, path: str) -> None:
        self._path = path

    def entries(self) -> list[AbortedTransaction]:
        """Returns all entries. Raises OSError, and CorruptIndex: without its entries aborted records would be shown."""
        if self._entries is None:
            self._entries = self._load()
        return self._entries

    def read_whole(self, *, is_kept: bool) -> list[AbortedTransaction] | None:
        """Reads the file and compares it with its mark, or, without a mark, with itself.

        None when it cannot be believed.

        The entries stay in memory if `is_kept`: most segments are never read at read_committed again. Raises OSError.
        """
        data = self._read()
        entries = _decoded(data)
        if self._mark is None:
            if entries is None or not _is_ordered(entries):
                return None
            self._mark = mark_of(data)
        if self._mark != mark_of(data):
            return None
        if is_kept:
            self._entries = entries
        return entries

    def _load(self) -> list[AbortedTransaction]:
        data = self._read()
        entries = _decoded(data)
        if entries is None or (self._mark is not None and self._mark != mark_of(data)):
            raise CorruptIndex(
                f"{self._path} is damaged: its {len(data)} bytes are not those that were written. "
                "Restart the broker: it makes the file anew"
            )
        self._mark = mark_of(data)
        return entries

    def _read(self) -> bytes:
        return self._file_system.read(self._path) if self._file_system.exists(self._path) else b""


def mark_of(data: bytes) -> IndexMark:
    return IndexMark(len(data), crc32c(data))


def _encode(entries: Iterable[AbortedTransaction]) -> bytes:
    return b"".join(_ENTRY.pack(_VERSION, *entry) for entry in entries)


def _decoded(data: bytes) -> list[AbortedTransaction] | None:
    """None for what is no list of entries."""
    if len(data) % _ENTRY.size:
        return None
    rows = list(_ENTRY.iter_unpack(data))
    if any(version != _VERSION for version, *_ in rows):
        return None
    return [AbortedTransaction(*fields) for _, *fields in rows]


def _is_ordered(entries: list[AbortedTransaction]) -> bool:
    """Whether the entries may be of one segment: they come in the order of their markers, and last
    stable offsets never go back.
    """
    return all(
        0 <= each.first_offset <= each.last_offset
        and each.producer_id >= 0
        and 0 <= each.last_stable_offset <= each.last_offset + 1
        for each in entries
    ) and all(
        earlier.last_offset < later.last_offset
        and earlier.last_stable_offset <= later.last_stable_offset
        for earlier, later in pairwise(entries)
    )
