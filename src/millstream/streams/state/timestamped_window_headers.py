"""Window stores that keep the headers of each row: Kafka Streams' TimestampedWindowStoreWithHeaders (KIP-1271).

A changelog record of a row has the row's headers; that of a deletion has those of the record being processed.
"""

from __future__ import annotations

from millstream.streams.state.changelog import Headers
from millstream.streams.state.header_rows import (
    ValueTimestampHeaders,
    as_row,
    pack_time_without_headers,
    split_headers,
    with_headers,
    without_headers,
)
from millstream.streams.state.segmented import pack_time, unpack_time
from millstream.streams.state.store import StoreParts
from millstream.streams.state.timestamped_window import TimestampedWindowStore
from millstream.streams.state.window_rows import NO_SEQUENCE


class TimestampedWindowStoreWithHeaders(TimestampedWindowStore):
    """Rows are ValueTimestampHeaders. Operators of the DSL put theirs without headers (KIP-1285)."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._pack_row_start = pack_time_without_headers

    def row_at(self, key: object, start: int) -> ValueTimestampHeaders | None:
        return as_row(super().row_at(key, start))

    def put(
        self, key: object, value: object, start: int, timestamp: int, headers: Headers = ()
    ) -> None:
        """Set the row of a key and window start; a None value deletes it."""
        data, written = self.encoded(key, value)
        stored = None if written is None else with_headers(pack_time(timestamp) + written, headers)
        log_key = data + pack_time(start) + NO_SEQUENCE
        row_key = self.row_key(data, start)
        if self.cache is not None:
            self.cache.write(row_key, log_key, stored, timestamp, self.record_headers())
        if self.admits(start):
            self.rows.pending[row_key] = stored
            if stored is None:
                self._decoded.pop(row_key, None)
            elif self._keeps:
                self._decoded[row_key] = ValueTimestampHeaders(value, timestamp, headers)
        if self.changelog is not None and self.cache is None:
            logged = self.logged_headers(stored, self.record_headers())
            self.changelog.append(log_key, written, timestamp, logged)

    @property
    def takes_columns(self) -> bool:
        """Not of records with headers: each logs deletions with its own."""
        return super().takes_columns and not self.record_headers()

    def decode_row(self, stored: bytes) -> ValueTimestampHeaders:
        headers, row = split_headers(stored)
        return ValueTimestampHeaders(self._decode_value(row[8:]), unpack_time(row)[0], headers)

    def logged_value(self, stored: bytes) -> bytes:
        return without_headers(stored)[8:]

    def restored_row(self, value: bytes, timestamp: int, headers: Headers) -> bytes:
        return with_headers(pack_time(timestamp) + value, headers)
