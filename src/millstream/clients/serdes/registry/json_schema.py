"""JSON values that name their JSON Schema in a registry (extra `json-schema`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar, Unpack, overload

from millstream.clients.serdes.json_text import (
    Document,
    made_with,
    plain_decimal,
    read_json,
    write_json,
)
from millstream.clients.serdes.registry.client import SchemaRegistry
from millstream.clients.serdes.registry.serde import RegistrySerde, SchemaUse, SchemaUseOptions
from millstream.clients.serdes.registry.values import Schema
from millstream.runtime.extras import library

T = TypeVar("T")

JsonSchema = str | Mapping[str, object]
"""JSON text, or what it parses to."""
Check = Callable[[Document], None]
"""Raises ValueError for a document that is not of the schema."""


@overload
def confluent_json(
    registry: SchemaRegistry,
    schema: JsonSchema | Schema | None = None,
    *,
    validate: bool = True,
    **use: Unpack[SchemaUseOptions],
) -> RegistrySerde[Document]: ...
@overload
def confluent_json(
    registry: SchemaRegistry,
    schema: JsonSchema | Schema | None = None,
    *,
    into: Callable[..., T],
    validate: bool = True,
    **use: Unpack[SchemaUseOptions],
) -> RegistrySerde[T]: ...
def confluent_json(
    registry: SchemaRegistry,
    schema: JsonSchema | Schema | None = None,
    *,
    into: Callable[..., T] | None = None,
    validate: bool = True,
    **use: Unpack[SchemaUseOptions],
) -> RegistrySerde[Document] | RegistrySerde[T]:
    """Returns a serde of JSON as Confluent's KafkaJsonSchemaSerializer writes it.

    See SchemaUse for the other arguments.

    `validate` holds values against the schema they are or were written with, on both sides. `into` as for `json`.
    """
    if validate:
        library("jsonschema", "json-schema")
    form = _Json(schema, into, validate=validate)
    return RegistrySerde[Document](registry, form, SchemaUse(**use))


class _Json:
    name = "json-schema"
    indexes: tuple[int, ...] | None = None

    def __init__(
        self,
        schema: JsonSchema | Schema | None,
        into: Callable[..., Document] | None,
        *,
        validate: bool,
    ) -> None:
        self._schema = schema if schema is None or isinstance(schema, Schema) else _schema(schema)
        self._make: Callable[[Document], Document] = _as_it_is if into is None else made_with(into)
        self._validate = validate

    def record_name(self) -> str | None:
        import orjson

        if self._schema is None:
            return None
        whole = orjson.loads(self._schema.text)
        return whole.get("title") if isinstance(whole, dict) else None

    async def schema(self, registry: SchemaRegistry, use: SchemaUse) -> Schema | None:  # noqa: ARG002 - the signature is the Format's
        return self._schema

    def writer(
        self, schema: Schema, referenced: Mapping[str, Schema]
    ) -> Callable[[Document], bytes]:
        return partial(_write, _checker(schema, referenced) if self._validate else None)

    def reader(
        self, schema: Schema, referenced: Mapping[str, Schema]
    ) -> Callable[[bytes], Document]:
        check = _checker(schema, referenced) if self._validate else None
        return partial(_read, check, self._make)


def _as_it_is(document: Document) -> Document:
    return document


def _write(check: Check | None, value: Document) -> bytes:
    text = write_json(value, plain_decimal)
    if check is not None:
        check(read_json(text))  # dataclasses and dates as the text has them
    return text


def _read(check: Check | None, make: Callable[[Document], Document], data: bytes) -> Document:
    document = read_json(data)
    if check is not None:
        check(document)
    return make(document)


def _schema(schema: JsonSchema) -> Schema:
    import orjson

    text = schema if isinstance(schema, str) else orjson.dumps(schema).decode()
    orjson.loads(text)  # what is wrong with it is told where it was given
    return Schema(text, "JSON")


def _checker(schema: Schema, referenced: Mapping[str, Schema]) -> Check:
    """A function that holds documents against the schema; `$ref` finds the schemas it refers to by their names."""
    import orjson
    from jsonschema.validators import validator_for
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    resources = [
        (name, Resource.from_contents(orjson.loads(inner.text), default_specification=DRAFT7))
        for name, inner in referenced.items()
    ]
    whole = orjson.loads(schema.text)
    kind = validator_for(whole)
    kind.check_schema(whole)
    return partial(_check, kind(whole, registry=Registry().with_resources(resources)))


def _check(validator: Document, document: Document) -> None:
    from jsonschema.exceptions import best_match

    error = best_match(validator.iter_errors(document))
    if error is not None:
        raise ValueError(f"{error.json_path}: {error.message}")
