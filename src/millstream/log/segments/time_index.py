"""The time index of one segment: `%020d.timeindex`, 12-byte entries (timestamp ms, offset - base offset).

An entry says: no batch up to this offset has a larger timestamp. Timestamps and offsets both grow. One slot is kept
free for the entry that is forced when the segment is rolled or closed.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple, final

from millstream.log.segments.index_file import (
    TIME_ENTRY_BYTES,
    CorruptIndex,
    IndexWriter,
    read_entries,
)
from millstream.runtime import File, FileSystem

_ENTRY: Final = struct.Struct(">qi")


class TimestampOffset(NamedTuple):
    timestamp_ms: int
    relative_offset: int


NO_ENTRY: Final = TimestampOffset(-1, 0)


@final
class TimeIndex:
    def __init__(self, file_system: FileSystem, path: str, bytes_max: int) -> None:
        self._file_system = file_system
        self._entries_max = bytes_max // TIME_ENTRY_BYTES
        self._timestamps = array("q")
        self._offsets = array("i")
        size = file_system.size(path) if file_system.exists(path) else 0
        self._writer = IndexWriter(file_system, path, size)
        self._loaded = size == 0

    @property
    def path(self) -> str:
        return self._writer.path

    @property
    def written_bytes(self) -> int:
        """The size of the file, as far as its entries count."""
        return self._writer.written_bytes

    @property
    def is_full(self) -> bool:
        return len(self._loaded_timestamps()) >= self._entries_max - 1

    @property
    def entry_count(self) -> int:
        return len(self._loaded_timestamps())

    def entries(self) -> list[TimestampOffset]:
        timestamps = self._loaded_timestamps()
        return [TimestampOffset(*entry) for entry in zip(timestamps, self._offsets, strict=True)]

    def append_if_later(self, timestamp_ms: int, relative_offset: int) -> None:
        """Adds the entry when its timestamp is beyond the last one's; otherwise it would say nothing new."""
        if timestamp_ms > self.last_entry().timestamp_ms:
            self._timestamps.append(timestamp_ms)
            self._offsets.append(relative_offset)

    def lookup(self, timestamp_ms: int) -> TimestampOffset:
        """Returns the last entry at or below `timestamp_ms`; NO_ENTRY when there is none."""
        return self._entry(bisect_right(self._loaded_timestamps(), timestamp_ms) - 1)

    def last_entry(self) -> TimestampOffset:
        return self._entry(len(self._loaded_timestamps()) - 1)

    def truncate(self, relative_offset: int) -> None:
        """Keeps the entries below `relative_offset`."""
        self._loaded_timestamps()
        self._truncate_entries(bisect_left(self._offsets, relative_offset))

    def clear(self) -> None:
        self._loaded = True
        self._truncate_entries(0)

    def write(self) -> File | None:
        """Brings the file up to date; returns it open, for the caller to sync and close, unless it was."""
        self._loaded_timestamps()
        entries = zip(self._timestamps, self._offsets, strict=True)
        return self._writer.write(b"".join(_ENTRY.pack(*entry) for entry in entries))

    def update_path(self, path: str) -> None:
        self._writer.update_path(path)

    def _entry(self, slot: int) -> TimestampOffset:
        return (
            TimestampOffset(self._timestamps[slot], self._offsets[slot]) if slot >= 0 else NO_ENTRY
        )

    def _truncate_entries(self, count: int) -> None:
        del self._timestamps[count:]
        del self._offsets[count:]
        self._writer.forget_after(count * TIME_ENTRY_BYTES)

    def _loaded_timestamps(self) -> array[int]:
        if not self._loaded:
            self._load()
        return self._timestamps

    def _load(self) -> None:
        """Raises CorruptIndex for a file that is not an ascending list of entries."""
        data = read_entries(self._file_system, self.path, TIME_ENTRY_BYTES)
        previous = NO_ENTRY
        for timestamp_ms, relative_offset in _ENTRY.iter_unpack(data):
            if timestamp_ms <= previous.timestamp_ms or relative_offset < previous.relative_offset:
                raise CorruptIndex(f"{self.path} is not in ascending order; it is rebuilt")
            previous = TimestampOffset(timestamp_ms, relative_offset)
            self._timestamps.append(timestamp_ms)
            self._offsets.append(relative_offset)
        self._loaded = True
        self._writer.forget_after(len(data))
