"""Avro values that name their schema in a registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar, Unpack, overload

from millstream.clients.serdes.avro_data import (
    AvroSchema,
    Datum,
    Parsed,
    exactly,
    parsed,
    read_datum,
    write_datum,
)
from millstream.clients.serdes.json_text import made_with
from millstream.clients.serdes.registry.client import SchemaRegistry
from millstream.clients.serdes.registry.serde import RegistrySerde, SchemaUse, SchemaUseOptions
from millstream.clients.serdes.registry.values import Schema

T = TypeVar("T")


@overload
def confluent_avro(
    registry: SchemaRegistry,
    schema: AvroSchema | Schema | None = None,
    *,
    reader_schema: AvroSchema | None = None,
    **use: Unpack[SchemaUseOptions],
) -> RegistrySerde[Datum]: ...
@overload
def confluent_avro(
    registry: SchemaRegistry,
    schema: AvroSchema | Schema | None = None,
    *,
    reader_schema: AvroSchema | None = None,
    into: Callable[..., T],
    **use: Unpack[SchemaUseOptions],
) -> RegistrySerde[T]: ...
def confluent_avro(
    registry: SchemaRegistry,
    schema: AvroSchema | Schema | None = None,
    *,
    reader_schema: AvroSchema | None = None,
    into: Callable[..., T] | None = None,
    **use: Unpack[SchemaUseOptions],
) -> RegistrySerde[Datum] | RegistrySerde[T]:
    """Avro as Confluent's KafkaAvroSerializer writes it. See SchemaUse for the other arguments.

    `schema` is what is written with (a `Schema` where it refers to others); reading needs none. `reader_schema` is
    what the reader wants of any writer's values, by Avro's rules of resolution. `into` as for `avro`.
    """
    form = _Avro(schema, reader_schema, into)
    return RegistrySerde[Datum](registry, form, SchemaUse(**use))


class _Avro:
    name = "avro"
    indexes: tuple[int, ...] | None = None

    def __init__(
        self,
        schema: AvroSchema | Schema | None,
        reader_schema: AvroSchema | None,
        into: Callable[..., Datum] | None,
    ) -> None:
        self._schema = schema if schema is None or isinstance(schema, Schema) else _schema(schema)
        self._reader_schema = None if reader_schema is None else exactly(parsed(reader_schema))
        self._make = None if into is None else made_with(into)
        if self._schema is None:
            parsed("null")  # so that a missing library is told of now

    def record_name(self) -> str | None:
        return None if self._schema is None else _name(self._schema.text)

    async def schema(self, registry: SchemaRegistry, use: SchemaUse) -> Schema | None:  # noqa: ARG002 - the signature is the Format's
        return self._schema

    def writer(self, schema: Schema, referenced: Mapping[str, Schema]) -> Callable[[Datum], bytes]:
        written = _resolved(schema, referenced)
        return _write_bytes if written == "bytes" else partial(write_datum, written)

    def reader(self, schema: Schema, referenced: Mapping[str, Schema]) -> Callable[[bytes], Datum]:
        written = _resolved(schema, referenced)
        if written == "bytes":
            return _read_bytes if self._make is None else self._make
        return partial(read_datum, exactly(written), self._reader_schema, self._make)


def _write_bytes(value: Datum) -> bytes:
    """Plain bytes have no length in front: Confluent's one exception from Avro's encoding."""
    return bytes(value)


def _read_bytes(data: bytes) -> Datum:
    return data


def _schema(schema: AvroSchema) -> Schema:
    import orjson

    parsed(schema)  # what is wrong with it is told where it was given
    if isinstance(schema, str) and schema.lstrip()[:1] in {"{", "[", '"'}:
        return Schema(schema)
    return Schema(orjson.dumps(schema).decode())


def _resolved(schema: Schema, referenced: Mapping[str, Schema]) -> Parsed:
    named: dict[str, Parsed] = {}
    for inner in referenced.values():
        parsed(inner.text, named)
    whole = parsed(schema.text, named)
    is_plain = (
        isinstance(whole, dict) and whole.get("type") == "bytes" and "logicalType" not in whole
    )
    return "bytes" if is_plain else whole


def _name(text: str) -> str | None:
    """The full name of a record, enum or fixed; a primitive's name; None for a union."""
    import orjson

    schema = orjson.loads(text)
    if isinstance(schema, dict):
        name = str(schema.get("name", schema["type"]))
        space = schema.get("namespace")
        return f"{space}.{name}" if space and "." not in name else name
    return schema if isinstance(schema, str) else None
