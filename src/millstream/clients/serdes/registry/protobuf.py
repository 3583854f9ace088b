"""Protobuf messages that name their file in a registry, and their place in it (extra `protobuf`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar, Unpack, cast

from millstream.clients.serdes.protobuf_messages import write_message
from millstream.clients.serdes.registry.client import SchemaRegistry
from millstream.clients.serdes.registry.serde import RegistrySerde, SchemaUse, SchemaUseOptions
from millstream.clients.serdes.registry.values import RegisteredSchema, Schema, SchemaReference
from millstream.clients.serdes.registry.wire_format import read_indexes
from millstream.runtime.extras import library

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.message import Message

    M = TypeVar("M", bound=Message)
else:
    M = TypeVar("M")

_WITH_PROTOBUF = ("google/protobuf/", "google/type/", "confluent/")
"""Files that every registry knows; they are not registered as references."""


def confluent_protobuf(
    registry: SchemaRegistry, message_type: type[M], **use: Unpack[SchemaUseOptions]
) -> RegistrySerde[M]:
    """Protobuf as Confluent's KafkaProtobufSerializer writes it. See SchemaUse for the other arguments.

    Files that the message's file imports are registered under their own names. What is read becomes `message_type`
    whatever version wrote it, by Protobuf's rules; a topic of several message types needs a deserializer of its own.
    """
    library("google.protobuf.message", "protobuf")
    form: _Protobuf[M] = _Protobuf(message_type)
    return RegistrySerde(registry, form, SchemaUse(**use))


class _Protobuf(Generic[M]):
    def __init__(self, message_type: type[M]) -> None:
        self._message_type = message_type
        self.name = f"protobuf({self._descriptor.full_name})"
        self.indexes: tuple[int, ...] | None = _place(self._descriptor)

    @property
    def _descriptor(self) -> Descriptor:
        return cast("Descriptor", self._message_type.DESCRIPTOR)  # or its twin in C

    def record_name(self) -> str | None:
        return self._descriptor.full_name

    async def schema(self, registry: SchemaRegistry, use: SchemaUse) -> Schema | None:
        return await _with_references(registry, use, self._descriptor.file)

    def writer(self, schema: Schema, referenced: Mapping[str, Schema]) -> Callable[[M], bytes]:  # noqa: ARG002 - the signature is the Format's
        return partial(write_message, self._message_type)

    def reader(self, schema: Schema, referenced: Mapping[str, Schema]) -> Callable[[bytes], M]:  # noqa: ARG002 - the signature is the Format's
        return partial(_read, self._message_type)


def _read(message_type: type[M], data: bytes) -> M:
    _, at = read_indexes(data, 0)
    return message_type.FromString(data[at:])


def _place(descriptor: Descriptor) -> tuple[int, ...]:
    """Returns the index of the message in the file, then that of the message inside it, and so on."""
    outer = descriptor.containing_type
    if outer is None:
        return (list(descriptor.file.message_types_by_name).index(descriptor.name),)
    return (*_place(outer), list(outer.nested_types_by_name).index(descriptor.name))


async def _with_references(
    registry: SchemaRegistry, use: SchemaUse, file: FileDescriptor
) -> Schema:
    """The file's schema; what it imports is registered, or looked up, before it."""
    references = []
    for imported in file.dependencies:
        if imported.name.startswith(_WITH_PROTOBUF):
            continue
        inner = await _with_references(registry, use, imported)
        found = await _registered(registry, use, imported.name, inner)
        references.append(SchemaReference(imported.name, imported.name, found.version))
    text = base64.standard_b64encode(file.serialized_pb).decode("ascii")
    return Schema(text, "PROTOBUF", tuple(references))


async def _registered(
    registry: SchemaRegistry, use: SchemaUse, subject: str, schema: Schema
) -> RegisteredSchema:
    if use.auto_register:
        registered = await registry.register(subject, schema, normalize=use.normalize)
        if registered.version:
            return registered
    return await registry.look_up(subject, schema, normalize=use.normalize)
