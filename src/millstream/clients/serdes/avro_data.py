"""Avro by fastavro (extra `avro`): values without their schema, which both ends know.

Values are exact: fastavro rounds a decimal of more digits than its schema has, and cuts a fraction where the schema has
whole numbers. With a schema registry, see `serdes.registry`: there each value says which schema wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import BytesIO
from numbers import Number
from typing import Any, Final, TypeAlias, TypeVar, overload

from millstream.clients.serdes.json_text import made_with
from millstream.clients.serdes.serde import Serde
from millstream.runtime.extras import library

T = TypeVar("T")

AvroSchema = str | Mapping[str, object] | Sequence[object]
"""JSON text, or what it parses to. A plain name such as "string" is a schema too."""


Datum: TypeAlias = Any  # Any: what a schema describes
Parsed: TypeAlias = Any  # Any: a schema in fastavro's own form


@overload
def avro(schema: AvroSchema, *, reader_schema: AvroSchema | None = None) -> Serde[Datum]: ...
@overload
def avro(
    schema: AvroSchema, *, reader_schema: AvroSchema | None = None, into: Callable[..., T]
) -> Serde[T]: ...
def avro(
    schema: AvroSchema,
    *,
    reader_schema: AvroSchema | None = None,
    into: Callable[..., T] | None = None,
) -> Serde[Datum] | Serde[T]:
    """Values of `schema` in Avro's binary encoding; records are dicts, or dataclasses when written.

    `reader_schema` says what the reader wants: Avro's rules of resolution make it from what was written.
    `into` makes an object of what was read: a dataclass gets a record's fields as keywords.
    """
    written = parsed(schema)
    read = None if reader_schema is None else exactly(parsed(reader_schema))
    decode = partial(read_datum, exactly(written), read, None if into is None else made_with(into))
    return Serde("avro", partial(write_datum, written), decode)


def parsed(schema: AvroSchema, named: dict[str, Parsed] | None = None) -> Parsed:
    """Returns a schema as fastavro wants it. `named` are types it may refer to; those it defines are added."""
    import orjson

    fastavro = library("fastavro", "avro")
    if isinstance(schema, str):
        schema = orjson.loads(schema) if schema.lstrip()[:1] in {"{", "[", '"'} else schema
    return fastavro.parse_schema(schema, named_schemas={} if named is None else named)


def exactly(schema: Parsed) -> Parsed:
    """Returns a schema to read with: decimals keep every digit that was written, as Java's classes read them."""
    if isinstance(schema, list):
        return [exactly(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        name: exactly(part) if name in _WITH_SCHEMAS else part for name, part in schema.items()
    }
    if schema.get("logicalType") == "decimal":
        found["precision"] = _EVERY_DIGIT
    return found


_WHOLE: Final = ("int", "long")
_WITH_SCHEMAS: Final = frozenset({"type", "fields", "items", "values"})
_EVERY_DIGIT: Final = 999_999
"""More digits than a number of 400 KB has. It allocates nothing."""


def write_datum(schema: Parsed, value: Datum) -> bytes:
    from dataclasses import asdict, is_dataclass

    import fastavro
    from fastavro.validation import ValidationError, validate

    out = BytesIO()
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    try:
        validate(value, schema)
    except ValidationError as error:
        misfit = _misfit(error)
        if misfit is not None:
            raise ValueError(misfit) from error
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def _misfit(error: Datum) -> str | None:
    """Returns the first number that is no whole number of its schema; whether it takes all
    else, the writer knows better.
    """
    for each in error.errors:
        kind = each.schema.get("type") if isinstance(each.schema, dict) else each.schema
        if kind in _WHOLE and isinstance(each.datum, Number):
            where = f"{each.field}: " if each.field else ""
            return f"{where}{each.datum!r} is no {kind} of the schema"
    return None


def read_datum(
    schema: Parsed,
    reader_schema: Parsed | None,
    make: Callable[[Datum], Datum] | None,
    data: bytes,
) -> Datum:
    import fastavro

    source = BytesIO(data)
    value = fastavro.schemaless_reader(source, schema, reader_schema)
    if source.tell() != len(data):
        raise ValueError(f"{len(data) - source.tell()} bytes follow the value of the schema")
    return value if make is None else make(value)
