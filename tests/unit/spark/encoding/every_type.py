"""Protobuf classes with every type of field, made without protoc; and functions that encode."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

_FIELD = descriptor_pb2.FieldDescriptorProto
_POOL = descriptor_pool.DescriptorPool()
SCALARS: Final = (
    "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes", "uint32", "sfixed32",
    "sfixed64", "sint32", "sint64",
)  # fmt: skip


def _file(name: str, syntax: str) -> descriptor_pb2.FileDescriptorProto:
    return descriptor_pb2.FileDescriptorProto(name=name, package="every", syntax=syntax)


def _add(message: Any, name: str, kind: str, *, repeated: bool = False, **more: Any) -> None:
    label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
    fields = {
        "name": name,
        "number": 20 * len(message.field) + 1,
        "type": _FIELD.Type.Value(f"TYPE_{kind.upper()}"),
        "label": label,
    }
    message.field.add(**(fields | more))


def _every() -> descriptor_pb2.FileDescriptorProto:
    made = _file("every.proto", "proto3")
    made.dependency.append("google/protobuf/timestamp.proto")
    colour = made.enum_type.add(name="Colour")
    colour.value.add(name="RED", number=0)
    colour.value.add(name="BLUE", number=5)
    whole = made.message_type.add(name="EveryType")
    for kind in SCALARS:
        _add(whole, f"one_{kind}", kind)
        _add(whole, f"all_{kind}", kind, repeated=True)
    _add(whole, "colour", "enum", type_name=".every.Colour")
    _add(whole, "colours", "enum", type_name=".every.Colour", repeated=True)
    _add(whole, "at", "message", type_name=".google.protobuf.Timestamp")
    entry = whole.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    _add(entry, "key", "string", number=1)
    _add(entry, "value", "int64", number=2)
    _add(whole, "counts", "message", type_name=".every.EveryType.CountsEntry", repeated=True)
    for name in ("left", "right"):
        _add(whole, name, "string", oneof_index=0)
    whole.oneof_decl.add(name="side")
    _add(whole, "note", "string", oneof_index=1, proto3_optional=True)
    whole.oneof_decl.add(name="_note")
    inner = whole.nested_type.add(name="Inner")
    _add(inner, "number", "int32")
    _add(whole, "inner", "message", type_name=".every.EveryType.Inner")
    _add(whole, "inners", "message", type_name=".every.EveryType.Inner", repeated=True)
    return made


def _older() -> descriptor_pb2.FileDescriptorProto:
    made = _file("older.proto", "proto2")
    needed = made.message_type.add(name="Needed")
    _add(needed, "id", "int32", label=_FIELD.LABEL_REQUIRED)
    _add(needed, "name", "string")
    _add(needed, "numbers", "int32", repeated=True)
    return made


_timestamp = descriptor_pb2.FileDescriptorProto()
timestamp_pb2.DESCRIPTOR.CopyToProto(_timestamp)
for _made in (_timestamp, _every(), _older()):
    _POOL.Add(_made)


def _class(name: str) -> Any:  # Any: a class that is made here
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"every.{name}"))


EveryType, Inner, Needed = map(_class, ("EveryType", "EveryType.Inner", "Needed"))


def line(row: dict[str, Any]) -> bytes | None:
    """Encodes a word; an empty one is a tombstone."""
    word: str = row["value"]["word"]
    if word.isdigit():
        raise LookupError("a number is no word")
    return f"{row['key']}:{word}".encode() if word else None


def length(row: dict[str, Any]) -> int:
    return len(row)
