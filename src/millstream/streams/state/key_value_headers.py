"""Key-value stores that keep the headers of each row: Kafka Streams' TimestampedKeyValueStoreWithHeaders (KIP-1271).

A changelog record of a row has the row's headers; that of a deletion has those of the record being processed.
"""

from __future__ import annotations

from collections.abc import Iterable

from millstream.streams.state.changelog import Headers
from millstream.streams.state.header_rows import (
    ValueTimestampHeaders,
    as_row,
    pack_time_without_headers,
    split_headers,
    with_headers,
    without_headers,
)
from millstream.streams.state.key_value import TimestampedKeyValueStore
from millstream.streams.state.segmented import pack_time, unpack_time
from millstream.streams.state.store import StoreParts


class TimestampedKeyValueStoreWithHeaders(TimestampedKeyValueStore):
    """Rows are ValueTimestampHeaders. Operators of the DSL put theirs without headers (KIP-1285)."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._pack_row_start = pack_time_without_headers

    def get(self, key: object) -> ValueTimestampHeaders | None:
        return as_row(super().get(key))

    def put(self, key: object, value: object, timestamp: int, headers: Headers = ()) -> None:
        """Set the row of a key; a None value deletes it."""
        data, written = self.encoded(key, value)
        stored = None if written is None else with_headers(pack_time(timestamp) + written, headers)
        if self.cache is not None:
            self.cache.write(data, data, stored, timestamp, self.record_headers())
        self.rows.pending[data] = stored
        if stored is None:
            self._decoded.pop(data, None)
        elif self._keeps:
            self._decoded[data] = ValueTimestampHeaders(value, timestamp, headers)
        if self.changelog is not None and self.cache is None:
            logged = self.logged_headers(stored, self.record_headers())
            self.changelog.append(data, written, timestamp, logged)

    def put_if_absent(
        self, key: object, value: object, timestamp: int, headers: Headers = ()
    ) -> ValueTimestampHeaders | None:
        """Set the row of a key that has none; gives the row it had."""
        known = self.get(key)
        if known is None:
            self.put(key, value, timestamp, headers)
        return known

    def put_all(self, rows: Iterable[tuple[object, tuple[object, int]]]) -> None:
        """Set the rows of several keys, given as `all` gives them, or as pairs without headers."""
        for key, row in rows:
            value, timestamp = row
            self.put(key, value, timestamp, getattr(row, "headers", ()))

    @property
    def takes_columns(self) -> bool:
        """Not of records with headers: each logs deletions with its own."""
        return super().takes_columns and not self.record_headers()

    def decode_row(self, stored: bytes) -> ValueTimestampHeaders:
        headers, row = split_headers(stored)
        return ValueTimestampHeaders(self._decode_value(row[8:]), unpack_time(row)[0], headers)

    def logged_value(self, stored: bytes) -> bytes:
        return without_headers(stored)[8:]

    def restore_row(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> None:
        self._decoded.pop(key, None)
        row = None if value is None else with_headers(pack_time(timestamp) + value, headers)
        self.rows.put(key, row)
