"""The writer of a column's bytes in its format, with the schema that the options name; made when a query
starts, and again in each worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyspark.sql.types import DataType

from millstream.runtime.extras import library
from millstream.spark.formats.column_formats import ColumnFormat, RowFormat
from millstream.spark.formats.ddl_types import type_of_text
from millstream.spark.formats.row_types import type_of_avro, type_of_ddl, type_of_message
from millstream.spark.formats.schemas import message_class
from millstream.spark.sink.encoding.avro_binary import avro_writer, is_plain_bytes, raw_bytes
from millstream.spark.sink.encoding.fitting import require_fit
from millstream.spark.sink.encoding.json_text import json_writer
from millstream.spark.sink.encoding.pieces import Writer
from millstream.spark.sink.encoding.protobuf_wire import message_writer

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor


def require_schema(column: ColumnFormat, kind: DataType) -> None:
    """Raises ConfigError for a schema that cannot be read, and for a column that does not fit it."""
    option = f"{column.name}.schema"
    if column.schema is None:
        return
    match column.format:
        case RowFormat.AVRO:
            library("fastavro", "avro")
            text = type_of_avro(option, column.schema)
        case RowFormat.PROTOBUF:
            text = type_of_message(option, _descriptor(column))
        case _:
            text = type_of_ddl(option, column.schema)
    require_fit(column.name, kind, type_of_text(option, text))


def writer_of(column: ColumnFormat, kind: DataType, *, in_registry: bool) -> Writer:
    """Returns the writer of a column that fits its schema. Raises ConfigError for what cannot be written at all."""
    option = f"{column.name}.schema"
    match column.format:
        case RowFormat.JSON:
            return json_writer(kind)
        case RowFormat.AVRO:
            schema = column.schema or ""
            if in_registry and is_plain_bytes(schema):
                return raw_bytes
            return avro_writer(option, schema, kind)
        case RowFormat.PROTOBUF:
            return message_writer(option, _descriptor(column), kind)
        case _:
            raise AssertionError(f"{column.format} has no schema")


def _descriptor(column: ColumnFormat) -> Descriptor:
    return cast("Descriptor", message_class(column).DESCRIPTOR)  # or its twin in C
