"""Key-value stores: plain, and with the timestamp of each row.

A timestamped row is timestamp (8 bytes) ++ value, and its changelog record is the value alone with the
timestamp as the record's own: Kafka Streams' formats.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from struct import Struct

from millstream.streams.errors import StreamsError
from millstream.streams.serdes.serde import Serde
from millstream.streams.state.cache import CacheEntry
from millstream.streams.state.changelog import Headers
from millstream.streams.state.read_only import ReadOnlyKeyValueStore, Stored
from millstream.streams.state.running_rows import RunningRows, Written
from millstream.streams.state.store import DECODED_ROWS_MAX, Change, StateStore, StoreParts

_TIMESTAMP = Struct(">q")
_pack_timestamp = _TIMESTAMP.pack
_unpack_timestamp = _TIMESTAMP.unpack_from


def end_of_prefix(prefix: bytes) -> bytes | None:
    """The first key after all keys with this prefix; None if there is none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes((kept[-1] + 1,)) if kept else None


class OrderedRows(StateStore, ReadOnlyKeyValueStore[Stored, Stored]):
    """What key-value stores have in common: rows in the order of their keys' bytes."""

    @abstractmethod
    def decode_row(self, stored: bytes) -> Stored:
        """A row as the application sees it."""

    def rows_between(
        self, lower: object, upper: object, *, reverse: bool
    ) -> Iterator[tuple[Stored, Stored]]:
        first = b"" if lower is None else self.key_bytes(lower)
        end = None if upper is None else self.key_bytes(upper) + b"\x00"
        return self._decoded_rows(self.rows.scan(first, end, reverse=reverse))

    def prefix_scan(
        self,
        prefix: object,
        serde: Serde[Stored] | None = None,
    ) -> Iterator[tuple[Stored, Stored]]:
        data = self._encode_key(prefix) if serde is None else serde.encode(prefix)
        return self._decoded_rows(self.rows.scan(data, end_of_prefix(data)))

    def get_flushed(self, key: object) -> Stored:
        """The row of a key as it was when the record cache was last flushed, or None."""
        entry = None if self.cache is None else self.cache.entry(self.key_bytes(key))
        if entry is None:
            return self.get(key)
        return None if entry.before is None else self.decode_row(entry.before)

    def approximate_num_entries(self) -> int:
        return sum(1 for _ in self.rows.scan(b"", None))

    def _decoded_rows(self, rows: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[Stored, Stored]]:
        decode_key, decode_row = self._key.decode, self.decode_row
        return ((decode_key(data), decode_row(stored)) for data, stored in rows)


