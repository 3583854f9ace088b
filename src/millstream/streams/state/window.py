"""Window stores: rows of a key and a window start, kept for the retention time and forgotten by segments.

Bytes: a changelog key is key ++ start (8) ++ sequence number (4), as in Kafka Streams; a row's key has its
segment (8) in front, so that old segments are one range. Time-ordered stores, which emit windows when they
close, put the start before the key. A row's value is timestamp (8) ++ value, its changelog value the value alone.

Retention counts from the newest window start that was put (not from stream time): a row is visible while its
start is larger than newest - retention. The persistent time-ordered store alone also shows the row at exactly
that time (both measured on Kafka Streams 4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from millstream.streams.errors import StreamsError
from millstream.streams.serdes.windowed import MAX_TIMESTAMP, Windowed
from millstream.streams.state.store import DECODED_ROWS_MAX, StateStore, StoreParts

_LONG = Struct(">q")
_pack = _LONG.pack
_unpack = _LONG.unpack_from
_SEQUENCE = b"\x00\x00\x00\x00"
_SEGMENT_MS_MIN = 60_000


class WindowStore(StateStore):
    """Timestamped windows without duplicates: one (value, timestamp) per key and start."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        spec = parts.spec
        assert spec.retention_ms is not None, "a window store has a retention"
        assert spec.window_size_ms is not None, "a window store has a window size"
        self._retention_ms = spec.retention_ms
        self._window_size_ms = spec.window_size_ms
        self._segment_ms = max(spec.retention_ms // 2, _SEGMENT_MS_MIN)
        self._time_first = spec.time_ordered
        self._shows_edge = spec.time_ordered and spec.persistent
        self._keeps = parts.value.immutable
        self._decoded: dict[bytes, tuple[object, int]] = {}
        self._newest = self._newest_stored_start()
        self.expired_puts = 0
        """Rows that were too old to be stored; the task adds them to its dropped records."""

    def get(self, key: object, start: int) -> tuple[object, int] | None:
        """The row of a key and window start, or None where there is none or it has expired."""
        if start < self._oldest_visible():
            return None
        row_key = self._row_key(self._encode_key(key), start)
        row = self._decoded.get(row_key)
        if row is not None:
            return row
        stored = self.rows.get(row_key)
        if stored is None:
            return None
        row = (self._decode_value(stored[8:]), _unpack(stored)[0])
        if self._keeps:
            self._decoded[row_key] = row
        return row

    def put(self, key: object, value: object, start: int, timestamp: int) -> None:
        """Set the row of a key and window start; a None value deletes it."""
        try:
            data = self._encode_key(key)
            written = None if value is None else self._encode_value(value)
        except StreamsError:
            raise
        except Exception as error:
            raise self._unwritable(key, value) from error
        self._advance(start)
        if self._is_expired(start):
            self.expired_puts += 1
        else:
            row_key = self._row_key(data, start)
            if written is None:
                self.rows.pending[row_key] = None
                self._decoded.pop(row_key, None)
            else:
                self.rows.pending[row_key] = _pack(timestamp) + written
                if self._keeps:
                    self._decoded[row_key] = (value, timestamp)
        if self.changelog is not None:
            self.changelog.append(data + _pack(start) + _SEQUENCE, written, timestamp)

    def fetch_all(
        self, first: int = 0, last: int = MAX_TIMESTAMP
    ) -> Iterator[tuple[Windowed[object], tuple[object, int]]]:
        """Visible rows whose start is in [first, last]: by time where the store is time-ordered or in
        memory, otherwise by segment, key and time.
        """
        low = max(first, self._oldest_visible(), 0)
        found = self._in_segments(low, last)
        if not (self._time_first or self.spec.persistent):
            found = iter(sorted(found, key=lambda row: (row[1], row[0])))
        size = self._window_size_ms
        for data, start, stored in found:
            window = Windowed(self._key.decode(data), start, min(start + size, MAX_TIMESTAMP))
            yield window, (self._decode_value(stored[8:]), _unpack(stored)[0])

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        super().commit(changelog_offset=changelog_offset, marker=marker)
        if len(self._decoded) > DECODED_ROWS_MAX:
            self._decoded.clear()

    def discard(self) -> None:
        super().discard()
        self._decoded.clear()
        self._newest = self._newest_stored_start()

    def restore_row(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        start = _unpack(key, len(key) - 12)[0]
        self._advance(start)
        if not self._is_expired(start):
            row_key = self._row_key(key[:-12], start)
            self._decoded.pop(row_key, None)
            self.rows.put(row_key, None if value is None else _pack(timestamp) + value)

    def _row_key(self, data: bytes, start: int) -> bytes:
        segment = _pack(start // self._segment_ms)
        if self._time_first:
            return segment + _pack(start) + data + _SEQUENCE
        return segment + data + _pack(start) + _SEQUENCE

    def _split(self, row_key: bytes) -> tuple[bytes, int]:
        if self._time_first:
            return row_key[16:-4], _unpack(row_key, 8)[0]
        return row_key[8:-12], _unpack(row_key, len(row_key) - 12)[0]

    def _in_segments(self, low: int, last: int) -> Iterator[tuple[bytes, int, bytes]]:
        first_segment, end_segment = low // self._segment_ms, last // self._segment_ms + 1
        end = None if end_segment > MAX_TIMESTAMP else _pack(end_segment)
        for row_key, stored in self.rows.scan(_pack(first_segment), end):
            data, start = self._split(row_key)
            if low <= start <= last:
                yield data, start, stored

    def _oldest_visible(self) -> int:
        oldest = self._newest - self._retention_ms
        return oldest if self._shows_edge else oldest + 1

    def _is_expired(self, start: int) -> bool:
        """Whether a row is too old to be stored: by segment on disk, by time in memory."""
        oldest = self._newest - self._retention_ms
        if self.spec.persistent:
            return start // self._segment_ms < oldest // self._segment_ms
        return start <= oldest

    def _advance(self, start: int) -> None:
        """Note a new newest start; when it opens a segment, delete the segments that are too old."""
        if start <= self._newest:
            return
        opens_segment = start // self._segment_ms > self._newest // self._segment_ms
        self._newest = start
        oldest_segment = (start - self._retention_ms) // self._segment_ms
        if opens_segment and oldest_segment > 0:
            for row_key, _ in list(self.rows.scan(b"", _pack(oldest_segment))):
                self.rows.put(row_key, None)
                self._decoded.pop(row_key, None)

    def _newest_stored_start(self) -> int:
        """The newest start in the newest segment, -1 in an empty store."""
        newest = -1
        segment = None
        for row_key, _ in self.rows.scan(b"", None, reverse=True):
            if segment is not None and row_key[:8] != segment:
                break
            segment = row_key[:8]
            newest = max(newest, self._split(row_key)[1])
        return newest
