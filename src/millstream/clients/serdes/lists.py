"""Kafka's ListSerde (KIP-466): lists of what another serde writes, nulls among them.

    fixed size     00 | int32 count of nulls | int32 index of each | int32 size | elements without the nulls
    variable size  01 | int32 size | for each: int32 length (-1: null), bytes

Which of the two is written depends on the inner serde alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from millstream.clients.serdes.serde import Serde

T = TypeVar("T")

_INT32 = Struct(">i")
_FIXED_SIZE, _VARIABLE_SIZE = b"\x00", b"\x01"
_NULL_LENGTH = -1

ELEMENT_BYTES: Final[Mapping[str, int]] = MappingProxyType(
    {"short": 2, "integer": 4, "float": 4, "long": 8, "double": 8, "uuid": 36}
)
"""The serdes whose lists Kafka writes with elements of a fixed size."""


def list_of(inner: Serde[T]) -> Serde[list[T | None]]:
    """Returns a list; its elements may be None."""
    layout = _List(inner)
    return Serde(f"list_of({inner.name})", layout.write, layout.read)


@dataclass(frozen=True, slots=True)
class _List(Generic[T]):
    inner: Serde[T]

    def write(self, values: Sequence[T | None]) -> bytes:
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
            raise TypeError(f"the list serde writes a list, not {type(values).__name__}")
        pack, elements = _INT32.pack, self.inner.encode_all(values)
        if self.inner.name in ELEMENT_BYTES:
            nulls = [index for index, element in enumerate(elements) if element is None]
            head = (len(nulls), *nulls, len(elements))
            written = [element for element in elements if element is not None]
            return b"".join([_FIXED_SIZE, *map(pack, head), *written])
        parts = [_VARIABLE_SIZE, pack(len(elements))]
        for element in elements:
            if element is None:
                parts.append(pack(_NULL_LENGTH))
            else:
                parts += (pack(len(element)), element)
        return b"".join(parts)

    def read(self, data: bytes) -> list[T | None]:
        kind = data[:1]
        if kind == _FIXED_SIZE:
            return self._read_fixed(data, 1)
        if kind == _VARIABLE_SIZE:
            return self._read_variable(data, 1)
        raise ValueError(f"a list begins with a byte 0 or 1, not {kind!r}")

    def _read_fixed(self, data: bytes, at: int) -> list[T | None]:
        size = ELEMENT_BYTES.get(self.inner.name)
        if size is None:
            raise ValueError(f"these are elements of a fixed size, not a list of {self.inner.name}")
        count, at = _count(data, at, _INT32.size)
        nulls = {_int32(data, at + 4 * number)[0] for number in range(count)}
        length, at = _int32(data, at + 4 * count)
        elements = [self.inner.decode(data[n : n + size]) for n in range(at, len(data), size)]
        if len(elements) + len(nulls) != length or not nulls.issubset(range(length)):
            raise ValueError(f"{len(elements)} elements and {count} nulls are no list of {length}")
        left = iter(elements)
        return [None if index in nulls else next(left) for index in range(length)]

    def _read_variable(self, data: bytes, at: int) -> list[T | None]:
        count, at = _count(data, at, _INT32.size)
        values: list[T | None] = []
        for _ in range(count):
            length, at = _int32(data, at)
            if length == _NULL_LENGTH:
                values.append(None)
                continue
            if not 0 <= length <= len(data) - at:
                raise ValueError(
                    f"an element of {length} bytes, but only {len(data) - at} are left"
                )
            values.append(self.inner.decode(data[at : at + length]))
            at += length
        if at != len(data):
            raise ValueError(f"{len(data) - at} bytes follow the last element")
        return values


def _int32(data: bytes, at: int) -> tuple[int, int]:
    if len(data) - at < _INT32.size:
        raise ValueError(f"the list ends in the middle, after {len(data)} bytes")
    return _INT32.unpack_from(data, at)[0], at + _INT32.size


def _count(data: bytes, at: int, smallest_item: int) -> tuple[int, int]:
    """A number of items, checked against the bytes there are before anything is made of it."""
    count, at = _int32(data, at)
    if not 0 <= count <= (len(data) - at) // smallest_item:
        raise ValueError(f"a list of {count} in {len(data)} bytes cannot be")
    return count, at
