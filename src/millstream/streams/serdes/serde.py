"""A serde: two functions and a name. Null (None) never reaches them: it is written as a null key or value.

A serde of one's own is one line: `Serde("point", encode=pack_point, decode=unpack_point)`.
Bytes are those of Kafka's own serdes (big endian numbers, UTF-8 text), so that Java and Python share topics.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import methodcaller
from struct import Struct
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# A topology travels to other processes with its serdes; a Struct alone cannot be pickled.
copyreg.pickle(Struct, lambda layout: (Struct, (layout.format,)))


@dataclass(frozen=True, slots=True)
class Serde(Generic[T]):
    """How one type is written and read.

    `immutable` says that decoded values cannot change under a store that keeps them: such values are
    kept decoded between reads. Leave it False for lists, dicts and objects of your own.
    `inner` is the serde of the key inside a windowed key, and `window_size_ms` the size of its windows.
    """

    name: str
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]
    immutable: bool = False
    inner: Serde[Any] | None = None  # Any: the type of the inner key is not part of ours
    window_size_ms: int | None = None

    def encode_all(self, values: Iterable[T | None]) -> list[bytes | None]:
        """A column of values as bytes; None stays None."""
        encode = self.encode
        return [None if value is None else encode(value) for value in values]

    def decode_all(self, column: Iterable[bytes | None]) -> list[T | None]:
        """A column of bytes as values; None stays None."""
        decode = self.decode
        return [None if data is None else decode(data) for data in column]


_DOUBLE = Struct(">d")
_FLOAT = Struct(">f")
_INTEGER = Struct(">i")
_LONG = Struct(">q")
_SHORT = Struct(">h")


def _reader(layout: Struct) -> Callable[[bytes], Any]:  # Any: each layout reads its own number type
    unpack = layout.unpack

    def read(data: bytes) -> Any:  # Any: see above
        return unpack(data)[0]

    return read


def _write_bytes(value: bytes) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"the bytes serde writes bytes, not {type(value).__name__}")
    return value


def _read_bytes(data: bytes) -> bytes:
    return data


def _write_boolean(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


def _read_boolean(data: bytes) -> bool:
    if data not in {b"\x00", b"\x01"}:
        raise ValueError("a boolean is one byte, 0 or 1")
    return data == b"\x01"


_BYTES: Serde[bytes] = Serde("bytes", _write_bytes, _read_bytes, immutable=True)
_BOOLEAN: Serde[bool] = Serde("boolean", _write_boolean, _read_boolean, immutable=True)
_STRING: Serde[str] = Serde(
    "string", str.encode, methodcaller("decode", "utf-8", "replace"), immutable=True
)
_NUMBERS: dict[str, Serde[Any]] = {  # Any: int and float serdes side by side
    name: Serde(name, layout.pack, _reader(layout), immutable=True)
    for name, layout in (
        ("double", _DOUBLE),
        ("float", _FLOAT),
        ("integer", _INTEGER),
        ("long", _LONG),
        ("short", _SHORT),
    )
}


def bytes_() -> Serde[bytes]:
    """Bytes as they are."""
    return _BYTES


def boolean() -> Serde[bool]:
    """One byte, 0 or 1."""
    return _BOOLEAN


def string() -> Serde[str]:
    """UTF-8 text; bytes that are not UTF-8 are read with replacement characters, as Java does."""
    return _STRING


def short() -> Serde[int]:
    """16-bit integer, big endian."""
    return _NUMBERS["short"]


def integer() -> Serde[int]:
    """32-bit integer, big endian."""
    return _NUMBERS["integer"]


def long() -> Serde[int]:
    """64-bit integer, big endian."""
    return _NUMBERS["long"]


def float_() -> Serde[float]:
    """32-bit IEEE number."""
    return _NUMBERS["float"]


def double() -> Serde[float]:
    """64-bit IEEE number."""
    return _NUMBERS["double"]


def json() -> Serde[Any]:  # Any: JSON has no one type; annotate at the place of use
    """JSON text by orjson: dicts, lists, text, numbers, booleans."""
    import orjson

    return Serde("json", orjson.dumps, orjson.loads)
