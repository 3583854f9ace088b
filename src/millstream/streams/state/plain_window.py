"""Window stores without timestamps: values of a key and a start, several of them where duplicates are kept.

Stream-stream joins keep their records here. Bytes as in Kafka Streams: key ++ start (8) ++ sequence number (4);
with duplicates every put takes the next sequence number, and putting None changes nothing but the changelog.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed
from millstream.streams.state.segmented import SegmentedStore, pack_time, unpack_time
from millstream.streams.state.store import StoreParts

_SEQUENCE = Struct(">i")
_SEQUENCE_NAME = "sequence"


class PlainWindowStore(SegmentedStore):
    """Values by key and window start."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        assert parts.spec.window_size_ms is not None, "a window store has a window size"
        self._window_size_ms = parts.spec.window_size_ms
        self._duplicates = parts.spec.retain_duplicates

    def put(self, key: object, value: object, start: int) -> None:
        """Add a value, or set it where duplicates are not kept; None deletes it there."""
        data, written = self.encoded(key, value)
        log_key = data + pack_time(start) + _SEQUENCE.pack(self._next_sequence())
        deletes_nothing = written is None and self._duplicates
        if not (
            deletes_nothing and self.spec.persistent
        ):  # in memory it still counts as the newest
            self.advance(start)
            if self.is_expired(start):
                self.expired_puts += 1
            elif not deletes_nothing:
                self.rows.put(self.segment(start) + log_key, written)
        if self.changelog is not None:
            headers = self.record_headers() if self.spec.log_headers else ()
            self.changelog.append(log_key, written, self.now(), headers)

    def get(self, key: object, start: int) -> object:
        """The value of a key and start, or None."""
        found = self.fetch(key, start, start)
        return found[0][1] if found else None

    def fetch(
        self, key: object, first: int, last: int, *, reverse: bool = False
    ) -> list[tuple[int, object]]:
        """(start, value) of one key's visible rows with first <= start <= last, by time."""
        data = self._encode_key(key)
        low = max(first, self.oldest_visible())
        if last < low:
            return []
        return [
            (self.row_time(row_key), self._decode_value(stored))
            for row_key, stored in self.rows_of(data, low, last, reverse=reverse)
            if row_key[8:-12] == data
        ]

    def fetch_all(
        self, first: int = 0, last: int = MAX_TIMESTAMP
    ) -> Iterator[tuple[Windowed[object], object]]:
        """Visible rows whose start is in [first, last], by segment, key and time; in memory by time."""
        low = max(first, self.oldest_visible())
        found = [(self.row_time(k), k[8:-12], v) for k, v in self.rows_between(low, last)]
        if not self.spec.persistent:
            found.sort(key=lambda row: row[:2])
        for start, data, stored in found:
            end = min(start + self._window_size_ms, MAX_TIMESTAMP)
            yield Windowed(self._key.decode(data), start, end), self._decode_value(stored)

    def restore_row(self, key: bytes, value: bytes | None, _timestamp: int) -> None:
        start = unpack_time(key, len(key) - 12)[0]
        if value is None and self._duplicates:
            return
        self.advance(start)
        if not self.is_expired(start):
            self.rows.put(self.segment(start) + key, value)

    def row_time(self, row_key: bytes) -> int:
        return int(unpack_time(row_key, len(row_key) - 12)[0])

    def _next_sequence(self) -> int:
        if not self._duplicates:
            return 0
        number = self.times[_SEQUENCE_NAME] = self.times.get(_SEQUENCE_NAME, 0) + 1 & 0x7FFFFFFF
        return number
