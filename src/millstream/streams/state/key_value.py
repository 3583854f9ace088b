"""Key-value stores: plain, and with the timestamp of each row.

A timestamped row is timestamp (8 bytes) ++ value, and its changelog record is the value alone with the
timestamp as the record's own: Kafka Streams' formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from millstream.streams.errors import StreamsError
from millstream.streams.state.cache import CacheEntry
from millstream.streams.state.store import DECODED_ROWS_MAX, Change, StateStore, StoreParts

_TIMESTAMP = Struct(">q")
_pack_timestamp = _TIMESTAMP.pack
_unpack_timestamp = _TIMESTAMP.unpack_from


def end_of_prefix(prefix: bytes) -> bytes | None:
    """The first key after all keys with this prefix; None if there is none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes((kept[-1] + 1,)) if kept else None


class TimestampedKeyValueStore(StateStore):
    """Rows are (value, timestamp). Values of immutable serdes stay decoded between reads."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        self._keeps = parts.value.immutable
        self._decoded: dict[bytes, tuple[object, int]] = {}

    def get(self, key: object) -> tuple[object, int] | None:
        """The row of a key, or None."""
        data = self._encode_key(key)
        row = self._decoded.get(data)
        if row is not None:
            return row
        stored = self.rows.get(data)
        if stored is None:
            return None
        row = (self._decode_value(stored[8:]), _unpack_timestamp(stored)[0])
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

    def logged_value(self, stored: bytes) -> bytes:
        return stored[8:]

    def change_of(self, entry: CacheEntry) -> Change:
        new, old = (
            None if stored is None else self._decode_value(stored[8:])
            for stored in (entry.stored, entry.before)
        )
        return Change(self._key.decode(entry.row_key), new, old, entry.timestamp, entry.origin)

    def scan(
        self, low: object = None, high: object = None, *, reverse: bool = False
    ) -> Iterator[tuple[object, tuple[object, int]]]:
        """Rows with keys in [low, high], both inclusive and both optional, in the order of their bytes."""
        first = b"" if low is None else self._encode_key(low)
        end = None if high is None else self._encode_key(high) + b"\x00"
        for data, stored in self.rows.scan(first, end, reverse=reverse):
            row = (self._decode_value(stored[8:]), _unpack_timestamp(stored)[0])
            yield self._key.decode(data), row

    def scan_bytes(self, low: bytes, high: bytes | None) -> list[tuple[object, int]]:
        """The rows whose keys lie in [low, high) as bytes, without their keys; read at once, so that writing may follow."""
        return [
            (self._decode_value(stored[8:]), _unpack_timestamp(stored)[0])
            for _, stored in self.rows.scan(low, high)
        ]

    def commit(self, *, changelog_offset: int | None, marker: str | None) -> None:
        super().commit(changelog_offset=changelog_offset, marker=marker)
        if len(self._decoded) > DECODED_ROWS_MAX:
            self._decoded.clear()

    def discard(self) -> None:
        super().discard()
        self._decoded.clear()

    def restore_row(self, key: bytes, value: bytes | None, timestamp: int) -> None:
        self._decoded.pop(key, None)
        self.rows.put(key, None if value is None else _pack_timestamp(timestamp) + value)


class KeyValueStore(StateStore):
    """Rows are values."""

    def get(self, key: object) -> object:
        """The value of a key, or None."""
        stored = self.rows.get(self._encode_key(key))
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

    def put_if_absent(self, key: object, value: object) -> object:
        """Set the value of a key that has none; gives the value it had."""
        known = self.get(key)
        if known is None:
            self.put(key, value)
        return known

    def delete(self, key: object) -> object:
        """Delete the row of a key; gives the value it had."""
        known = self.get(key)
        self.put(key, None)
        return known

    def scan_prefix(self, prefix: bytes) -> Iterator[tuple[object, object]]:
        """Rows whose key begins with these bytes, in the order of their bytes."""
        for data, stored in self.rows.scan(prefix, end_of_prefix(prefix)):
            yield self._key.decode(data), self._decode_value(stored)

    def scan(
        self, low: object = None, high: object = None, *, reverse: bool = False
    ) -> Iterator[tuple[object, object]]:
        """Rows with keys in [low, high], both inclusive and both optional, in the order of their bytes."""
        first = b"" if low is None else self._encode_key(low)
        end = None if high is None else self._encode_key(high) + b"\x00"
        for data, stored in self.rows.scan(first, end, reverse=reverse):
            yield self._key.decode(data), self._decode_value(stored)

    def restore_row(self, key: bytes, value: bytes | None, _timestamp: int) -> None:
        self.rows.put(key, value)
