"""Readers of the formats: for each column, the Spark type of what is read, and the function that
reads the bytes of one record.

A registry is asked for schemas: once when the type is decided, and in workers for each schema that records name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from millstream.clients.serdes.avro_data import avro
from millstream.clients.serdes.json_text import read_exact_json
from millstream.clients.serdes.registry import confluent_avro, confluent_protobuf, for_topic
from millstream.runtime.extras import library
from millstream.spark.formats.column_formats import ColumnFormat, Registry, RowFormat
from millstream.spark.formats.row_types import type_of_avro, type_of_ddl, type_of_message
from millstream.spark.formats.schemas import client_of, function_of, message_class, newest_schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor

Read = Callable[[bytes], object]


def spark_type(column: ColumnFormat, registry: Registry | None, topics: tuple[str, ...]) -> str:
    """Returns the type of the decoded column as DDL.

    Raises ConfigError for a schema that cannot be read, found or imported.
    """
    option = f"{column.name}.schema"
    match column.format:
        case RowFormat.BINARY | RowFormat.STRING:
            return str(column.format.value)
        case RowFormat.AVRO:
            library("fastavro", "avro")
            return type_of_avro(option, column.schema or _newest(column, registry, topics))
        case RowFormat.PROTOBUF:
            return type_of_message(option, message_class(column).DESCRIPTOR)  # type: ignore[arg-type]  # reason: or its twin in C
        case RowFormat.FUNCTION:
            function_of(column)
            return type_of_ddl(option, column.schema or "")
        case RowFormat.JSON:
            return type_of_ddl(option, column.schema or "")


def reader_of(column: ColumnFormat, kind: DataType, registry: Registry | None) -> Read:
    """Returns the function that reads bytes, in a worker."""
    match column.format:
        case RowFormat.JSON:
            return _json(kind)
        case RowFormat.AVRO:
            if registry is None:
                return avro(column.schema or "").decode
            wanted = column.schema
            return for_topic(confluent_avro(client_of(registry), reader_schema=wanted), "").decode
        case RowFormat.PROTOBUF:
            message = message_class(column)
            if registry is None:
                return lambda data: _members(message.FromString(data))
            read = for_topic(confluent_protobuf(client_of(registry), message), "").decode
            return lambda data: _members(read(data))
        case _:
            return _text


def _json(kind: DataType) -> Read:
    """orjson, which is faster, makes floats of numbers with a fraction: decimals need each digit."""
    if _has_decimals(kind):
        return read_exact_json
    import orjson

    return orjson.loads


def _has_decimals(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_has_decimals(field.dataType) for field in kind.fields)
        case ArrayType():
            return _has_decimals(kind.elementType)
        case MapType():
            return _has_decimals(kind.valueType)  # keys are text in JSON
        case _:
            return isinstance(kind, DecimalType)


def _newest(column: ColumnFormat, registry: Registry | None, topics: tuple[str, ...]) -> str:
    assert registry is not None, "options without a schema name a registry"
    return newest_schema(column, registry, topics).schema.text


def _text(data: bytes) -> str:
    return data.decode()


def _members(message: Any) -> object:  # Any: members of messages are known at run time
    """Messages as dictionaries. A member with presence that is not set is left out, any other has its default."""
    from datetime import UTC

    descriptor = message.DESCRIPTOR
    if descriptor.full_name == "google.protobuf.Timestamp":
        return message.ToDatetime(tzinfo=UTC)
    found = {}
    for field in descriptor.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        found[field.name] = _member(field, getattr(message, field.name))
    return found


def _member(field: FieldDescriptor, value: Any) -> object:  # Any: as above
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        inner = entry.fields_by_name["value"]
        return {key: _one(inner, each) for key, each in value.items()}
    if field.is_repeated:
        return [_one(field, each) for each in value]
    return _one(field, value)


def _one(field: FieldDescriptor, value: Any) -> object:  # Any: as above
    if field.message_type is not None:
        return _members(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    return value
