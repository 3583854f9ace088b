"""Window stores with timestamps and without duplicates: the stores of windowed tables.

A row's value is timestamp (8) ++ value, its changelog value the value alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.streams.state.cache import CacheEntry
from millstream.streams.state.changelog import Headers
from millstream.streams.state.read_only import Stored
from millstream.streams.state.running_rows import RunningRows, Written
from millstream.streams.state.segmented import pack_time, unpack_time
from millstream.streams.state.store import DECODED_ROWS_MAX, Change, StoreParts
from millstream.streams.state.window_rows import NO_SEQUENCE, WindowRows

Row = tuple[Stored, int]


class TimestampedWindowStore(WindowRows):
    """One (value, timestamp) per key and window start. Values of immutable serdes stay decoded between reads."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._keeps = parts.value.immutable
        self._decoded: dict[bytes, Row] = {}
        self._pack_row_start = pack_time
        """Of a timestamp: what a row begins with that an operator writes."""

    def row_at(self, key: object, start: int) -> Row | None:
        if start < self.oldest_visible():
            return None
        return self._row(self.key_bytes(key), start)

    def _row(self, data: bytes, start: int) -> Row | None:
        row_key = self.row_key(data, start)
        row = self._decoded.get(row_key)
        if row is not None:
            return row
        stored = self.rows.get(row_key)
        if stored is None:
            return None
        row = self.decode_row(stored)
        if self._keeps:
            self._decoded[row_key] = row
        return row

    def put(self, key: object, value: object, start: int, timestamp: int) -> None:
        """Set the row of a key and window start; a None value deletes it."""
        data, written = self.encoded(key, value)
        stored = None if written is None else pack_time(timestamp) + written
        log_key = data + pack_time(start) + NO_SEQUENCE
        if self.cache is not None:
            self.cache.write(self.row_key(data, start), log_key, stored, timestamp)
        if self.admits(start):
            row_key = self.row_key(data, start)
            self.rows.pending[row_key] = stored
            if stored is None:
                self._decoded.pop(row_key, None)
            elif self._keeps:
                self._decoded[row_key] = (value, timestamp)
        if self.changelog is not None and self.cache is None:
            self.changelog.append(log_key, written, timestamp)

    @property
    def takes_columns(self) -> bool:
        return self._keeps

    def keeps_open_windows(self, stream_time: int, open_ms: int) -> bool:
        """Whether no window that starts within this time before stream time has expired, or can expire now."""
        return self._retention_ms >= open_ms and stream_time >= self._newest

    def running_rows(self, start: int) -> RunningRows:
        """The rows of a window as they are, by key; to be given back to `write_windows`."""
        return RunningRows(lambda data: self._row(data, start))

    def write_windows(self, rows: Iterable[tuple[bytes, int, Row]], written: Written) -> None:
        """Set rows, by key's bytes and start, as a batch has left them; those that are too old by now are forgotten.

        `written` is every single step on the way, for the changelog.
        """
        if self.cache is not None:
            rows = list(rows)
            self._write_to_cache({(data, start): row for data, start, row in rows}, written)
        decoded, pending = self._decoded, self.rows.pending
        pack, encode = self._pack_row_start, self._encode_value
        for data, start, row in rows:
            self.advance(start)
            if start < self._deleted_before:
                continue
            value, timestamp = row
            row_key = self.row_key(data, start)
            if value is None:
                pending[row_key] = None
                decoded.pop(row_key, None)
            else:
                pending[row_key] = pack(timestamp) + encode(value)
                decoded[row_key] = row
        if self.changelog is not None and self.cache is None:
            self.changelog.extend(written.keys, written.values, written.timestamps)

    def _write_to_cache(self, rows: Mapping[tuple[bytes, int], Row], written: Written) -> None:
        assert self.cache is not None, "asked for only where there is one"
        for log_key in reversed(dict.fromkeys(reversed(written.keys))):
            data, start = log_key[:-12], unpack_time(log_key, len(log_key) - 12)[0]
            value, timestamp = rows[data, start]
            stored = None
            if value is not None:
                stored = self._pack_row_start(timestamp) + self._encode_value(value)
            self.cache.write(self.row_key(data, start), log_key, stored, timestamp)

    def logged_value(self, stored: bytes) -> bytes:
        return stored[8:]

    def change_of(self, entry: CacheEntry) -> Change:
        data, start = self.split(entry.row_key)
        new, old = (
            None if stored is None else self.decode_row(stored)[0]
            for stored in (entry.stored, entry.before)
        )
        return Change(self.window(data, start), new, old, entry.timestamp, entry.origin)

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        super().commit(changelog_offset=changelog_offset, marker=marker)
        if len(self._decoded) > DECODED_ROWS_MAX:
            self._decoded.clear()

    def discard(self) -> None:
        super().discard()
        self._decoded.clear()

    def close(self) -> None:
        super().close()
        self._decoded.clear()

    def restore_row(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        start = unpack_time(key, len(key) - 12)[0]
        self.advance(start)
        if not self.is_expired(start):
            row_key = self.row_key(key[:-12], start)
            self.forget(row_key)
            row = None if value is None else self.restored_row(value, timestamp, headers)
            self.rows.put(row_key, row)

    def restored_row(self, value: bytes, timestamp: int, _headers: Headers) -> bytes:
        """The stored form of a changelog record."""
        return pack_time(timestamp) + value

    def forget(self, row_key: bytes) -> None:
        self._decoded.pop(row_key, None)

    def decode_row(self, stored: bytes) -> Row:
        return self._decode_value(stored[8:]), unpack_time(stored)[0]
