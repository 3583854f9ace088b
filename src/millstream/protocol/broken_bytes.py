"""Finds the field at which bytes stop being the message they should be.

A slow walk by the message's table, made once a decoder has failed. Owns no values: it only steps over them, with every
rule of the decoders. Must not be used to read healthy messages.
"""

from __future__ import annotations

import struct
from typing import Final

from millstream.protocol.reading import (
    INT16,
    INT32,
    STRING_BYTES_MAX,
    BrokenField,
    count_refused,
    null_refused,
    read_length,
    read_uvarint,
    tag_refused,
)
from millstream.protocol.schema import WIDTHS, Field, MessageSchema, Struct
from millstream.protocol.tagged_fields import read_tag_count, read_unknown_field

FIELDS_MAX: Final = 50_000
"""After so many fields the walk gives up: naming a field must not cost more than hostile bytes are worth."""


class _TooManyFields(Exception):
    """The walk has gone on for too long."""


class BytesWalk:
    """A walk through the bytes of a message.

    `path` and `at` are the field last begun, as in `topics[2].name`, and the position last reached.
    """

    def __init__(self, schema: MessageSchema, view: memoryview, version: int) -> None:
        self.at = 0
        self._schema = schema
        self._view = view
        self._version = version
        self._flexible = schema.is_flexible(version)
        self._path: list[str] = []
        self._steps = 0

    @property
    def path(self) -> str:
        return ".".join(self._path) or "?"

    def find_broken(self, at: int) -> str | None:
        """Returns the reason why the message at `at` cannot be read; None if the walk finds none."""
        self.at = at
        try:
            self._read_struct(self._schema.root)
        except BrokenField as found:
            return str(found)
        except (IndexError, struct.error):
            return "the bytes end within this field"
        except _TooManyFields:
            self._path.append("(or behind it)")
            return f"the first {FIELDS_MAX} fields are sound, what follows is not"
        return None

    def _read_struct(self, layout: Struct) -> None:
        for field in layout.fields:
            if field.tag is None and self._version in field.versions:
                self._read_field(field)
        if self._flexible:
            self._read_tags(layout)

    def _read_field(self, field: Field) -> None:
        self._path.append(field.attribute)
        if field.is_single_struct:
            self._read_single_struct(field)
        elif field.type in WIDTHS and not field.is_array:
            self._skip(WIDTHS[field.type])
        else:
            self._read_sized(field)
        self._path.pop()

    def _read_single_struct(self, field: Field) -> None:
        assert field.struct is not None, "asked only for structs"
        if field.nullable is not None:
            (marker,) = struct.unpack_from(">b", self._view, self.at)
            self.at += 1
            if marker < 0:
                return
        self._read_struct(field.struct)

    def _read_sized(self, field: Field) -> None:
        """Everything that opens with a length or count."""
        start = self.at
        length = self._length(field)
        if length < 0:
            if field.nullable is None or self._version not in field.nullable:
                self.at = start
                raise null_refused()
        elif field.is_array:
            self._read_array(field, length)
        else:
            if field.type == "string" and length > STRING_BYTES_MAX:
                self.at = start
                raise BrokenField(f"a string of {length} bytes is longer than {STRING_BYTES_MAX}")
            self._skip(length)

    def _length(self, field: Field) -> int:
        if self._flexible and not field.legacy:
            length, self.at = read_length(self._view, self.at)
            return length
        width = INT16 if field.type == "string" and not field.is_array else INT32
        (length,) = width.unpack_from(self._view, self.at)
        self.at += width.size
        return int(length)

    def _read_array(self, field: Field, count: int) -> None:
        remaining = len(self._view) - self.at
        smallest = (
            1 if field.struct is not None else WIDTHS.get(field.type, 1 if self._flexible else 2)
        )
        if count * smallest > remaining:
            raise count_refused(count, remaining)
        if field.struct is None and field.type in WIDTHS:
            self._skip(count * smallest)
            return
        name = self._path[-1]
        for index in range(count):
            self._path[-1] = f"{name}[{index}]"
            if field.struct is not None:
                self._read_struct(field.struct)
            else:
                self._read_string()

    def _read_string(self) -> None:
        self._step()
        if self._flexible:
            length, self.at = read_length(self._view, self.at)
        else:
            (length,) = INT16.unpack_from(self._view, self.at)
            self.at += INT16.size
        if length < 0:
            raise null_refused()
        if length > STRING_BYTES_MAX:
            raise BrokenField(f"a string of {length} bytes is longer than {STRING_BYTES_MAX}")
        self._skip(length)

    def _read_tags(self, layout: Struct) -> None:
        self._path.append("tagged fields")
        known = {field.tag: field for field in layout.fields if field.tag is not None}
        count, self.at = read_tag_count(self._view, self.at)
        for _ in range(count):
            tag, self.at = read_uvarint(self._view, self.at)
            size, self.at = read_uvarint(self._view, self.at)
            field = known.get(tag)
            self._step()
            if field is None:
                _, self.at = read_unknown_field(self._view, self.at, tag, size)
            elif self._version not in field.versions:
                raise tag_refused(tag, self._version)
            else:
                self._path[-1] = field.attribute
                self._read_tagged_value(field)
                self._path[-1] = "tagged fields"
        self._path.pop()

    def _read_tagged_value(self, field: Field) -> None:
        if field.is_single_struct and field.nullable is not None:
            assert field.struct is not None, "asked only for structs"
            marker, self.at = read_uvarint(self._view, self.at)
            if 0 < marker <= 0x7FFFFFFF:
                self._read_struct(field.struct)
            return
        self._path.pop()
        self._read_field(field)
        self._path.append("tagged fields")

    def _skip(self, size: int) -> None:
        self._step()
        remaining = len(self._view) - self.at
        if size > remaining:
            raise BrokenField(f"{size} bytes are needed, {max(0, remaining)} remain")
        self.at += size

    def _step(self) -> None:
        self._steps += 1
        if self._steps > FIELDS_MAX:
            raise _TooManyFields
