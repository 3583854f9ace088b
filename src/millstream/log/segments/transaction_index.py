"""The transaction index of a segment: `%020d.txnindex`, one 34-byte entry per transaction aborted in it.

    i16 version 0 · i64 producer id · i64 first offset · i64 last offset (the abort marker) · i64 last stable offset

Readers at `read_committed` get the entries that overlap what they fetch. The file exists only once something aborted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple, final

from millstream.log.directory.text_checkpoints import DamagedFile
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
    def __init__(self, file_system: FileSystem, path: str) -> None:
        self._file_system = file_system
        self._path = path
        self._entries: list[AbortedTransaction] | None = None
        self._is_synced = True

    def append(self, aborted: AbortedTransaction) -> None:
        entries = self.entries()
        file = self._file_system.open(self._path)
        try:
            file.append([_ENTRY.pack(_VERSION, *aborted)])
        finally:
            file.close()
        self._is_synced = False
        entries.append(aborted)

    def write(self) -> File | None:
        """Returns the file, for the caller to sync and close; None when nothing was appended since."""
        if self._is_synced:
            return None
        self._is_synced = True
        return self._file_system.open(self._path)

    def create(self, entries: Iterable[AbortedTransaction]) -> None:
        """Writes the file anew, also when there are no entries, and syncs it."""
        created = list(entries)
        self._file_system.write_atomically(self._path, _encode(created))
        self._entries = created

    def moved_to(self, path: str) -> None:
        self._path = path

    def entries(self) -> list[AbortedTransaction]:
        """Returns all entries. Raises DamagedFile: without its entries aborted records would be shown."""
        if self._entries is None:
            self._entries = self._load()
        return self._entries

    def truncate(self, offset: int) -> None:
        """Forgets transactions that ended at or after `offset`."""
        kept = [entry for entry in self.entries() if entry.last_offset < offset]
        if len(kept) < len(self.entries()):
            self.create(kept)

    def clear(self) -> None:
        """Forgets everything, readable or not; recovery writes it again from the markers in the log."""
        if self._file_system.exists(self._path):
            self._file_system.remove(self._path)
        self._entries = []

    def _load(self) -> list[AbortedTransaction]:
        if not self._file_system.exists(self._path):
            return []
        data = self._file_system.read(self._path)
        if len(data) % _ENTRY.size:
            raise DamagedFile(
                f"{self._path} is damaged: {len(data)} bytes are no whole entries. Stop the broker, remove "
                ".kafka_cleanshutdown and start it again: recovery writes the file anew"
            )
        return [AbortedTransaction(*fields) for _, *fields in _ENTRY.iter_unpack(data)]


def _encode(entries: Iterable[AbortedTransaction]) -> bytes:
    return b"".join(_ENTRY.pack(_VERSION, *entry) for entry in entries)
