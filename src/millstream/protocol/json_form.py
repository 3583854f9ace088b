"""Messages as JSON values, in the form of Kafka's generated JSON converters.

Owns the mapping alone: numbers stay numbers, uuids are text, bytes are base64, a tagged field that has its default is
absent, as are fields the version lacks. Two additions to what Kafka prints: records are hexadecimal, and unknown tagged
fields stand under `_unknownTaggedFields`. Slow; for tools, files and tests.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar, cast, get_args, get_type_hints

from millstream.model import uuid_from_text, uuid_text
from millstream.protocol.api import Message
from millstream.protocol.diagnosis import schema_of
from millstream.protocol.message_values import MessageValue
from millstream.protocol.schema import Field, Struct
from millstream.protocol.tagged_fields import TaggedField

UNKNOWN_TAGS: Final = "_unknownTaggedFields"
Json = Any  # JSON is untyped: object, array, text, number, boolean or null
AnyMessage = TypeVar("AnyMessage", bound=Message)


def to_json(message: Message, version: int) -> dict[str, Json]:
    """Returns the message as a version of it would carry it."""
    return _struct_to_json(message, schema_of(type(message)).root, version)


def from_json(kind: type[AnyMessage], value: Mapping[str, Json], version: int) -> AnyMessage:
    """Returns the message of type `kind`.

    Raises ValueError for a name the message does not have, or a missing field.
    """
    return cast("AnyMessage", _struct_from_json(kind, schema_of(kind).root, value, version))


def _struct_to_json(item: object, layout: Struct, version: int) -> dict[str, Json]:
    untouched = type(item)()
    found: dict[str, Json] = {}
    for field in layout.fields:
        value = getattr(item, field.attribute)
        if version in field.versions and not (
            field.tag is not None and value == getattr(untouched, field.attribute)
        ):
            found[field.name] = _field_to_json(value, field, version)
    unknown: tuple[TaggedField, ...] = getattr(item, "unknown_tagged_fields")  # noqa: B009  # object has no fields
    if unknown:
        found[UNKNOWN_TAGS] = [{"tag": tag, "data": data.hex()} for tag, data in unknown]
    return found


def _field_to_json(value: Json, field: Field, version: int) -> Json:
    if value is None:
        return None
    if field.is_array:
        return [_element_to_json(element, field, version) for element in value]
    return _element_to_json(value, field, version)


def _element_to_json(value: Json, field: Field, version: int) -> Json:
    if field.struct is not None:
        return _struct_to_json(value, field.struct, version)
    match field.type:
        case "uuid":
            return uuid_text(value)
        case "bytes":
            return base64.b64encode(value).decode()
        case "records":
            return bytes(value).hex()
        case _:
            return value


def _struct_from_json(
    kind: type, layout: Struct, value: Mapping[str, Json], version: int
) -> object:
    fields = {field.name: field for field in layout.fields}
    unknown = set(value) - set(fields) - {UNKNOWN_TAGS}
    if unknown:
        raise ValueError(f"{layout.name} has no field {', '.join(sorted(unknown))}")
    item = kind()
    arguments = {field.attribute: getattr(item, field.attribute) for field in layout.fields}
    for field in layout.fields:
        if field.name in value:
            arguments[field.attribute] = _field_from_json(kind, value[field.name], field, version)
        elif version in field.versions and field.tag is None:
            raise ValueError(f"{layout.name} needs {field.name} in version {version}")
    tags = tuple(
        TaggedField(tag["tag"], bytes.fromhex(tag["data"])) for tag in value.get(UNKNOWN_TAGS, ())
    )
    return kind(**arguments, unknown_tagged_fields=tags)


@cache
def struct_class(parent: type, attribute: str) -> type:
    """Returns the class of a field's struct, or of its elements, by the annotation in the class of `parent`."""
    pending = [get_type_hints(parent)[attribute]]
    while pending:
        hint = pending.pop()
        if isinstance(hint, type) and issubclass(hint, MessageValue):
            return hint
        pending += get_args(hint)
    raise TypeError(f"{parent.__name__}.{attribute} holds no struct")


def _field_from_json(parent: type, value: Json, field: Field, version: int) -> Json:
    if value is None:
        return None
    if field.is_array:
        return [_element_from_json(parent, element, field, version) for element in value]
    return _element_from_json(parent, value, field, version)


def _element_from_json(parent: type, value: Json, field: Field, version: int) -> Json:
    if field.struct is not None:
        return _struct_from_json(
            struct_class(parent, field.attribute), field.struct, value, version
        )
    match field.type:
        case "uuid":
            return uuid_from_text(value)
        case "bytes":
            return base64.b64decode(value)
        case "records":
            return bytes.fromhex(value)
        case _:
            return value
