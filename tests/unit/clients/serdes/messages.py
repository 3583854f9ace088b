"""Protobuf classes for tests, made without protoc. Two levels of messages, and a file that imports another."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_POOL = descriptor_pool.DescriptorPool()
_FIELD = descriptor_pb2.FieldDescriptorProto


def _file(name: str, dependency: str | None = None) -> descriptor_pb2.FileDescriptorProto:
    made = descriptor_pb2.FileDescriptorProto(name=name, package="flights", syntax="proto3")
    if dependency is not None:
        made.dependency.append(dependency)
    return made


def _message(
    parent: Any, name: str, *fields: tuple[str, int]
) -> Any:  # Any: a list of descriptors, whose type is generated
    made = parent.add(name=name)
    for number, (field, kind) in enumerate(fields, 1):
        made.field.add(name=field, number=number, type=kind, label=_FIELD.LABEL_OPTIONAL)
    return made


_airport = _file("airport.proto")
_message(_airport.message_type, "Airport", ("code", _FIELD.TYPE_STRING))
_flight = _file("flight.proto", "airport.proto")
_message(
    _flight.message_type, "Flight", ("number", _FIELD.TYPE_INT32), ("tail", _FIELD.TYPE_STRING)
)
_leg = _message(_flight.message_type, "Leg", ("miles", _FIELD.TYPE_INT32))
_message(_leg.nested_type, "Stop", ("minutes", _FIELD.TYPE_INT32))
_message(_leg.nested_type, "Delay", ("minutes", _FIELD.TYPE_INT32))
_origin = _flight.message_type[0].field.add(name="origin", number=3, label=_FIELD.LABEL_OPTIONAL)
_origin.type, _origin.type_name = _FIELD.TYPE_MESSAGE, ".flights.Airport"
for _made in (_airport, _flight):
    _POOL.Add(_made)


def _class(name: str) -> Any:  # Any: a class that is made here
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"flights.{name}"))


Airport, Flight, Leg, Stop, Delay = map(
    _class, ("Airport", "Flight", "Leg", "Leg.Stop", "Leg.Delay")
)
