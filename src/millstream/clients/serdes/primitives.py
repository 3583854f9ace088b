"""Kafka's serdes of single values, byte for byte: numbers (big endian), text, bytes, booleans, UUIDs, nothing.

The functions are called for every record of a stream: a writer is the C function itself where there is one, and
`Serde.serialize` says whose error it was.
"""

from __future__ import annotations

import codecs
import copyreg
from collections.abc import Callable
from operator import methodcaller
from struct import Struct
from struct import error as StructError  # noqa: N812 - a class, though struct writes it small
from typing import Any
from uuid import UUID

from millstream.clients.serdes.serde import BYTES, FLOAT_64, INT_64, UTF_8, Serde

# A topology travels to other processes with its serdes; a Struct alone cannot be pickled.
copyreg.pickle(Struct, lambda layout: (Struct, (layout.format,)))


def _number(
    name: str,
    form: Struct,
    layout: str | None = None,
) -> Serde[Any]:  # Any: int and float serdes side by side
    unpack, size = form.unpack, form.size

    def read(data: bytes) -> Any:  # Any: each form reads its own number type
        try:
            return unpack(data)[0]
        except StructError:
            raise ValueError(f"a {name} is {size} bytes, not {len(data)}") from None

    return Serde(name, form.pack, read, immutable=True, layout=layout)


def _write_bytes(value: bytes | bytearray | memoryview) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"the bytes serde writes bytes, not {type(value).__name__}")


def _read_bytes(data: bytes) -> bytes:
    return data


def _write_boolean(value: bool) -> bytes:
    if value is True:
        return b"\x01"
    if value is False:
        return b"\x00"
    raise TypeError(f"the boolean serde writes True or False, not {type(value).__name__}")


def _read_boolean(data: bytes) -> bool:
    if data not in {b"\x00", b"\x01"}:
        raise ValueError("a boolean is one byte, 0 or 1")
    return data == b"\x01"


def _write_uuid(value: UUID) -> bytes:
    if not isinstance(value, UUID):
        raise TypeError(f"the uuid serde writes uuid.UUID, not {type(value).__name__}")
    return str(value).encode("ascii")


def _read_uuid(data: bytes) -> UUID:
    if len(data) != 36:
        raise ValueError(f"a UUID is written as 36 characters, not {len(data)} bytes")
    return UUID(data.decode("ascii"))


def _write_nothing(value: None) -> bytes:
    raise TypeError(f"the void serde writes only None, not {type(value).__name__}")


def _read_nothing(data: bytes) -> None:
    raise ValueError(f"the void serde reads only null, not {len(data)} bytes")


_BYTES: Serde[bytes] = Serde("bytes", _write_bytes, _read_bytes, immutable=True, layout=BYTES)
_BOOLEAN: Serde[bool] = Serde("boolean", _write_boolean, _read_boolean, immutable=True)
_UTF_8: Serde[str] = Serde(
    "string", str.encode, methodcaller("decode", "utf-8", "replace"), immutable=True, layout=UTF_8
)
_UUID: Serde[UUID] = Serde("uuid", _write_uuid, _read_uuid, immutable=True)
_VOID: Serde[None] = Serde("void", _write_nothing, _read_nothing, immutable=True)
_SHORT = _number("short", Struct(">h"))
_INTEGER = _number("integer", Struct(">i"))
_LONG = _number("long", Struct(">q"), INT_64)
_FLOAT = _number("float", Struct(">f"))
_DOUBLE = _number("double", Struct(">d"), FLOAT_64)


def bytes_() -> Serde[bytes]:
    """Returns a serde of bytes as they are."""
    return _BYTES


def boolean() -> Serde[bool]:
    """Returns a serde of one byte, 0 or 1."""
    return _BOOLEAN


def string(encoding: str = "utf-8") -> Serde[str]:
    """Text. What the encoding cannot hold is written as "?" and read as a replacement character, as Java does.

    UTF-8 refuses lone surrogates instead of writing "?". UTF-16 and UTF-32 without an order of bytes are big endian,
    UTF-16 with a mark, as in Java. Raises LookupError for an encoding that Python does not know.
    """
    name = codecs.lookup(encoding).name
    if name == "utf-8":
        return _UTF_8
    read: Callable[[bytes], str] = methodcaller("decode", name, "replace")
    write: Callable[[str], bytes]
    if name == "utf-16":
        write, read = _write_utf_16, _read_utf_16
    elif name == "utf-32":
        write, read = (
            methodcaller("encode", "utf-32-be"),
            methodcaller("decode", "utf-32-be", "replace"),
        )
    else:
        write = methodcaller("encode", name, "replace")
    return Serde(f"string({name})", write, read, immutable=True)


def _write_utf_16(value: str) -> bytes:
    return b"\xfe\xff" + value.encode("utf-16-be") if value else b""


def _read_utf_16(data: bytes) -> str:
    marked = data[:2] in {b"\xfe\xff", b"\xff\xfe"}
    return data.decode("utf-16" if marked else "utf-16-be", "replace")


def uuid() -> Serde[UUID]:
    """Returns a UUID as its 36 characters."""
    return _UUID


def void() -> Serde[None]:
    """Null only: for keys or values that a topic never has."""
    return _VOID


def short() -> Serde[int]:
    """16-bit integer, big endian."""
    return _SHORT


def integer() -> Serde[int]:
    """32-bit integer, big endian."""
    return _INTEGER


def long() -> Serde[int]:
    """64-bit integer, big endian."""
    return _LONG


def float_() -> Serde[float]:
    """32-bit IEEE number."""
    return _FLOAT


def double() -> Serde[float]:
    """64-bit IEEE number."""
    return _DOUBLE
