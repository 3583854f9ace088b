"""The record cache of one store: rows as they were last written or read, in front of those in the store.

What is written waits here until it is flushed: at a commit, or when the cache makes room. An update that is followed by
another of the same row before that is never seen by the store, its changelog, or any node downstream. Rows stay after a
flush, until room is needed, and are found even when the store has let them go because they are too old: all that is
Kafka Streams' (NamedCache and ThreadCache), and so is what an entry counts for.

Bytes only; what a flush does with the rows is the store's business.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Final, NamedTuple

from millstream.streams.state.changelog import Headers

_FIXED_BYTES = 3 * 8 + 1 + 8 + 8 + 4
"""What Kafka Streams counts for any entry: three references; dirty or not, timestamp, offset, partition."""


class ProcessorRecordContext(NamedTuple):
    """The record that was being processed when a row was written."""

    topic: str | None = None
    offset: int = -1
    headers: Headers = ()
    raw_key: bytes | None = None
    raw_value: bytes | None = None

    @property
    def size_bytes(self) -> int:
        """Topic and headers; names count by their characters, as Java's do."""
        size = 0 if self.topic is None else len(self.topic)
        for name, value in self.headers:
            size += len(name) + (0 if value is None else len(value))
        return size


NOWHERE = ProcessorRecordContext()
"""Of rows that were read."""

_Origin = tuple[Headers | int | str | bytes | None, ...]
"""The fields of a ProcessorRecordContext."""
_Held = tuple[bytes, bytes | None, int, int, int]
"""The key of a row, the row, its timestamp, the number of the write that it comes from and what it counts for.

Plain tuples of what refers to nothing: Python's collector looks at such a one once, and at all objects of a class again
and again, which took as long as everything else together where a cache holds a hundred thousand.
"""
_ROW: Final = 1
_WRITE: Final = 3
_BYTES: Final = 4
_ORIGINS_PER_ROW_MAX: Final = 2
"""Of rows that wait; rows that are written again and again leave origins of nothing behind."""
_ORIGINS_MIN: Final = 1_000
"""Up to so many origins nobody looks for those of nothing: that goes through all that waits."""
_COLUMNS: Final = tuple(map(itemgetter, range(4)))
_bytes_of: Final = itemgetter(_BYTES)
NOT_CACHED: Final = b"\x00not cached"
"""Look for it with `is`: a row may have these bytes."""


class CacheEntry(NamedTuple):
    """A row: its bytes, None where it was deleted, and where the last update came from.

    `key`: what the cache finds and orders it by, which is longer than `row_key` where Kafka Streams' is.
    """

    key: bytes
    row_key: bytes
    stored: bytes | None
    timestamp: int
    origin: ProcessorRecordContext
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FlushedRows:
    """Rows that leave the cache, as columns of equal length; `stored` is None of one that is deleted."""

    keys: Sequence[bytes]
    row_keys: Sequence[bytes]
    stored: Sequence[bytes | None]
    timestamps: Sequence[int]
    origins: Sequence[ProcessorRecordContext]

    def __len__(self) -> int:
        return len(self.keys)

    def each(self) -> Iterator[FlushedRows]:
        """Yields every row by itself."""
        rows = zip(
            self.keys, self.row_keys, self.stored, self.timestamps, self.origins, strict=True
        )
        return (FlushedRows((k,), (r,), (s,), (at,), (o,)) for k, r, s, at, o in rows)


class CachedRows(NamedTuple):
    """Rows to be cached, as columns of equal length; no key comes twice and no row is a deletion."""

    keys: Sequence[bytes]
    row_keys: Sequence[bytes]
    stored: Sequence[bytes]
    timestamps: Sequence[int]

    def held(self, write: int, origin: ProcessorRecordContext) -> dict[bytes, _Held]:
        fixed = _FIXED_BYTES + origin.size_bytes
        lengths = zip(map(len, self.keys), map(len, self.stored), strict=True)
        sizes = [fixed + key + stored for key, stored in lengths]
        writes = repeat(write, len(sizes))
        rows = zip(self.row_keys, self.stored, self.timestamps, writes, sizes, strict=True)
        return dict(zip(self.keys, rows, strict=True))


@dataclass(slots=True)
class CacheRoom:
    """The room that the caches of one task, or of the tasks of a stream thread, share: bytes they
    hold together, and may hold.
    """

    bytes_max: int
    bytes_held: int = 0


