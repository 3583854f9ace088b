"""Requests from keyword arguments, for every API and version: fields that a version lacks are left out.

A struct is a dict of its fields, by the names of our message classes. What is not given has the default of the schema.
"""

from __future__ import annotations

from typing import Any

from millstream.protocol.api import ApiKey, Message, request_class
from millstream.protocol.diagnosis import schema_of
from millstream.protocol.json_form import struct_class
from millstream.protocol.schema import Field, Struct

Fields = dict[str, Any]  # Any: whatever the fields of a message hold


def api_key(name: str) -> ApiKey:
    """`ListOffsets`, as Kafka spells it in its documents, to its key."""
    return _KEYS[name.lower()]


def request(key: ApiKey, version: int, fields: Fields) -> Message:
    """Raises ValueError for a field the message has in no version."""
    kind = request_class(key)
    return _struct(kind, schema_of(kind).root, fields, version)


def _struct(kind: type, layout: Struct, fields: Fields, version: int) -> Any:
    known = {field.attribute: field for field in layout.fields}
    unknown = set(fields) - set(known) - _OF_ANY_TOPIC
    if unknown:
        raise ValueError(f"{layout.name} has no field {', '.join(sorted(unknown))}")
    arguments = {
        name: _value(kind, known[name], value, version)
        for name, value in fields.items()
        if name in known and version in known[name].versions
    }
    return kind(**arguments)


def _value(kind: type, field: Field, value: Any, version: int) -> Any:
    if field.struct is None or value is None:
        return value
    inner = struct_class(kind, field.attribute)
    if field.is_array:
        return [_struct(inner, field.struct, element, version) for element in value]
    return _struct(inner, field.struct, value, version)


_OF_ANY_TOPIC = {"topic_id"}
"""Cases name topics both ways; some messages know only names."""
_KEYS = {key.name.replace("_", "").lower(): key for key in ApiKey}
