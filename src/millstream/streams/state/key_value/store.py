"""Key-value stores: plain, and with the timestamp of each row (rows/timestamped.py)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from millstream.streams.serdes.serde import Serde
from millstream.streams.state.cache import NOT_CACHED
from millstream.streams.state.changelog import Headers
from millstream.streams.state.headers import ValueTimestampHeaders, as_row
from millstream.streams.state.read_only import ReadOnlyKeyValueStore, Stored
from millstream.streams.state.rows.running import EncodedRows, RunningRows, WrittenRows
from millstream.streams.state.rows.segmented import pack_time
from millstream.streams.state.rows.timestamped import (
    Row,
    TimestampedRows,
    TimestampedRowsWithHeaders,
)
from millstream.streams.state.storage.byte_store import end_of_prefix
from millstream.streams.state.store import StateStore


class OrderedRows(StateStore, ReadOnlyKeyValueStore[Stored, Stored]):
    """Base of key-value stores: rows in the order of their keys' bytes."""

    @abstractmethod
    def decode_row(self, stored: bytes) -> Stored:
        """Returns a row as the application sees it."""

    def rows_between(
        self, lower: object, upper: object, *, reverse: bool
    ) -> Iterator[tuple[Stored, Stored]]:
        first = b"" if lower is None else self.key_bytes(lower)
        end = None if upper is None else self.key_bytes(upper) + b"\x00"
        return self._decoded_rows(self.rows_in(first, end, reverse=reverse))

    def prefix_scan(
        self,
        prefix: object,
        serde: Serde[Stored] | None = None,
    ) -> Iterator[tuple[Stored, Stored]]:
        data = self._encode_key(prefix) if serde is None else serde.encode(prefix)
        return self._decoded_rows(self.rows_in(data, end_of_prefix(data)))

    def get_flushed(self, key: object) -> Stored:
        """Returns the row of a key as it was when the record cache was last flushed, or None."""
        stored = self.flushed_row(self.key_bytes(key))
        return None if stored is None else self.decode_row(stored)

    def stored_row(self, data: bytes) -> bytes | None:
        """Returns the bytes of a row, or None. A cache keeps what was read."""
        cache = self.cache
        if cache is None:
            return self.flushed_row(data)
        stored = cache.get(data)
        if stored is not NOT_CACHED:
            return stored
        stored = self.flushed_row(data)
        if stored is not None:
            cache.keep(data, stored)
        return stored

    def approximate_num_entries(self) -> int:
        """Returns the number of rows without the rows that a cache holds back, as in Kafka Streams."""
        return sum(1 for _ in self.rows.scan(b"", None))

    def _decoded_rows(self, rows: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[Stored, Stored]]:
        decode_key, decode_row = self._key.decode, self.decode_row
        return ((decode_key(data), decode_row(stored)) for data, stored in rows)


