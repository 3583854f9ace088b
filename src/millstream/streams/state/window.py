"""Window stores: rows of a key and a window start.

Bytes: a changelog key is key ++ start (8) ++ sequence number (4), as in Kafka Streams; a row's key is the same
behind its segment, or start ++ key ++ sequence number where the store is time-ordered. A row's value is
timestamp (8) ++ value, its changelog value the value alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed
from millstream.streams.state.cache import CacheEntry
from millstream.streams.state.segmented import SegmentedStore, pack_time, unpack_time
from millstream.streams.state.store import DECODED_ROWS_MAX, Change, StoreParts

_SEQUENCE = b"\x00\x00\x00\x00"
Row = tuple[object, int]


class WindowStore(SegmentedStore):
    """Timestamped windows without duplicates: one (value, timestamp) per key and start."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        assert parts.spec.window_size_ms is not None, "a window store has a window size"
        self._window_size_ms = parts.spec.window_size_ms
        self._keeps = parts.value.immutable
        self._decoded: dict[bytes, Row] = {}

    def get(self, key: object, start: int) -> Row | None:
        """The row of a key and window start, or None where there is none or it has expired."""
        if start < self.oldest_visible():
            return None
        row_key = self._row_key(self._encode_key(key), start)
        row = self._decoded.get(row_key)
        if row is not None:
            return row
        stored = self.rows.get(row_key)
        if stored is None:
            return None
        row = self._decode(stored)
        if self._keeps:
            self._decoded[row_key] = row
        return row

    def put(self, key: object, value: object, start: int, timestamp: int) -> None:
        """Set the row of a key and window start; a None value deletes it."""
        data, written = self.encoded(key, value)
        stored = None if written is None else pack_time(timestamp) + written
        log_key = data + pack_time(start) + _SEQUENCE
        if self.cache is not None:
            self.cache.write(self._row_key(data, start), log_key, stored, timestamp)
        self.advance(start)
        if self.is_expired(start):
            self.expired_puts += 1
        else:
            row_key = self._row_key(data, start)
            self.rows.pending[row_key] = stored
            if stored is None:
                self._decoded.pop(row_key, None)
            elif self._keeps:
                self._decoded[row_key] = (value, timestamp)
        if self.changelog is not None and self.cache is None:
            self.changelog.append(log_key, written, timestamp)

    def logged_value(self, stored: bytes) -> bytes:
        return stored[8:]

    def change_of(self, entry: CacheEntry) -> Change:
        data, start = self._split(entry.row_key)
        end = min(start + self._window_size_ms, MAX_TIMESTAMP)
        new, old = (
            None if stored is None else self._decode_value(stored[8:])
            for stored in (entry.stored, entry.before)
        )
        window = Windowed(self._key.decode(data), start, end)
        return Change(window, new, old, entry.timestamp, entry.origin)

    def fetch(
        self, key: object, first: int, last: int, *, reverse: bool = False
    ) -> list[tuple[int, Row]]:
        """(start, row) of one key's visible windows with first <= start <= last, by time."""
        data = self._encode_key(key)
        low = max(first, self.oldest_visible())
        found = []
        for row_key, stored in self.rows_of(data, low, last, reverse=reverse):
            row_data, start = self._split(row_key)
            if row_data == data:
                found.append((start, self._decode(stored)))
        return found

    def fetch_all(
        self, first: int = 0, last: int = MAX_TIMESTAMP
    ) -> Iterator[tuple[Windowed[object], Row]]:
        """Visible rows whose start is in [first, last].

        By time where the store is time-ordered or in memory, otherwise by segment, key and time.
        """
        low = max(first, self.oldest_visible())
        rows = self.rows_between(low, last)
        found: Iterator[tuple[bytes, int, bytes]]
        found = ((*self._split(key), stored) for key, stored in rows)
        if not (self._time_first or self.spec.persistent):
            found = iter(sorted(found, key=lambda row: (row[1], row[0])))
        size = self._window_size_ms
        for data, start, stored in found:
            window = Windowed(self._key.decode(data), start, min(start + size, MAX_TIMESTAMP))
            yield window, self._decode(stored)

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        super().commit(changelog_offset=changelog_offset, marker=marker)
        if len(self._decoded) > DECODED_ROWS_MAX:
            self._decoded.clear()

    def discard(self) -> None:
        super().discard()
        self._decoded.clear()

    def restore_row(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        start = unpack_time(key, len(key) - 12)[0]
        self.advance(start)
        if not self.is_expired(start):
            row_key = self._row_key(key[:-12], start)
            self.forget(row_key)
            self.rows.put(row_key, None if value is None else pack_time(timestamp) + value)

    def row_time(self, row_key: bytes) -> int:
        return self._split(row_key)[1]

    def forget(self, row_key: bytes) -> None:
        self._decoded.pop(row_key, None)

    def _decode(self, stored: bytes) -> Row:
        return self._decode_value(stored[8:]), unpack_time(stored)[0]

    def _row_key(self, data: bytes, start: int) -> bytes:
        if self._time_first:
            return self.segment(start) + pack_time(start) + data + _SEQUENCE
        return self.segment(start) + data + pack_time(start) + _SEQUENCE

    def _split(self, row_key: bytes) -> tuple[bytes, int]:
        if self._time_first:
            return row_key[16:-4], unpack_time(row_key, 8)[0]
        return row_key[8:-12], unpack_time(row_key, len(row_key) - 12)[0]
