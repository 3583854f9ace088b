"""Base of timestamped stores with headers: rows are ValueTimestampHeaders (KIP-1271).

A changelog record of a row has the row's headers; that of a deletion has those of the record being processed.
"""

from __future__ import annotations

from collections.abc import Sequence

from millstream.streams.state.changelog import Headers
from millstream.streams.state.headers import (
    ValueTimestampHeaders,
    pack_time_without_headers,
    split_headers,
    with_headers,
    without_headers,
)
from millstream.streams.state.rows.segmented import pack_time, unpack_time
from millstream.streams.state.rows.timestamped import TimestampedRows
from millstream.streams.state.store import StateStore, StoreParts


class TimestampedRowsWithHeaders(TimestampedRows):
    """Operators of the DSL put their rows without headers (KIP-1285)."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._pack_row_start = pack_time_without_headers

    @property
    def takes_columns(self) -> bool:
        """Whether columns are taken: not of records with headers, since each logs deletions with its own."""
        return super().takes_columns and not self.record_headers()

    def decode_row(self, stored: bytes) -> ValueTimestampHeaders:
        headers, row = split_headers(stored)
        return ValueTimestampHeaders(self._decode_value(row[8:]), unpack_time(row)[0], headers)

    def logged_value(self, stored: bytes) -> bytes:
        return without_headers(stored)[8:]

    def logged_column(self, stored: Sequence[bytes | None]) -> list[bytes | None]:
        return StateStore.logged_column(self, stored)

    def row_bytes(self, value: bytes, timestamp: int, headers: Headers) -> bytes:
        return with_headers(pack_time(timestamp) + value, headers)

    def row_column(
        self,
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
    ) -> list[bytes | None]:
        given = [()] * len(values) if headers is None else headers
        return [
            None if value is None else self.row_bytes(value, timestamp, of_row)
            for value, timestamp, of_row in zip(values, timestamps, given, strict=True)
        ]
