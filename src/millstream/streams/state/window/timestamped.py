"""Window stores with timestamps and without duplicates: the stores of windowed tables, with
headers or without (KIP-1271).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from millstream.streams.serdes.serde import Serde
from millstream.streams.serdes.windowed import time_windowed
from millstream.streams.state.cache import NOT_CACHED, RecordCache
from millstream.streams.state.changelog import Headers
from millstream.streams.state.headers import ValueTimestampHeaders, as_row
from millstream.streams.state.rows.running import EncodedRows, RunningRows, WrittenRows
from millstream.streams.state.rows.segmented import pack_time, unpack_time
from millstream.streams.state.rows.timestamped import (
    Row,
    TimestampedRows,
    TimestampedRowsWithHeaders,
)
from millstream.streams.state.window.rows import NO_SEQUENCE, WindowRows

Found = TypeVar("Found")
"""A row, decoded or as it is stored."""


class TimestampedWindowStore(TimestampedRows, WindowRows):
    """One (value, timestamp) per key and window start."""

    def row_at(self, key: object, start: int) -> Row | None:
        return self._row(self.key_bytes(key) + pack_time(start))

    def _row(self, windowed: bytes) -> Row | None:
        (start,) = unpack_time(windowed, len(windowed) - 8)
        row_key = self.row_key(windowed, start)
        stored = NOT_CACHED if self.cache is None else self.cache.get(self.cache_key(row_key))
        if stored is not NOT_CACHED:
            pass
        elif start < self.oldest_visible():
            return None
        elif (row := self._decoded.get(row_key)) is not None:
            return row
        else:
            stored = self.rows.get(row_key)
        return None if stored is None else self.decoded_row(row_key, stored)

    def _stored(self, windowed: bytes) -> bytes | None:
        (start,) = unpack_time(windowed, len(windowed) - 8)
        row_key = self.row_key(windowed, start)
        stored = NOT_CACHED if self.cache is None else self.cache.get(self.cache_key(row_key))
        if stored is not NOT_CACHED:
            return stored
        return None if start < self.oldest_visible() else self.rows.get(row_key)

    def put(self, key: object, value: object, start: int, timestamp: int) -> None:
        """Set the row of a key and window start; a None value deletes it."""
        data, written = self.encoded(key, value)
        row = None if written is None else (value, timestamp)
        stored = None if written is None else pack_time(timestamp) + written
        self._put(data, start, row, stored, timestamp)

    def _put(
        self, data: bytes, start: int, row: Row | None, stored: bytes | None, timestamp: int
    ) -> None:
        row_key = self.row_key(data + pack_time(start), start)
        self.note_row(row_key, row)
        self.put_row(row_key, stored, timestamp)

    def keeps_open_windows(self, stream_time: int, open_ms: int) -> bool:
        """Whether no window that starts within this time before stream time has expired, or can expire now."""
        return self._retention_ms >= open_ms and stream_time >= self._observed

    def running_rows(self) -> RunningRows | EncodedRows:
        """Returns the rows as they are, by the bytes of key ++ start; to be given back to `write_windows`."""
        if self.keeps_decoded:
            return RunningRows(self._unless_new(self._row), self._not_new)
        return EncodedRows(self._unless_new(self._stored), self.decode_row, self.encoded_row)

    def key_of(self, data: bytes) -> object:
        return self._key.decode(data[:-8])

    def _unless_new(self, read: Callable[[bytes], Found | None]) -> Callable[[bytes], Found | None]:
        """Returns `read` of rows that may be there: none so new as others was ever put.

        Starts compare as their bytes do.
        """
        newest = self._newest_start()

        def read_unless_new(windowed: bytes) -> Found | None:
            return None if windowed[-8:] > newest else read(windowed)

        return read_unless_new

    def _not_new(self, names: Iterable[bytes]) -> list[bytes]:
        newest = self._newest_start()
        return [windowed for windowed in names if windowed[-8:] <= newest]

    def _newest_start(self) -> bytes:
        return pack_time(max(self._newest, self._newest_cached, 0))

    def write_windows(self, rows: Mapping[bytes, Row] | EncodedRows, written: WrittenRows) -> None:
        """Set rows, by the bytes of key ++ start, as a batch has left them; those that are
        too old by now are forgotten.

        `written` is every single step on the way, for the changelog.
        """
        if self.cache is not None:
            self._write_to_cache(self.cache, rows, list(written.latest_keys()))
            return
        is_encoded = isinstance(rows, EncodedRows)
        found = rows.stored if isinstance(rows, EncodedRows) else rows
        decoded, pending = self._decoded, self.rows.pending
        pack, encode = self._pack_row_start, self._encode_value
        for windowed, row in found.items():
            (start,) = unpack_time(windowed, len(windowed) - 8)
            self.advance(start)
            if start < self._deleted_before:
                continue
            value, timestamp = row
            row_key = self.row_key(windowed, start)
            if is_encoded:
                pending[row_key] = value
            elif value is None:
                pending[row_key] = None
                decoded.pop(row_key, None)
            else:
                pending[row_key] = pack(timestamp) + encode(value)
                decoded[row_key] = row
        if self.changelog is not None:
            log_keys = [windowed + NO_SEQUENCE for windowed in written.keys]
            self.changelog.extend(log_keys, written.values, written.timestamps)

    def _write_to_cache(
        self, cache: RecordCache, rows: Mapping[bytes, Row] | EncodedRows, names: list[bytes]
    ) -> None:
        row_keys, starts = self.row_keys(names)
        keys = list(map(self.cache_key, row_keys)) if self.cache_keys_differ else row_keys
        if isinstance(rows, RunningRows) and self.cached_together(rows, names, row_keys, keys):
            self._newest_cached = max(self._newest_cached, max(starts, default=-1))
        else:
            found = zip(names, row_keys, keys, starts, strict=True)
            cache.write_all(self._rows_for_cache(rows, found), self.origin())

    def _rows_for_cache(
        self,
        rows: Mapping[bytes, Row] | EncodedRows,
        names: Iterable[tuple[bytes, bytes, bytes, int]],
    ) -> Iterator[tuple[bytes, bytes, bytes | None, int]]:
        """Yields rows as a cache takes them, one by one, for each may have to make room for the next.

        `names`: what each is found by, its keys in the store and in the cache, and the start of its window.
        """
        is_encoded = isinstance(rows, EncodedRows)
        found = rows.stored if isinstance(rows, EncodedRows) else rows
        decoded = self._decoded
        pack, encode = self._pack_row_start, self._encode_value
        for windowed, row_key, key, start in names:
            value, timestamp = row = found[windowed]
            if is_encoded:
                stored = value
            elif value is None:
                decoded.pop(row_key, None)
                stored = None
            else:
                decoded[row_key] = row
                stored = pack(timestamp) + encode(value)
            yield key, row_key, stored, timestamp
            if start > self._newest_cached:  # noqa: PLR1730  # a call takes longer
                self._newest_cached = start

    @property
    def table_key_serde(self) -> Serde[Any]:  # Any: tables of any type
        return time_windowed(self._key, self._window_size_ms)

    def table_keys(self, log_keys: list[bytes | None]) -> list[bytes | None]:
        return [None if log_key is None else log_key[: -len(NO_SEQUENCE)] for log_key in log_keys]

    def restore_row(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        start = unpack_time(key, len(key) - 12)[0]
        if self.admits_restored(start):
            row_key = self.row_key(key[:-4], start)
            self.forget(row_key)
            row = None if value is None else self.row_bytes(value, timestamp, headers)
            self.rows.put(row_key, row)


class TimestampedWindowStoreWithHeaders(TimestampedRowsWithHeaders, TimestampedWindowStore):
    """Rows are ValueTimestampHeaders: Kafka Streams' TimestampedWindowStoreWithHeaders."""

    def row_at(self, key: object, start: int) -> ValueTimestampHeaders | None:
        return as_row(super().row_at(key, start))

    def put(
        self, key: object, value: object, start: int, timestamp: int, headers: Headers = ()
    ) -> None:
        """Set the row of a key and window start; a None value deletes it."""
        data, written = self.encoded(key, value)
        row = None if written is None else ValueTimestampHeaders(value, timestamp, headers)
        stored = None if written is None else self.row_bytes(written, timestamp, headers)
        self._put(data, start, row, stored, timestamp)
