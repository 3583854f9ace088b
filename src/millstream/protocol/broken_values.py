"""Finds the field whose value a version of a message cannot carry.

A slow walk by the message's table, made once an encoder has failed. Must not be used on healthy messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from millstream.protocol.buffers import Splice
from millstream.protocol.schema import INTEGERS, Field, MessageSchema, Struct
from millstream.protocol.writing import refusal_of_text

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "float64": (float, int),
    "string": (str,),
    "bytes": (bytes, bytearray, memoryview),
    "records": (bytes, bytearray, memoryview, Splice),
    "uuid": (bytes,),
}


def find_broken(schema: MessageSchema, message: object, version: int) -> tuple[str, str] | None:
    """Path and reason of the first field that cannot be written; None where all can."""
    return next(_ValuesWalk(schema, version).struct(schema.root, message, ""), None)


class _ValuesWalk:
    def __init__(self, schema: MessageSchema, version: int) -> None:
        self._version = version
        self._flexible = schema.is_flexible(version)

    def struct(self, layout: Struct, value: object, path: str) -> Iterator[tuple[str, str]]:
        untouched = type(value)()
        for field in layout.fields:
            content = getattr(value, field.attribute, None)
            where = f"{path}{field.attribute}"
            if self._version in field.versions:
                yield from self._field(field, content, where)
            elif not field.ignorable and content != getattr(untouched, field.attribute, None):
                yield where, f"version {self._version} does not have it: leave it at its default"
        unknown = getattr(value, "unknown_tagged_fields", ())
        if unknown and not self._flexible:
            yield f"{path}unknown_tagged_fields", f"version {self._version} is not flexible"
        tags = [tag for tag, _ in unknown]
        tags += [field.tag for field in layout.fields if field.tag is not None]
        if len(set(tags)) < len(tags):
            yield (
                f"{path}unknown_tagged_fields",
                "a tag occurs twice, or is one that the struct knows",
            )

    def _field(self, field: Field, value: object, path: str) -> Iterator[tuple[str, str]]:
        if value is None:
            if field.nullable is None or self._version not in field.nullable:
                yield path, f"null is not allowed in version {self._version}"
        elif not field.is_array:
            yield from self._element(field, value, path)
        elif not isinstance(value, Sequence):
            yield path, f"a list is needed, not {type(value).__name__}"
        else:
            for index, element in enumerate(value):
                yield from self._element(field, element, f"{path}[{index}]")

    def _element(self, field: Field, value: object, path: str) -> Iterator[tuple[str, str]]:
        if field.struct is not None:
            if field.struct.fields and not hasattr(value, field.struct.fields[0].attribute):
                yield path, f"{field.type} is needed, not {type(value).__name__}"
            else:
                yield from self.struct(field.struct, value, f"{path}.")
        elif field.type in INTEGERS:
            if not isinstance(value, int) or value not in INTEGERS[field.type]:
                yield path, f"{value!r:.40} is no {field.type}"
        elif field.type != "bool" and not isinstance(value, _TYPES[field.type]):
            yield path, f"{field.type} is needed, not {type(value).__name__}"
        elif isinstance(value, str):
            yield from self._text(value, path)
        elif field.type == "uuid" and isinstance(value, bytes) and len(value) != 16:
            yield path, f"a uuid has 16 bytes, not {len(value)}"

    def _text(self, text: str, path: str) -> Iterator[tuple[str, str]]:
        refusal = refusal_of_text(text)
        if refusal is not None:
            yield path, refusal