class RecordCache:
    """Entries by their rows' keys, in the order of their last use; to be flushed in the order of their last write."""

    def __init__(self, room: CacheRoom) -> None:
        self._room = room
        self._bytes_held = 0
        self._entries: OrderedDict[bytes, _Held] = OrderedDict()
        self._dirty: dict[bytes, None] = {}
        self._writes = 0
        self._origins: dict[int, _Origin] = {}
        """By the number of a write, of rows that wait."""
        self._order: list[bytes] | None = None
        """Keys in order, from the first scan on."""
        self.on_flush: Callable[[CacheEntry | None], None] = _refuse_unconnected
        """Writes to the store what waits, an entry that has to go first, and lets it go on."""

    @property
    def is_dirty(self) -> bool:
        """Whether something waits to be flushed."""
        return bool(self._dirty)

    def get(self, key: bytes) -> bytes | None:
        """Returns a row, None where it is deleted, and NOT_CACHED itself where it is not here.

        The row is used by that.
        """
        held = self._entries.get(key)
        if held is None:
            return NOT_CACHED
        self._entries.move_to_end(key)
        return held[_ROW]

    def keep(self, row_key: bytes, stored: bytes) -> None:
        """Note a row that was read from the store."""
        size = _FIXED_BYTES + len(row_key) + len(stored)
        self._set(row_key, (row_key, stored, 0, 0, size))

    def write(
        self,
        key: bytes,
        row_key: bytes,
        stored: bytes | None,
        timestamp: int,
        origin: ProcessorRecordContext,
    ) -> None:
        """Set a row, or delete it (None). May flush the store, to make room."""
        self.write_all([(key, row_key, stored, timestamp)], origin)

    def write_all(
        self,
        rows: Iterable[tuple[bytes, bytes, bytes | None, int]],
        origin: ProcessorRecordContext,
    ) -> None:
        """Set rows, the arguments of `write`, one after the other: each is come to when the one before has its room."""
        fixed, put = _FIXED_BYTES + origin.size_bytes, self._set
        write = self._note_write(origin)
        for key, row_key, stored, timestamp in rows:
            if write not in self._origins:  # the row before has made room, which flushed the store
                write = self._note_write(origin)
            dirty = self._dirty  # which a flush takes away
            if key in dirty:
                del dirty[key]  # to stand at the end
            dirty[key] = None
            size = fixed + len(key) + (0 if stored is None else len(stored))
            put(key, (row_key, stored, timestamp, write, size))

    def write_together(self, rows: CachedRows, origin: ProcessorRecordContext) -> bool:
        """Set rows as `write_all` does, but all at once.

        Returns False, and sets none, where one of them might have to flush the store.
        """
        entries, dirty, before = self._entries, self._dirty, self._bytes_held
        new = rows.held(self._writes + 1, origin)
        known = entries.keys() & new.keys()
        sizes_before = {key: entries[key][_BYTES] for key in known}
        if any(new[key][_BYTES] < size for key, size in sizes_before.items()):
            return False  # what it leaves is room for the rows after it alone
        more = sum(map(_bytes_of, new.values())) - sum(sizes_before.values())
        gone = self._clean_eldest(self._room.bytes_held + more - self._room.bytes_max, known)
        if gone is None:
            return False
        self._note_write(origin)
        self._order = None
        for key in gone:
            more -= entries.pop(key)[_BYTES]
        for key in known:  # to stand at the end
            del entries[key]
            dirty.pop(key, None)
        entries.update(new)
        dirty.update(dict.fromkeys(new))
        self._bytes_held += more
        self._room.bytes_held += self._bytes_held - before
        return True

    def scan(
        self, low: bytes, high: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """Yields the rows in [low, high) in the order of their keys, deleted ones too; each is used
        when it is come to.
        """
        order = self._in_order()
        end = None if high is None else bisect_left(order, high)
        keys = order[bisect_left(order, low) : end]
        for key in reversed(keys) if reverse else keys:
            held = self._entries.get(key)
            if held is not None:  # or it had to go meanwhile
                self._entries.move_to_end(key)
                yield key, held[_ROW]

    def first_key(self) -> bytes | None:
        """Returns the smallest key, None where the cache is empty."""
        order = self._in_order()
        return order[0] if order else None

    def flush(self) -> None:
        """Flush the store. What is read meanwhile, and kept here again, counts twice, as in Kafka Streams."""
        before = self._bytes_held
        self.on_flush(None)
        self._room.bytes_held += self._bytes_held - before

    def take_dirty(self, evicted: CacheEntry | None = None) -> FlushedRows:
        """Takes the rows to be flushed: one that has to go, then the others, the oldest write first."""
        dirty, self._dirty = self._dirty, {}
        origins, self._origins = self._origins, {}
        if evicted is not None:
            dirty.pop(evicted.key, None)
        keys, held = list(dirty), list(map(self._entries.__getitem__, dirty))
        row_keys, stored, timestamps, writes = (list(map(part, held)) for part in _COLUMNS)
        contexts = {each: ProcessorRecordContext._make(origins[each]) for each in set(writes)}
        from_ = list(map(contexts.__getitem__, writes))
        if evicted is not None:
            keys.insert(0, evicted.key)
            row_keys.insert(0, evicted.row_key)
            stored.insert(0, evicted.stored)
            timestamps.insert(0, evicted.timestamp)
            from_.insert(0, evicted.origin)
        return FlushedRows(keys, row_keys, stored, timestamps, from_)

    def drop_deleted(self, flushed: FlushedRows, evicted: CacheEntry | None) -> None:
        """Forget rows that are deleted in the store, too, by now; who flushes counts what became free."""
        if None not in flushed.stored:
            return
        first = 0 if evicted is None else 1
        for key, stored in zip(flushed.keys[first:], flushed.stored[first:], strict=True):
            if stored is None and key in self._entries:
                self._remove(key)
                self._dirty.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self._room.bytes_held -= self._bytes_held
        self._bytes_held = 0
        self._entries.clear()
        self._dirty, self._origins = {}, {}
        self._order = None

    def _note_write(self, origin: ProcessorRecordContext) -> int:
        """Returns the number of a new write, whose rows come from this record."""
        known = self._origins
        if len(known) > max(_ORIGINS_MIN, _ORIGINS_PER_ROW_MAX * len(self._dirty)):
            entries = self._entries
            used = {entries[key][_WRITE] for key in self._dirty if key in entries}
            self._origins = known = {write: known[write] for write in used}
        self._writes += 1
        known[self._writes] = tuple(origin)
        return self._writes

    def _set(self, key: bytes, row: _Held) -> None:
        entries, room = self._entries, self._room
        known = entries.get(key)
        entries[key] = row
        more = row[_BYTES]
        if known is not None:
            entries.move_to_end(key)
            more -= known[_BYTES]
        elif self._order is not None:
            insort(self._order, key)
        self._bytes_held += more
        room.bytes_held += more
        if room.bytes_held > room.bytes_max:
            self._make_room()

    def _make_room(self) -> None:
        """Kafka Streams lets go of entries of this store alone, even where other stores hold more.

        What an entry has held is free only after it was flushed: what that writes to other
        stores makes them small, too.
        """
        room = self._room
        while room.bytes_held > room.bytes_max and self._entries:
            before = self._bytes_held
            key = next(iter(self._entries))
            eldest = self._remove(key)
            if key in self._dirty:
                self.on_flush(self._entry(key, eldest))
            room.bytes_held += self._bytes_held - before

    def _entry(self, key: bytes, held: _Held) -> CacheEntry:
        row_key, stored, timestamp, write, size_bytes = held
        origin = ProcessorRecordContext._make(self._origins[write])
        return CacheEntry(key, row_key, stored, timestamp, origin, size_bytes)

    def _clean_eldest(self, excess_bytes: int, kept: Container[bytes]) -> list[bytes] | None:
        """Returns the entries that go first to free so much; None where one of them is dirty, or to be kept."""
        gone: list[bytes] = []
        dirty = self._dirty
        for key, held in self._entries.items():
            if excess_bytes <= 0:
                break
            if key in dirty or key in kept:
                return None
            gone.append(key)
            excess_bytes -= held[_BYTES]
        return gone if excess_bytes <= 0 else None

    def _in_order(self) -> list[bytes]:
        if self._order is None:
            self._order = sorted(self._entries)
        return self._order

    def _remove(self, key: bytes) -> _Held:
        held = self._entries.pop(key)
        self._bytes_held -= held[_BYTES]
        if self._order is not None:
            del self._order[bisect_left(self._order, key)]
        return held


def _refuse_unconnected(entry: CacheEntry | None) -> None:
    raise AssertionError(f"a store says what becomes of the rows of its cache: {entry!r}")
