"""Tagged fields a struct does not know: kept when read, written back in their place (KIP-482).

Owns `TaggedField` and the order in which tags are written. Must not know messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from millstream.errors import EncodeError
from millstream.protocol.reading import BrokenField, Buffer, read_uvarint
from millstream.protocol.writing import write_uvarint

INT32_MAX: Final = 0x7FFFFFFF


class TaggedField(NamedTuple):
    """A tag and the bytes of its value, without the size that precedes them."""

    tag: int
    data: bytes


def read_tag_count(data: Buffer, at: int) -> tuple[int, int]:
    """Returns the number of tagged fields that follow. Kafka counts in int32: from 2^31 on that is none."""
    count, at = read_uvarint(data, at)
    if count > INT32_MAX:
        return 0, at
    if 2 * count > len(data) - at:
        raise BrokenField(
            f"{count} tagged fields do not fit in the {len(data) - at} bytes that remain"
        )
    return count, at


def read_unknown_field(data: Buffer, at: int, tag: int, size: int) -> tuple[TaggedField, int]:
    """Returns the value of a tag the struct does not know."""
    if size > len(data) - at:
        raise BrokenField(f"tag {tag} claims {size} bytes, {max(0, len(data) - at)} remain")
    return TaggedField(tag, bytes(data[at : at + size])), at + size


def read_unknown_fields(data: Buffer, at: int) -> tuple[tuple[TaggedField, ...], int]:
    """Returns the tagged fields section of a struct that knows no tags; `at` is where its count stands."""
    count, at = read_tag_count(data, at)
    fields = []
    for _ in range(count):
        tag, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        field, at = read_unknown_field(data, at, tag, size)
        fields.append(field)
    return tuple(fields), at


def write_tagged_fields(
    out: bytearray, known: Iterable[TaggedField], unknown: Iterable[TaggedField]
) -> None:
    """Writes the whole section, ascending by tag. Raises EncodeError when a tag occurs twice."""
    fields = sorted([*known, *unknown], key=lambda field: field.tag)
    write_uvarint(out, len(fields))
    previous = -1
    for tag, data in fields:
        if tag <= previous:
            raise EncodeError(
                f"tag {tag} occurs twice; unknown tagged fields need tags of their own"
            )
        previous = tag
        write_uvarint(out, tag)
        write_uvarint(out, len(data))
        out += data
