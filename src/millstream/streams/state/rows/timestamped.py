"""Base of timestamped stores: rows of (value, timestamp), which stay decoded between reads.

A row is timestamp (8 bytes) ++ value, and its changelog record is the value alone with the timestamp as the record's
own: Kafka Streams' formats. Where a row lies is the business of the key-value and window stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Final

from millstream.streams.errors import StreamsError
from millstream.streams.state.cache import CachedRows
from millstream.streams.state.changelog import Headers
from millstream.streams.state.headers import (
    ValueTimestampHeaders,
    pack_time_without_headers,
    split_headers,
    with_headers,
    without_headers,
)
from millstream.streams.state.read_only import Stored
from millstream.streams.state.rows.running import RunningRows
from millstream.streams.state.rows.segmented import pack_time, unpack_time
from millstream.streams.state.store import StateStore, StoreParts

Row = tuple[Stored, int]
_DECODED_ROWS_MAX: Final = 100_000
"""No more decoded rows outlive a commit, or a store of many keys would come to keep all of them as objects, too."""


class TimestampedRows(StateStore):
    """Rows stay decoded only where the serde of their values says that those are immutable."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self.keeps_decoded = parts.value.immutable
        """Whether rows stay decoded."""
        self._decoded: dict[bytes, Row] = {}
        """Rows as they are read: those of the cache, where it has them, or else of the store."""
        self._pack_row_start = pack_time
        """Of a timestamp: what a row begins with that an operator writes."""

    @property
    def takes_columns(self) -> bool:
        return not self.spec.log_headers

    def decode_row(self, stored: bytes) -> Row:
        return self._decode_value(stored[8:]), unpack_time(stored)[0]

    def logged_value(self, stored: bytes) -> bytes:
        return stored[8:]

    def logged_column(self, stored: Sequence[bytes | None]) -> list[bytes | None]:
        """Returns the changelog's form of a column of stored rows; of None, a deletion, None."""
        return [None if row is None else row[8:] for row in stored]

    def row_bytes(self, value: bytes, timestamp: int, _headers: Headers) -> bytes:
        """Returns the stored form of a value."""
        return pack_time(timestamp) + value

    def row_column(
        self,
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        _headers: Sequence[Headers] | None,
    ) -> list[bytes | None]:
        """Returns the stored form of a column of values; of None, a deletion, None."""
        return [
            None if value is None else pack_time(timestamp) + value
            for value, timestamp in zip(values, timestamps, strict=True)
        ]

    def decoded_row(self, row_key: bytes, stored: bytes) -> Row:
        """Returns a row that was found to be stored so."""
        row = self._decoded.get(row_key)
        if row is None:
            row = self.decode_row(stored)
            if self.keeps_decoded:
                self._decoded[row_key] = row
        return row

    def encoded_row(self, data: bytes, value: object, timestamp: int) -> bytes:
        """Returns the stored form of a row that an operator writes; `data` are the bytes of its key."""
        try:
            return self._pack_row_start(timestamp) + self._encode_value(value)
        except StreamsError:
            raise
        except Exception as error:
            raise self._unwritable(self.key_of(data), value) from error

    def cached_together(
        self,
        rows: RunningRows,
        names: Sequence[bytes],
        row_keys: Sequence[bytes],
        keys: Sequence[bytes],
    ) -> bool:
        """Writes rows to the cache at once; returns False where they must be written one by one.

        `names`: what they are found by; `row_keys` and `keys`: what they have in the store and in the cache.
        """
        assert self.cache is not None, "asked for only where there is one"
        found = list(map(rows.__getitem__, names))
        values = [row[0] for row in found]
        if None in values:
            return False
        timestamps = [row[1] for row in found]
        starts, encoded = map(self._pack_row_start, timestamps), map(self._encode_value, values)
        stored = list(map(add, starts, encoded))
        if not self.cache.write_together(
            CachedRows(keys, row_keys, stored, timestamps), self.origin()
        ):
            return False
        self._decoded.update(zip(row_keys, found, strict=True))
        return True

    def key_of(self, data: bytes) -> object:
        """Returns the key with these bytes, by which a batch finds its rows."""
        return self._key.decode(data)

    def note_row(self, row_key: bytes, row: Row | None) -> None:
        """Remember what was written; None: a deletion."""
        if row is None:
            self._decoded.pop(row_key, None)
        elif self.keeps_decoded:
            self._decoded[row_key] = row

    def forget(self, row_key: bytes) -> None:
        """The store has let a row go."""
        self._decoded.pop(row_key, None)

    def forget_before(self, _row_key: bytes) -> None:
        """Forgets all decoded rows: looking for those that are gone would take longer than reading the others again."""
        self._decoded.clear()

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        super().commit(changelog_offset=changelog_offset, marker=marker)
        if len(self._decoded) > _DECODED_ROWS_MAX:
            self._decoded.clear()

    def discard(self) -> None:
        super().discard()
        self._decoded.clear()

    def close(self) -> None:
        super().close()
        self._decoded.clear()


class TimestampedRowsWithHeaders(TimestampedRows):
    """Base of timestamped stores with headers: rows are ValueTimestampHeaders (KIP-1271).

    A changelog record of a row has the row's headers; that of a deletion has those of the record being processed.
    Operators of the DSL put their rows without headers (KIP-1285).
    """

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
