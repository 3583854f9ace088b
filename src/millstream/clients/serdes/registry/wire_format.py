"""Confluent's wire format: which schema wrote the bytes that follow.

in front of the value      00 | int32 schema id | [message indexes] | value
in a header                00 | int32 schema id | [message indexes]      or
                           01 | 16 bytes GUID   | [message indexes]
message indexes            only Protobuf: which message of the file, from the outermost to the innermost;
                           a count and the indexes as zig-zag varints, or one 00 for the first message
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final
from uuid import UUID

KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"

_ID = Struct(">bi")
ID_BYTES: Final = _ID.size
_BY_ID, _BY_GUID = 0, 1
_FIRST_MESSAGE = (0,)
_VARINT_BYTES_MAX = 5


def id_prefix(schema_id: int, indexes: Sequence[int] | None = None) -> bytes:
    return _ID.pack(_BY_ID, schema_id) + _indexes(indexes)


def guid_prefix(guid: str, indexes: Sequence[int] | None = None) -> bytes:
    return bytes([_BY_GUID]) + UUID(guid).bytes + _indexes(indexes)


def schema_of(data: bytes) -> tuple[int | str, int]:
    """Returns the schema's id or GUID, and where it ends. Raises ValueError for bytes of another format."""
    kind = data[0] if data else None
    if kind == _BY_ID and len(data) >= ID_BYTES:
        return _ID.unpack_from(data)[1], ID_BYTES
    if kind == _BY_GUID and len(data) >= 17:
        return str(UUID(bytes=data[1:17])), 17
    raise ValueError(
        f"{data[:ID_BYTES].hex() or 'nothing'} names no schema: this was not written with a schema registry"
    )


def _indexes(indexes: Sequence[int] | None) -> bytes:
    if indexes is None:
        return b""
    if tuple(indexes) == _FIRST_MESSAGE:
        return b"\x00"
    return b"".join(map(_varint, (len(indexes), *indexes)))


def read_indexes(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    """Returns the message indexes at a place, and where they end."""
    count, at = _read_varint(data, at)
    if count == 0:
        return _FIRST_MESSAGE, at
    if not 0 < count <= len(data) - at:
        raise ValueError(f"{count} message indexes in {len(data)} bytes cannot be")
    indexes = []
    for _ in range(count):
        index, at = _read_varint(data, at)
        indexes.append(index)
    return tuple(indexes), at


def _varint(number: int) -> bytes:
    number <<= 1  # zig-zag: counts and indexes are never negative
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for length, byte in enumerate(data[at : at + _VARINT_BYTES_MAX]):
        number |= (byte & 0x7F) << 7 * length
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + length + 1
    raise ValueError("the message indexes end in the middle")
