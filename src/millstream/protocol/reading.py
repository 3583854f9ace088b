"""Reading primitives that generated decoders call where straight-line code ends: lengths
above 127, arrays, odd strings.

A reader takes the buffer and a position and returns the value and the next position. What cannot be is raised as
BrokenField (or IndexError, struct.error when the bytes end); the message that is being read turns it into
MalformedMessage. A slice past the end yields less than was asked for and moves the position past the end, where the
next read, or the check at the end of the message, finds it; nothing is allocated for bytes that are not there.
Must not know messages, versions or schemas.
"""

from __future__ import annotations

import codecs
import struct
from struct import Struct, unpack_from
from typing import Final

from millstream.model import Uuid

Buffer = bytes | memoryview

STRING_BYTES_MAX: Final = 0x7FFF
"""Kafka's limit for strings, compact ones too."""

LENIENT: Final = "millstream.kafka"
"""Name of the decoding error handler that puts U+FFFD where Java does."""

INT16: Final = Struct(">h")
INT32: Final = Struct(">i")


COMPACT_INT32S: Final = tuple(Struct(f">x{max(0, n - 1)}i").unpack_from for n in range(17))
"""By the byte of a compact count: unpacks that byte, thrown away, and the elements."""


class BrokenField(Exception):
    """The field being read cannot be what its bytes say. The message's decoder adds where."""


READ_FAILURES: Final = (BrokenField, IndexError, struct.error)
"""What a decoder meets when bytes are missing or wrong."""


def replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Returns one U+FFFD for each part that Java's decoder replaces: Python's, but an encoded
    surrogate is one part, not three.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    raw, start, end = error.object, error.start, error.end
    if raw[start] == 0xED and start + 1 < len(raw) and 0xA0 <= raw[start + 1] <= 0xBF:
        end = start + 2
        if end < len(raw) and 0x80 <= raw[end] <= 0xBF:
            end += 1
    return "\ufffd", end


codecs.register_error(LENIENT, replace_as_java)


def read_uvarint(data: Buffer, at: int) -> tuple[int, int]:
    """Reads up to five bytes, seven bits each, lowest first; bits above 32 are dropped, as Kafka does."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, at
        shift += 7
        if shift > 28:
            raise BrokenField("a variable-length integer has more than five bytes")


def read_length(data: Buffer, at: int) -> tuple[int, int]:
    """Returns a compact length or count; negative means null."""
    value, at = read_uvarint(data, at)
    return (value - 1 if value <= 0x80000000 else -1), at


def read_compact_string(data: Buffer, at: int) -> tuple[str, int]:
    """Reads any compact string; generated code reads short ones in line."""
    text, at = read_compact_string_or_null(data, at)
    if text is None:
        raise null_refused()
    return text, at


def read_compact_string_or_null(data: Buffer, at: int) -> tuple[str | None, int]:
    length, at = read_length(data, at)
    if length < 0:
        return None, at
    if length > STRING_BYTES_MAX:
        raise BrokenField(f"a string of {length} bytes is longer than {STRING_BYTES_MAX}")
    if length > len(data) - at:
        raise past_end(at + length, len(data))
    return str(data[at : at + length], "utf-8", LENIENT), at + length


def read_compact_int32s(data: Buffer, at: int) -> tuple[list[int], int]:
    """Reads any compact array of int32; generated code reads short ones in line."""
    count, at = read_length(data, at)
    return read_integers(data, at, count, "i", 4)


def read_compact_int32s_or_null(data: Buffer, at: int) -> tuple[list[int] | None, int]:
    count, at = read_length(data, at)
    return (None, at) if count < 0 else read_integers(data, at, count, "i", 4)


def null_refused() -> BrokenField:
    return BrokenField("null is not allowed in this version")


def count_refused(count: int, remaining: int) -> BrokenField:
    """Returns the error for an array whose elements cannot fit in what remains, or that is null
    where null is not allowed.
    """
    if count < 0:
        return null_refused()
    return BrokenField(f"{count} elements do not fit in the {max(0, remaining)} bytes that remain")


def tag_refused(tag: int, version: int) -> BrokenField:
    return BrokenField(f"tag {tag} is not valid in version {version}")


def past_end(at: int, limit: int) -> BrokenField:
    return BrokenField(f"{at - limit} bytes are missing at the end")


def read_integers(
    data: Buffer, at: int, count: int, code: str, width: int
) -> tuple[list[int], int]:
    """Reads `count` big-endian integers of struct type `code`, `width` bytes each."""
    size = count * width
    if not 0 <= size <= len(data) - at:
        raise count_refused(count, len(data) - at)
    return list(unpack_from(f">{count}{code}", data, at)), at + size


def read_uuids(data: Buffer, at: int, count: int) -> tuple[list[Uuid], int]:
    end = at + 16 * count
    if not at <= end <= len(data):
        raise count_refused(count, len(data) - at)
    return [Uuid(bytes(data[start : start + 16])) for start in range(at, end, 16)], end


def read_strings(data: Buffer, at: int, count: int) -> tuple[list[str], int]:
    """Reads `count` strings with int16 lengths."""
    if not 0 <= 2 * count <= len(data) - at:
        raise count_refused(count, len(data) - at)
    strings = []
    for _ in range(count):
        (length,) = INT16.unpack_from(data, at)
        if length < 0:
            raise null_refused()
        at += 2 + length
        strings.append(str(data[at - length : at], "utf-8", LENIENT))
    return strings, at


def read_compact_strings(data: Buffer, at: int, count: int) -> tuple[list[str], int]:
    """Reads `count` strings with compact lengths."""
    if not 0 <= count <= len(data) - at:
        raise count_refused(count, len(data) - at)
    strings = []
    for _ in range(count):
        text, at = read_compact_string(data, at)
        strings.append(text)
    return strings, at
