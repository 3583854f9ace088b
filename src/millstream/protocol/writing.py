"""Writing primitives that generated encoders call where straight-line code ends: lengths above 126, arrays, refusals.

A writer appends to `out`. A value the version cannot carry is an EncodeError, and `out` then ends in the middle of
the message: throw it away. Must not know messages or schemas.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, pack
from struct import error as StructError
from typing import Final

from millstream.errors import EncodeError
from millstream.model import Uuid

STRING_BYTES_MAX: Final = 0x7FFF

INT16: Final = Struct(">h")
INT32: Final = Struct(">i")

WRITE_FAILURES: Final = (StructError, TypeError, AttributeError, ValueError, OverflowError)
"""What an encoder meets when a value is not of its field's type or does not fit."""


def write_uvarint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_length(out: bytearray, length: int) -> None:
    """The compact length of bytes, records or an array that is not null."""
    write_uvarint(out, length + 1)


def write_compact_string(out: bytearray, text: str) -> None:
    raw = text.encode()
    if len(raw) > STRING_BYTES_MAX:
        raise EncodeError(f"a string of {len(raw)} bytes is longer than {STRING_BYTES_MAX}")
    write_uvarint(out, len(raw) + 1)
    out += raw


def write_string(out: bytearray, text: str) -> None:
    """int16 length, UTF-8."""
    raw = text.encode()
    if len(raw) > STRING_BYTES_MAX:
        raise EncodeError(f"a string of {len(raw)} bytes is longer than {STRING_BYTES_MAX}")
    out += INT16.pack(len(raw))
    out += raw


def write_integers(out: bytearray, values: Sequence[int], code: str) -> None:
    out += pack(f">{len(values)}{code}", *values)


def write_uuids(out: bytearray, values: Sequence[Uuid]) -> None:
    for value in values:
        if len(value) != 16:
            raise EncodeError(f"a uuid has 16 bytes, this one {len(value)}")
        out += value


def must_not_be_null(field: str, version: int) -> EncodeError:
    return EncodeError(f"{field} must not be null in version {version}")


def not_in_version(field: str, version: int) -> EncodeError:
    return EncodeError(f"version {version} has no field {field}: leave it at its default")


def tags_refused(version: int) -> EncodeError:
    return EncodeError(f"version {version} is not flexible and cannot carry unknown tagged fields")
