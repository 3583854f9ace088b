"""A value for a field that a version lacks: dropped where the table calls the field ignorable, else refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream.errors import EncodeError
from millstream.protocol.catalogue import every_message
from millstream.protocol.json_form import struct_class
from millstream.protocol.schema import Field, Struct, VersionRange

Path = tuple[Field, ...]
OTHER_VALUES = {
    "string": "other",
    "bytes": b"other",
    "records": b"other",
    "uuid": bytes(range(16)),
}


def absent_fields(
    layout: Struct, within: VersionRange, path: Path = ()
) -> Iterator[tuple[Path, int]]:
    """Every field with the way to it, and a version that has its struct and lacks the field."""
    for field in layout.fields:
        for version in within:
            if version not in field.versions:
                yield (*path, field), version
        if field.struct is not None:
            yield from absent_fields(
                field.struct, field.versions.intersection(within), (*path, field)
            )


def message_with(kind: type, path: Path) -> Any:
    """A message whose only untouched path leads to the last field, which has another value than its default."""
    field = path[0]
    if len(path) == 1 or field.struct is None:
        value = other_value(kind, field)
    else:
        value = message_with(struct_class(kind, field.attribute), path[1:])
        value = [value] if field.is_array else value
    return kind(**{field.attribute: value})


def other_value(kind: type, field: Field) -> Any:
    if field.struct is not None:
        inner = struct_class(kind, field.attribute)
        first = field.struct.fields[0]
        value = inner() if field.is_array else inner(**{first.attribute: other_value(inner, first)})
    elif field.type == "bool":
        value = field.default is not True
    else:
        value = OTHER_VALUES.get(field.type, 3.0 if field.type == "float64" else 77)
    return [value] if field.is_array else value


def written(message: Any, version: int) -> bytes | None:
    """The bytes, or None where the message is refused."""
    out = bytearray()
    try:
        message.encode(out, version)
    except EncodeError as error:
        if "version" not in str(error):
            raise
        return None
    return bytes(out)


@pytest.mark.parametrize("name", sorted(every_message()))
def test_a_field_the_version_lacks_is_dropped_or_refused(name: str) -> None:
    kind, schema = every_message()[name]
    for path, version in absent_fields(schema.root, schema.versions):
        where = f"{'.'.join(field.name for field in path)} in version {version}"
        touched = message_with(kind, path)
        if path[-1].ignorable:
            assert written(touched, version) is not None, where
        else:
            assert written(touched, version) is None, where