class TimestampedKeyValueStore(OrderedRows):
    """Rows are (value, timestamp). Values of immutable serdes stay decoded between reads."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._keeps = parts.value.immutable
        self._decoded: dict[bytes, tuple[Stored, int]] = {}
        self._pack_row_start = _pack_timestamp
        """Of a timestamp: what a row begins with that an operator writes."""

    def get(self, key: object) -> tuple[Stored, int] | None:
        try:
            data = self._encode_key(key)
        except Exception as error:
            raise self._unaskable(key) from error
        return self._row(data)

    def _row(self, data: bytes) -> tuple[Stored, int] | None:
        row = self._decoded.get(data)
        if row is not None:
            return row
        stored = self.rows.get(data)
        if stored is None:
            return None
        row = self.decode_row(stored)
        if self._keeps:
            self._decoded[data] = row
        return row

    def put(self, key: object, value: object, timestamp: int) -> None:
        """Set the row of a key; a None value deletes it."""
        try:
            data = self._encode_key(key)
            written = None if value is None else self._encode_value(value)
        except StreamsError:
            raise
        except Exception as error:
            raise self._unwritable(key, value) from error
        stored = None if written is None else _pack_timestamp(timestamp) + written
        if self.cache is not None:
            self.cache.write(data, data, stored, timestamp)
        self.rows.pending[data] = stored
        if written is None:
            self._decoded.pop(data, None)
        elif self._keeps:
            self._decoded[data] = (value, timestamp)
        if self.changelog is not None and self.cache is None:
            headers = self.record_headers() if self.spec.log_headers else ()
            self.changelog.append(data, written, timestamp, headers)

    def put_if_absent(
        self, key: object, value: object, timestamp: int
    ) -> tuple[Stored, int] | None:
        """Set the row of a key that has none; gives the row it had."""
        known = self.get(key)
        if known is None:
            self.put(key, value, timestamp)
        return known

    def put_all(self, rows: Iterable[tuple[object, tuple[object, int]]]) -> None:
        """Set the rows of several keys, given as `all` gives them."""
        for key, (value, timestamp) in rows:
            self.put(key, value, timestamp)

    def delete(self, key: object) -> tuple[Stored, int] | None:
        """Delete the row of a key; gives the row it had."""
        known = self.get(key)
        self.put(key, None, self.now())
        return known

    def decode_row(self, stored: bytes) -> tuple[Stored, int]:
        return self._decode_value(stored[8:]), _unpack_timestamp(stored)[0]

    @property
    def takes_columns(self) -> bool:
        return self._keeps and not self.spec.log_headers

    def running_rows(self) -> RunningRows:
        """The rows as they are; to be given back to `write_rows`, and only where `takes_columns`."""
        return RunningRows(self._row)

    def write_rows(self, rows: RunningRows, written: Written) -> None:
        """Set rows as a batch has left them; `written` is every single step on the way, for the changelog."""
        decoded, pending, cache = self._decoded, self.rows.pending, self.cache
        pack, encode = self._pack_row_start, self._encode_value
        order = rows if cache is None else reversed(dict.fromkeys(reversed(written.keys)))
        for data in order:
            value, timestamp = row = rows[data]
            stored = None if value is None else pack(timestamp) + encode(value)
            if cache is not None:
                cache.write(data, data, stored, timestamp)
            pending[data] = stored
            if value is None:
                decoded.pop(data, None)
            else:
                decoded[data] = row
        if self.changelog is not None and cache is None:
            self.changelog.extend(written.keys, written.values, written.timestamps)

    def logged_value(self, stored: bytes) -> bytes:
        return stored[8:]

    def change_of(self, entry: CacheEntry) -> Change:
        new, old = (
            None if stored is None else self.decode_row(stored)[0]
            for stored in (entry.stored, entry.before)
        )
        return Change(self._key.decode(entry.row_key), new, old, entry.timestamp, entry.origin)

    def scan_bytes(self, low: bytes, high: bytes | None) -> list[tuple[Stored, int]]:
        """For foreign-key joins: rows whose keys lie in [low, high) as bytes, without their keys; read at once, so that writing may follow."""
        return [self.decode_row(stored) for _, stored in self.rows.scan(low, high)]

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
        self, key: bytes, value: bytes | None, timestamp: int, _headers: Headers
    ) -> None:
        self._decoded.pop(key, None)
        self.rows.put(key, None if value is None else _pack_timestamp(timestamp) + value)


class KeyValueStore(OrderedRows):
    """Rows are values."""

    def get(self, key: object) -> Stored:
        stored = self.rows.get(self.key_bytes(key))
        return None if stored is None else self._decode_value(stored)

    def put(self, key: object, value: object) -> None:
        """Set the value of a key, or delete it (None)."""
        try:
            data = self._encode_key(key)
            written = None if value is None else self._encode_value(value)
        except StreamsError:
            raise
        except Exception as error:
            raise self._unwritable(key, value) from error
        if self.cache is not None:
            self.cache.write(data, data, written, self.now())
        elif self.changelog is not None:
            self.changelog.append(data, written, self.now())
        self.rows.put(data, written)

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

    def restore_row(
        self, key: bytes, value: bytes | None, _timestamp: int, _headers: Headers
    ) -> None:
        self.rows.put(key, value)
