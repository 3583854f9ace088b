"""Writing primitives that generated encoders call where straight-line code ends: lengths above 126, arrays, refusals.

A writer appends to `out`. A value the version cannot carry is an EncodeError, and `out` then ends in the middle of
the message: throw it away. Must not know messages or schemas.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from struct import Struct, pack
from typing import Final

from millstream.errors import EncodeError
from millstream.model import Uuid

STRING_BYTES_MAX: Final = 0x7FFF

INT16: Final = Struct(">h")
_COMPACT_INT32S: Final = tuple(Struct(f">B{count}i").pack for count in range(16))

WRITE_FAILURES: Final = (
    EncodeError,
    struct.error,
    TypeError,
    AttributeError,
    ValueError,
    OverflowError,
)
"""What an encoder meets when a value is not of its field's type or does not fit."""


def write_uvarint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_string_length(out: bytearray, compact_length: int) -> None:
    """Writes a compact string's length, given as one more than its bytes; generated code writes short ones in line."""
    if compact_length > STRING_BYTES_MAX + 1:
        raise string_refused(compact_length - 1)
    write_uvarint(out, compact_length)


def write_compact_string(out: bytearray, text: str) -> None:
    raw = text.encode()
    write_string_length(out, len(raw) + 1)
    out += raw


def write_compact_strings(out: bytearray, texts: Sequence[str]) -> None:
    for text in texts:
        write_compact_string(out, text)


def write_strings(out: bytearray, texts: Sequence[str]) -> None:
    """Writes the strings, each with an int16 length."""
    for text in texts:
        raw = text.encode()
        if len(raw) > STRING_BYTES_MAX:
            raise string_refused(len(raw))
        out += INT16.pack(len(raw))
        out += raw


def write_compact_int32s(out: bytearray, values: Sequence[int]) -> None:
    """Writes the count and the elements."""
    count = len(values)
    if count < len(_COMPACT_INT32S):
        out += _COMPACT_INT32S[count](count + 1, *values)
    else:
        write_uvarint(out, count + 1)
        out += pack(f">{count}i", *values)


def write_int32s(out: bytearray, values: Sequence[int]) -> None:
    """Writes an int32 count and the elements."""
    count = len(values)
    out += pack(f">i{count}i", count, *values)


def write_integers(out: bytearray, values: Sequence[int], code: str) -> None:
    out += pack(f">{len(values)}{code}", *values)


def write_uuids(out: bytearray, values: Sequence[Uuid]) -> None:
    for value in values:
        if len(value) != 16:
            raise uuid_refused(value)
        out += value


def uuid_refused(value: bytes) -> EncodeError:
    return EncodeError(f"a uuid has 16 bytes, not {len(value)}")


def string_refused(length: int) -> EncodeError:
    return EncodeError(f"a string of {length} bytes is longer than {STRING_BYTES_MAX}")


def refusal_of_text(text: str) -> str | None:
    """Returns why no message can carry a text; None for a text that one can."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        return f"character {error.start} cannot be written as UTF-8"
    if size > STRING_BYTES_MAX:
        return f"a string of {size} bytes is longer than {STRING_BYTES_MAX}"
    return None


def must_not_be_null(field: str, version: int) -> EncodeError:
    return EncodeError(f"{field} must not be null in version {version}")


def not_in_version(field: str, version: int) -> EncodeError:
    return EncodeError(f"version {version} has no field {field}: leave it at its default")


def tags_refused(version: int) -> EncodeError:
    return EncodeError(f"version {version} is not flexible and cannot carry unknown tagged fields")
