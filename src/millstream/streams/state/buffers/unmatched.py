"""Records of a left or outer stream-stream join that have met no partner yet.

Keys are timestamp (8) ++ side (1: left is 1) ++ key, so that they are found in the order in which their windows
close. A key holds a list of values, in the bytes of Kafka Streams' list serde; each begins with its side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

from millstream.streams.state.changelog import Headers
from millstream.streams.state.store import StateStore, StoreParts

_LENGTH = Struct(">i")
_TIME = Struct(">q")
_VARIABLE_SIZE = b"\x01"


@dataclass(frozen=True, slots=True)
class Unmatched:
    """The key under which a record without a partner is kept."""

    timestamp: int
    is_left: bool
    key: object


class UnmatchedStore(StateStore):
    """Values by timestamp, side and key. The two sides have a value serde each."""

    def __init__(self, parts: StoreParts) -> None:
        super().__init__(parts)
        assert parts.spec.other_value is not None or parts.other_value is not None, (
            "the store of unmatched records has a serde for each side"
        )
        self._sides = {True: parts.value, False: parts.other_value or parts.value}

    def add(self, at: Unmatched, value: object) -> None:
        """Keep one more value."""
        side = b"\x01" if at.is_left else b"\x00"
        values = [
            *self._values(self.rows.get(self._data(at))),
            side + self._sides[at.is_left].encode(value),
        ]
        parts = [_VARIABLE_SIZE, _LENGTH.pack(len(values))]
        for each in values:
            parts += [_LENGTH.pack(len(each)), each]
        self._write(at, b"".join(parts))

    def remove(self, at: Unmatched) -> None:
        """Forget all values, whether or not there are any."""
        self._write(at, None)

    def remove_known(self, at: Unmatched) -> None:
        """Forget all values if there are any."""
        if self.rows.get(self._data(at)) is not None:
            self._write(at, None)

    def scan(self) -> Iterator[tuple[Unmatched, object]]:
        """Yields every value in the order of time, side and key."""
        for data, stored in self.rows.scan(b"", None):
            timestamp, is_left = _TIME.unpack_from(data)[0], data[8] == 1
            at = Unmatched(timestamp, is_left, self._key.decode(data[9:]))
            for value in self._values(stored):
                yield at, self._sides[is_left].decode(value[1:])

    def restore_row(
        self, key: bytes, value: bytes | None, _timestamp: int, _headers: Headers
    ) -> None:
        self.rows.put(key, value)

    def _data(self, at: Unmatched) -> bytes:
        side = b"\x01" if at.is_left else b"\x00"
        return _TIME.pack(at.timestamp) + side + self._encode_key(at.key)

    def _write(self, at: Unmatched, written: bytes | None) -> None:
        data = self._data(at)
        self.rows.put(data, written)
        if self.changelog is not None:
            self.changelog.append(data, written, self.now())

    @staticmethod
    def _values(stored: bytes | None) -> list[bytes]:
        if stored is None:
            return []
        values, at = [], 5
        for _ in range(_LENGTH.unpack_from(stored, 1)[0]):
            (length,) = _LENGTH.unpack_from(stored, at)
            values.append(stored[at + 4 : at + 4 + length])
            at += 4 + length
        return values
