"""The offset index of one segment: `%020d.index`, 8-byte entries (offset - base offset, position of the batch).

An entry's offset is the *last* offset of the batch that starts at the entry's position. Loaded when first needed,
searched in memory, written at roll and close (see `index_file`).
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import NamedTuple, final

from millstream.log.segments.index_file import (
    OFFSET_ENTRY_BYTES,
    CorruptIndex,
    IndexWriter,
    read_entries,
)
from millstream.runtime import File, FileSystem


class OffsetPosition(NamedTuple):
    relative_offset: int
    position: int


@final
class OffsetIndex:
    def __init__(self, file_system: FileSystem, path: str, bytes_max: int) -> None:
        self._file_system = file_system
        self._entries_max = bytes_max // OFFSET_ENTRY_BYTES
        self._offsets = array("i")
        self._positions = array("i")
        size = file_system.size(path) if file_system.exists(path) else 0
        self._writer = IndexWriter(file_system, path, size)
        self._loaded = size == 0

    @property
    def path(self) -> str:
        return self._writer.path

    @property
    def is_full(self) -> bool:
        return len(self._loaded_offsets()) >= self._entries_max

    @property
    def entry_count(self) -> int:
        return len(self._loaded_offsets())

    def entries(self) -> list[OffsetPosition]:
        offsets = self._loaded_offsets()
        return [OffsetPosition(*entry) for entry in zip(offsets, self._positions, strict=True)]

    def append(self, relative_offset: int, position: int) -> None:
        offsets = self._loaded_offsets()
        assert not offsets or relative_offset > offsets[-1], "offset index entries must grow"
        offsets.append(relative_offset)
        self._positions.append(position)

    def lookup(self, relative_offset: int) -> OffsetPosition:
        """Returns the last entry at or below `relative_offset`; (0, 0) when there is none."""
        slot = bisect_right(self._loaded_offsets(), relative_offset) - 1
        return self._entry(slot)

    def lookup_position(self, position: int) -> OffsetPosition:
        """Returns the last entry whose batch starts at or below `position`; (0, 0) when there is none."""
        self._loaded_offsets()
        return self._entry(bisect_right(self._positions, position) - 1)

    def first_at_or_after(self, position: int) -> OffsetPosition | None:
        """Returns the first entry whose batch starts at or after `position`."""
        self._loaded_offsets()
        slot = bisect_left(self._positions, position)
        return self._entry(slot) if slot < len(self._positions) else None

    def last_entry(self) -> OffsetPosition:
        return self._entry(len(self._loaded_offsets()) - 1)

    def truncate(self, relative_offset: int) -> None:
        """Keeps the entries below `relative_offset`."""
        self._truncate_entries(bisect_right(self._loaded_offsets(), relative_offset - 1))

    def clear(self) -> None:
        """Forgets everything, the file's contents included, readable or not."""
        self._loaded = True
        self._truncate_entries(0)

    def write(self) -> File | None:
        """Brings the file up to date; returns it open, for the caller to sync and close, unless it was."""
        self._loaded_offsets()
        return self._writer.write(self._encode())

    def update_path(self, path: str) -> None:
        self._writer.update_path(path)

    def _entry(self, slot: int) -> OffsetPosition:
        if slot < 0:
            return OffsetPosition(0, 0)
        return OffsetPosition(self._offsets[slot], self._positions[slot])

    def _truncate_entries(self, count: int) -> None:
        del self._offsets[count:]
        del self._positions[count:]
        self._writer.forget_after(count * OFFSET_ENTRY_BYTES)

    def _loaded_offsets(self) -> array[int]:
        if not self._loaded:
            self._load()
        return self._offsets

    def _load(self) -> None:
        """Raises CorruptIndex for a file that is not an ascending list of entries."""
        data = read_entries(self._file_system, self.path, OFFSET_ENTRY_BYTES)
        words = array("i", data)
        if sys.byteorder == "little":
            words.byteswap()
        offsets, positions = words[0::2], words[1::2]
        if not (_ascends(offsets) and _ascends(positions)) or _is_negative(offsets, positions):
            raise CorruptIndex(f"{self.path} is not in ascending order; it is rebuilt")
        self._offsets, self._positions = offsets, positions
        self._loaded = True
        self._writer.forget_after(len(data))

    def _encode(self) -> bytes:
        words = array("i", bytes(len(self._offsets) * OFFSET_ENTRY_BYTES))
        words[0::2] = self._offsets
        words[1::2] = self._positions
        if sys.byteorder == "little":
            words.byteswap()
        return words.tobytes()


def _ascends(numbers: array[int]) -> bool:
    return all(a < b for a, b in pairwise(numbers))


def _is_negative(offsets: array[int], positions: array[int]) -> bool:
    """They ascend, so the first ones tell."""
    return bool(offsets) and (offsets[0] < 0 or positions[0] < 0)