class TimestampedKeyValueStore(TimestampedRows, OrderedRows):
    """Rows are (value, timestamp)."""

    def get(self, key: object) -> Row | None:
        try:
            data = self._encode_key(key)
        except Exception as error:
            raise self._unaskable(key) from error
        return self._row(data)

    def _row(self, data: bytes) -> Row | None:
        row = self._decoded.get(data)
        if row is not None and (self.cache is None or self.cache.get(data) is not NOT_CACHED):
            return row
        stored = self.stored_row(data)
        return None if stored is None else self.decoded_row(data, stored)

    def put(self, key: object, value: object, timestamp: int) -> None:
        """Set the row of a key; a None value deletes it."""
        data, written = self.encoded(key, value)
        if written is None:
            self._decoded.pop(data, None)
            self.put_row(data, None, timestamp)
        else:
            if self.keeps_decoded:
                self._decoded[data] = (value, timestamp)
            self.put_row(data, pack_time(timestamp) + written, timestamp)

    def put_if_absent(self, key: object, value: object, timestamp: int) -> Row | None:
        """Set the row of a key that has none; gives the row it had."""
        known = self.get(key)
        if known is None:
            self.put(key, value, timestamp)
        return known

    def put_all(self, rows: Iterable[tuple[object, tuple[object, int]]]) -> None:
        """Set the rows of several keys, given as `all` gives them."""
        for key, (value, timestamp) in rows:
            self.put(key, value, timestamp)

    def delete(self, key: object) -> Row | None:
        """Delete the row of a key; gives the row it had."""
        known = self.get(key)
        self.put(key, None, self.now())
        return known

    def running_rows(self) -> RunningRows | EncodedRows:
        """Returns the rows as they are; to be given back to `write_rows`, and only where `takes_columns`."""
        if self.keeps_decoded:
            return RunningRows(self._row)
        return EncodedRows(self.stored_row, self.decode_row, self.encoded_row)

    def write_rows(self, rows: RunningRows | EncodedRows, written: WrittenRows) -> None:
        """Set rows as a batch has left them; `written` is every single step on the way, for the changelog."""
        is_encoded = isinstance(rows, EncodedRows)
        found = rows.stored if isinstance(rows, EncodedRows) else rows
        if self.cache is not None:
            names = list(written.latest_keys())
            if isinstance(rows, EncodedRows) or not self.cached_together(rows, names, names, names):
                in_order = self._stored_rows(
                    ((data, found[data]) for data in names), is_encoded=is_encoded
                )
                self.cache.write_all(in_order, self.origin())
            return
        pending = self.rows.pending
        for data, _, stored, _ in self._stored_rows(found.items(), is_encoded=is_encoded):
            pending[data] = stored
        if self.changelog is not None:
            self.changelog.extend(written.keys, written.values, written.timestamps)

    def _stored_rows(
        self, rows: Iterable[tuple[bytes, Row]], *, is_encoded: bool
    ) -> Iterator[tuple[bytes, bytes, bytes | None, int]]:
        """Yields rows as a cache takes them; each counts as written from then on."""
        decoded = self._decoded
        pack, encode = self._pack_row_start, self._encode_value
        for data, row in rows:
            value, timestamp = row
            if is_encoded:
                yield data, data, value, timestamp
            elif value is None:
                decoded.pop(data, None)
                yield data, data, None, timestamp
            else:
                decoded[data] = row
                yield data, data, pack(timestamp) + encode(value), timestamp

    def scan_bytes(self, low: bytes, high: bytes | None) -> list[Row]:
        """Returns, for foreign-key joins, the rows whose keys lie in [low, high) as bytes, without their keys.

        All are read at once.
        """
        return [self.decode_row(stored) for _, stored in self.rows_in(low, high)]

    def restore_columns(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Sequence[Headers] | None,
    ) -> None:
        self._decoded.clear()
        pending = self.rows.pending
        pending.update(zip(keys, self.row_column(values, timestamps, headers), strict=True))  # type: ignore[arg-type]  # None goes next
        pending.pop(None, None)  # type: ignore[call-overload]  # a record without a key

    def restore_row(
        self, key: bytes, value: bytes | None, timestamp: int, headers: Headers
    ) -> None:
        self.forget(key)
        self.rows.put(key, None if value is None else self.row_bytes(value, timestamp, headers))


class KeyValueStore(OrderedRows):
    """Rows are values."""

    def get(self, key: object) -> Stored:
        stored = self.stored_row(self.key_bytes(key))
        return None if stored is None else self._decode_value(stored)

    def put(self, key: object, value: object) -> None:
        """Set the value of a key, or delete it (None)."""
        data, written = self.encoded(key, value)
        self.put_row(data, written, self.now())

    def put_if_absent(self, key: object, value: object) -> Stored:
        """Set the value of a key that has none; gives the value it had."""
        known = self.get(key)
        if known is None:
            self.put(key, value)
        return known

    def put_all(self, rows: Iterable[tuple[object, object]]) -> None:
        """Set the values of several keys."""
        for key, value in rows:
            self.put(key, value)

    def delete(self, key: object) -> Stored:
        """Delete the row of a key; gives the value it had."""
        known = self.get(key)
        self.put(key, None)
        return known

    def decode_row(self, stored: bytes) -> Stored:
        return self._decode_value(stored)

    def restore_columns(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        _timestamps: Sequence[int],
        _headers: Sequence[Headers] | None,
    ) -> None:
        pending = self.rows.pending
        pending.update(zip(keys, values, strict=True))  # type: ignore[arg-type]  # None goes next
        pending.pop(None, None)  # type: ignore[call-overload]  # a record without a key

    def restore_row(
        self, key: bytes, value: bytes | None, _timestamp: int, _headers: Headers
    ) -> None:
        self.rows.put(key, value)


class TimestampedKeyValueStoreWithHeaders(TimestampedRowsWithHeaders, TimestampedKeyValueStore):
    """Rows are ValueTimestampHeaders: Kafka Streams' store of this name (KIP-1271)."""

    def get(self, key: object) -> ValueTimestampHeaders | None:
        return as_row(super().get(key))

    def put(self, key: object, value: object, timestamp: int, headers: Headers = ()) -> None:
        """Set the row of a key; a None value deletes it."""
        data, written = self.encoded(key, value)
        row = None if written is None else ValueTimestampHeaders(value, timestamp, headers)
        self.note_row(data, row)
        stored = None if written is None else self.row_bytes(written, timestamp, headers)
        self.put_row(data, stored, timestamp)

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
