"""Encodes the keys and values of rows, an Arrow batch at a time, before they are counted, compared and sent.

A null key or value stays null. What cannot be encoded ends the write, or is told beside the row where there
is a topic for dead letters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import DataType, StructType

from millstream.clients.serdes.registry import (
    RegistrySerde,
    confluent_avro,
    confluent_protobuf,
    prefix_for_topic,
)
from millstream.clients.serdes.registry.serde import SchemaUseOptions
from millstream.clients.serdes.registry.wire_format import id_prefix
from millstream.spark.dead_letters import merged_errors
from millstream.spark.formats.column_formats import ColumnFormat, Registry, RowFormat
from millstream.spark.formats.schemas import client_of, function_of, message_class, newest_schema
from millstream.spark.sink.encoding.encoded_columns import (
    EncodedColumn,
    FunctionColumn,
    Prefix,
    WrittenColumn,
    readable,
)
from millstream.spark.sink.encoding.unencodable import UNENCODED, UnencodableRow
from millstream.spark.sink.encoding.writers import require_schema, writer_of
from millstream.spark.sink.options import SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ColumnEncoding:
    """The format with its whole schema, and the column's type as JSON.

    `schema_id`: that of the newest schema of a subject.
    """

    column: ColumnFormat
    type: str
    schema_id: int | None = None


@dataclass(frozen=True, slots=True)
class Encoding:
    """All that a worker needs to encode rows. `topic`: where they all go; None: each says it in its column topic."""

    columns: tuple[ColumnEncoding, ...]
    registry: Registry | None
    topic: str | None
    has_dead_letters: bool


def encoding_of(options: SinkOptions, schema: StructType) -> Encoding | None:
    """None where nothing is encoded.

    Raises ConfigError for a column that its schema does not take, and SchemaRegistryError.
    """
    formats = options.formats
    if not formats.encoded:
        return None
    columns = tuple(
        _checked(each, schema[each.name].dataType, formats.registry, options.topic)
        for each in formats.encoded
    )
    has_dead_letters = options.routing.dead_letter_topic is not None
    return Encoding(columns, formats.registry, options.topic, has_dead_letters)


def _checked(
    column: ColumnFormat, kind: DataType, registry: Registry | None, topic: str | None
) -> ColumnEncoding:
    schema_id = None
    if column.format is RowFormat.AVRO and column.schema is None:
        assert registry is not None, "options without a schema name a registry"
        found = newest_schema(column, registry, () if topic is None else (topic,))
        column, schema_id = replace(column, schema=found.schema.text), found.schema_id
    require_schema(column, kind)
    if column.format is RowFormat.FUNCTION:
        function_of(column)
    else:
        writer_of(column, kind, in_registry=registry is not None)
    return ColumnEncoding(column, kind.json(), schema_id)


def encode(encoding: Encoding, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the rows with bytes for keys and values.

    Raises UnencodableRow without a topic for dead letters, and SchemaRegistryError.

    With one, the reasons are in a column of their own, and what could not be encoded is in the row as JSON,
    for whoever reads the dead letter.
    """
    import pyarrow as pa

    topics = _topics(encoding, rows)
    parts = [(column.name, column.encode(rows, topics)) for column in _columns(encoding)]
    errors = merged_errors([(name, part.errors) for name, part in parts])
    if errors and not encoding.has_dead_letters:
        row = min(errors)
        raise UnencodableRow(
            f"a row for {topics[row].as_py()} cannot be encoded: {errors[row]}. With deadLetterTopic such rows go to a topic of their own"
        )
    columns = {name: rows.column(name) for name in rows.schema.names}
    for name, part in parts:
        columns[name] = _with_readable(part.values, columns[name], part.errors)
    if errors:
        reasons = [errors.get(row) for row in range(rows.num_rows)]
        columns[UNENCODED] = pa.array(reasons, pa.string())
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _with_readable(encoded: pa.Array, given: pa.Array, errors: dict[int, str]) -> pa.Array:
    import pyarrow as pa

    if not errors:
        return encoded
    shown = {row: readable(given[row]) for row in errors}
    values = [shown.get(row, value) for row, value in enumerate(encoded.to_pylist())]
    return pa.array(values, pa.binary())


def _topics(encoding: Encoding, rows: pa.RecordBatch) -> pa.Array:
    import pyarrow as pa

    if encoding.topic is None:
        return rows.column("topic").cast(pa.string())
    return pa.repeat(pa.scalar(encoding.topic), rows.num_rows)


@lru_cache(maxsize=64)
def _columns(encoding: Encoding) -> list[EncodedColumn]:
    """Kept in the worker: a registry is asked once for each topic."""
    return [_column(each, encoding.registry) for each in encoding.columns]


def _column(encoding: ColumnEncoding, registry: Registry | None) -> EncodedColumn:
    import orjson
    from pyspark.sql.types import StructField

    column = encoding.column
    if column.format is RowFormat.FUNCTION:
        return FunctionColumn(column.name, function_of(column))
    field = {"name": "", "type": orjson.loads(encoding.type), "nullable": True, "metadata": {}}
    kind = StructField.fromJson(field).dataType
    is_registered = registry is not None and column.format is not RowFormat.JSON
    write = writer_of(column, kind, in_registry=is_registered)
    if registry is None or not is_registered:
        return WrittenColumn(column.name, write, None)
    return WrittenColumn(column.name, write, _prefix(encoding, registry))


def _prefix(encoding: ColumnEncoding, registry: Registry) -> Prefix:
    """The id of the newest schema is known since the query has started; a schema that options give is
    registered where it is missing.
    """
    if encoding.schema_id is not None:
        known = id_prefix(encoding.schema_id)
        return lambda _: known
    return lru_cache(maxsize=None)(partial(prefix_for_topic, _serde(encoding.column, registry)))


def _serde(
    column: ColumnFormat, registry: Registry
) -> RegistrySerde[Any]:  # Any: nothing is written with it
    client, use = client_of(registry), SchemaUseOptions(is_key=column.name == "key")
    if (subject := column.subject) is not None:
        use["subject_name"] = lambda *_: subject
    if column.format is RowFormat.PROTOBUF:
        return confluent_protobuf(client, message_class(column), **use)
    return confluent_avro(client, column.schema, **use)
