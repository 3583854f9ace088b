"""The scalar types: their struct codes, widths, annotations and defaults."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from millstream.protocol.schema import WIDTHS, Field, Struct


class Fixed(NamedTuple):
    """A type of fixed width: its code in `struct`, its annotation and the expression of its zero."""

    code: str
    annotation: str
    zero: str


FIXED: Final = {
    "bool": Fixed("?", "bool", "False"),
    "int8": Fixed("b", "int", "0"),
    "int16": Fixed("h", "int", "0"),
    "uint16": Fixed("H", "int", "0"),
    "int32": Fixed("i", "int", "0"),
    "uint32": Fixed("I", "int", "0"),
    "int64": Fixed("q", "int", "0"),
    "float64": Fixed("d", "float", "0.0"),
    "uuid": Fixed("16s", "Uuid", "ZERO_UUID"),
}
_SIZED: Final = {"string": ("str", '""'), "bytes": ("bytes", 'b""'), "records": ("Records", 'b""')}


def is_fixed(field: Field) -> bool:
    return field.type in FIXED and not field.is_array


def is_value(struct: Struct) -> bool:
    """Whether a struct is a small value: no lists inside, so that it can be frozen and its default shared."""
    return all(
        not field.is_array
        and field.type != "records"
        and (field.struct is None or (is_value(field.struct) and field.nullable is None))
        for field in struct.fields
    )


def default(field: Field, class_name: str) -> str:
    """The expression of an untouched field's value. `class_name`: of the field's struct, if it has one."""
    if field.has_default and field.default is None:
        return "None"
    if field.is_array:
        return "[]"
    if field.struct is not None:
        return f"{class_name}()"
    if field.has_default:
        return json.dumps(field.default) if isinstance(field.default, str) else repr(field.default)
    if field.type in FIXED:
        return FIXED[field.type].zero
    return _SIZED[field.type][1]


def annotation(field: Field, class_name: str) -> str:
    if field.type in FIXED:
        name = FIXED[field.type].annotation
    else:
        name = class_name if field.struct is not None else _SIZED[field.type][0]
    if field.is_array:
        name = f"list[{name}]"
    optional = field.nullable is not None or (field.has_default and field.default is None)
    return f"{name} | None" if optional else name


def smallest_size(field: Field, version: int, flexible: bool) -> int:
    """Bytes a field takes at least in a version that has it."""
    compact = flexible and not field.legacy
    if field.is_array:
        return 1 if compact else 4
    if field.type in FIXED:
        return WIDTHS[field.type]
    if field.struct is not None:
        return (
            1
            if field.nullable and version in field.nullable
            else struct_size(field.struct, version, flexible)
        )
    if field.type == "string":
        return 1 if compact else 2
    return 1 if compact else 4


def struct_size(struct: Struct, version: int, flexible: bool) -> int:
    """Bytes a struct takes at least in a version."""
    fields = sum(
        smallest_size(field, version, flexible)
        for field in struct.fields
        if version in field.versions and field.tag is None
    )
    return fields + flexible
