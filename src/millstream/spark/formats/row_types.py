"""The Spark type of what a format gives, as DDL: of a schema in DDL, in Spark's JSON, in
Avro, and of a Protobuf message.

Pure. Spark's own parser reads the result; text that is DDL already is only looked through for
mistakes. Every field may be null.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import orjson
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from millstream.clients.serdes.avro_data import Parsed, parsed
from millstream.errors import ConfigError
from millstream.spark.formats.ddl_types import type_of_text

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

_ONE_TYPE: Final = re.compile(
    r"\s*(\w+\s*(\([\s\d,]*\))?|(struct|array|map)\s*<.*>)\s*", re.IGNORECASE | re.DOTALL
)
_NOT_NULL: Final = re.compile(r"\bNOT\s+NULL\b", re.IGNORECASE)


def type_of_ddl(option: str, text: str) -> str:
    """`id BIGINT, name STRING` is the type of a struct, `ARRAY<INT>` stands for itself; Spark's JSON becomes DDL."""
    if text.lstrip().startswith("{"):
        return _type_of_json(option, text)
    if _NOT_NULL.search(text):
        raise ConfigError(f"{option}: a field of a record may be missing, so leave NOT NULL out")
    if not text.strip():
        raise ConfigError(f"{option} is empty: write the type, 'id BIGINT, name STRING'")
    kind = text if _ONE_TYPE.fullmatch(text) else f"struct<{text}>"
    # Spark would tell of a mistake in the columns of all rows, which nobody has written.
    type_of_text(option, kind, written=text)
    return kind


def _type_of_json(option: str, text: str) -> str:
    try:
        return ddl(StructType.fromJson(orjson.loads(text)))
    except Exception as error:  # PySpark raises what its dictionaries raise
        raise ConfigError(
            f"{option} is no schema of Spark, neither DDL ('id BIGINT, name STRING') nor JSON (StructType.json()): {error!r}"
        ) from error


def ddl(kind: DataType) -> str:
    if isinstance(kind, StructType):
        return _struct((field.name, ddl(field.dataType)) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return f"array<{ddl(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{ddl(kind.keyType)},{ddl(kind.valueType)}>"
    return kind.simpleString()


def _struct(fields: Iterable[tuple[str, str]]) -> str:
    return (
        "struct<" + ",".join(f"`{name.replace('`', '``')}`:{kind}" for name, kind in fields) + ">"
    )


# Avro.

_AVRO: Final[Mapping[str, str]] = {
    "boolean": "boolean", "int": "int", "long": "bigint", "float": "float", "double": "double",
    "bytes": "binary", "fixed": "binary", "string": "string", "enum": "string", "null": "void",
}  # fmt: skip
_LOGICAL: Final[Mapping[str, str]] = {
    "date": "date", "timestamp-millis": "timestamp", "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz", "local-timestamp-micros": "timestamp_ntz",
    "uuid": "string", "time-millis": "string", "time-micros": "string",
}  # fmt: skip
_WIDER: Final[Mapping[frozenset[str], str]] = {
    frozenset({"int", "bigint"}): "bigint",
    frozenset({"float", "double"}): "double",
}


def type_of_avro(option: str, schema: str) -> str:
    """Raises ConfigError for a schema that is none, or that no Spark type is made of."""
    from fastavro.schema import SchemaParseException

    named: dict[str, Parsed] = {}
    try:
        whole = parsed(schema, named)
    except (SchemaParseException, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{option} is no Avro schema: {error!r}") from error
    return _avro(option, whole, named, ())


def _avro(option: str, schema: Parsed, named: dict[str, Parsed], inside: tuple[str, ...]) -> str:
    if isinstance(schema, list):
        return _avro_union(option, schema, named, inside)
    if isinstance(schema, str):
        return _AVRO[schema] if schema in _AVRO else _avro(option, named[schema], named, inside)
    kind, logical = schema["type"], schema.get("logicalType")
    if logical == "decimal":
        return f"decimal({schema['precision']},{schema.get('scale', 0)})"
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if kind == "array":
        return f"array<{_avro(option, schema['items'], named, inside)}>"
    if kind == "map":
        return f"map<string,{_avro(option, schema['values'], named, inside)}>"
    if kind in {"record", "error"}:
        name = schema["name"]
        if name in inside:
            raise ConfigError(
                f"{option}: {name} holds itself, which no Spark type does: use a function"
            )
        fields = schema["fields"]
        return _struct(
            (f["name"], _avro(option, f["type"], named, (*inside, name))) for f in fields
        )
    return _avro(option, kind, named, inside)


def _avro_union(
    option: str, members: list[Parsed], named: dict[str, Parsed], inside: tuple[str, ...]
) -> str:
    kinds = [_avro(option, each, named, inside) for each in members if each != "null"]
    if len(kinds) == 1:
        return kinds[0]
    wider = _WIDER.get(frozenset(kinds))
    if wider is None:
        raise ConfigError(
            f"{option}: a union of {', '.join(kinds) or 'nothing'} has no Spark type: use a function"
        )
    return wider


# Protobuf.


def type_of_message(option: str, descriptor: Descriptor, inside: tuple[str, ...] = ()) -> str:
    """Unsigned numbers have the next larger type, enumerations are strings, google.protobuf.Timestamp a timestamp."""
    name = descriptor.full_name
    if name in inside:
        raise ConfigError(
            f"{option}: {name} holds itself, which no Spark type does: use a function"
        )
    if name == "google.protobuf.Timestamp":
        return "timestamp"
    return _struct((f.name, _field(option, f, (*inside, name))) for f in descriptor.fields)


def _field(option: str, field: FieldDescriptor, inside: tuple[str, ...]) -> str:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        key, value = (entry.fields_by_name[name] for name in ("key", "value"))
        return f"map<{_one(option, key, inside)},{_one(option, value, inside)}>"
    kind = _one(option, field, inside)
    return f"array<{kind}>" if field.is_repeated else kind


def _one(option: str, field: FieldDescriptor, inside: tuple[str, ...]) -> str:
    if field.message_type is not None:
        return type_of_message(option, field.message_type, inside)
    if field.type == field.TYPE_BYTES:
        return "binary"
    return {
        field.CPPTYPE_INT32: "int", field.CPPTYPE_INT64: "bigint", field.CPPTYPE_UINT32: "bigint",
        field.CPPTYPE_UINT64: "decimal(20,0)", field.CPPTYPE_FLOAT: "float", field.CPPTYPE_DOUBLE: "double",
        field.CPPTYPE_BOOL: "boolean", field.CPPTYPE_ENUM: "string", field.CPPTYPE_STRING: "string",
    }[field.cpp_type]  # fmt: skip
