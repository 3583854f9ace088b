"""Decodes the keys and values of rows, an Arrow batch at a time, and sorts out what cannot be decoded.

A null key or value is null, never bad.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql.types import StructType

from millstream.spark.dead_letters import merged_errors
from millstream.spark.formats.column_formats import RowFormat
from millstream.spark.source.event_time.header_times import EVENT_TIME_COLUMN
from millstream.spark.source.event_time.options import WATERMARK_COLUMN
from millstream.spark.source.options import SourceOptions
from millstream.spark.source.rows.bad_rows import BadRow, UndecodedRecords
from millstream.spark.source.rows.decoded_columns import DecodedColumn, decoded_column
from millstream.spark.source.rows.formats import spark_type
from millstream.spark.source.rows.row_options import BadRows, RowOptions
from millstream.spark.source.rows.row_values import converter_of
from millstream.spark.source.subscription import AssignedPartitions, Topics

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES: Final = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key: string, value: binary>>",
    "leaderEpoch": "int",
    EVENT_TIME_COLUMN: "timestamp",
}


def record_columns(options: SourceOptions) -> tuple[str, ...]:
    """Returns the columns that come from the record, with or without decoding."""
    wanted = _further(options)
    return tuple(name for name in _TYPES if wanted.get(name, True))


def read_columns(options: SourceOptions) -> set[str]:
    """Returns the columns that are read beyond those of each record: also what only decoding needs."""
    found = {name for name, is_wanted in _further(options).items() if is_wanted}
    if EVENT_TIME_COLUMN in found or options.rows.needs_headers:
        found |= {"headers"}
    return found - {EVENT_TIME_COLUMN}


def _further(options: SourceOptions) -> dict[str, bool]:
    return {
        "timestampType": options.rows.include_timestamp_type,
        "headers": options.include_headers,
        "leaderEpoch": options.rows.include_leader_epoch,
        EVENT_TIME_COLUMN: options.event_time.header is not None,
    }


def schema_text(options: SourceOptions) -> str:
    """The columns of the DataFrame, as DDL.

    Raises ConfigError for a schema that cannot be read, and SchemaRegistryError.
    """
    rows = options.rows
    types = {name: _TYPES[name] for name in record_columns(options)}
    for column in rows.decoded:
        types[column.name] = spark_type(column, rows.registry, _topics(options))
    if rows.include_raw:
        types |= {"rawKey": "binary", "rawValue": "binary"}
    if rows.bad_rows is BadRows.NULL:
        types["error"] = "string"
    if options.event_time.has_watermark:
        types[WATERMARK_COLUMN] = "timestamp"
    return ", ".join(f"{name} {kind}" for name, kind in types.items())


def _topics(options: SourceOptions) -> tuple[str, ...]:
    match options.subscription:
        case Topics(names):
            return names
        case AssignedPartitions(partitions):
            return tuple(sorted({each.topic for each in partitions}))
        case _:
            return ()


@dataclass(frozen=True)
class Decoding:
    """The options, and the columns as Spark has parsed them, in JSON: all that a worker needs to decode rows."""

    options: RowOptions
    schema: str


def decoding_of(options: SourceOptions, schema: StructType) -> Decoding | None:
    """None where nothing is decoded. Raises ConfigError for a type that is not read."""
    for column in options.rows.decoded:
        if column.format is not RowFormat.STRING:
            converter_of(schema[column.name].dataType)
    if not options.rows.decoded:
        return None
    of_records = StructType([field for field in schema.fields if field.name != WATERMARK_COLUMN])
    return Decoding(options.rows, of_records.json())


class Decoded(NamedTuple):
    """`dead_letters`: the records that are left out of the rows; None where there are none."""

    rows: pa.RecordBatch
    dead_letters: UndecodedRecords | None


def decode(decoding: Decoding, rows: pa.RecordBatch) -> Decoded:
    """Raises BadRow where bad rows are to fail, and SchemaRegistryError where the registry does not answer."""
    import pyarrow as pa

    columns, schema = _columns(decoding)
    found = [column.decode(rows) for column in columns]
    errors = merged_errors(
        [(column.name, part.errors) for column, part in zip(columns, found, strict=True)]
    )
    if errors and decoding.options.bad_rows is BadRows.FAIL:
        raise _bad_row(rows, errors)
    by_name = {name: rows.column(name) for name in rows.schema.names}
    by_name |= {"rawKey": rows.column("key"), "rawValue": rows.column("value")}
    repeats = next((part.rows for part in found if part.rows is not None), None)
    if repeats is not None:
        by_name = {name: column.take(repeats) for name, column in by_name.items()}
    for column, part in zip(columns, found, strict=True):
        is_taken = repeats is not None and part.rows is None
        by_name[column.name] = part.values.take(repeats) if is_taken else part.values
    source = range(rows.num_rows) if repeats is None else repeats.to_pylist()
    if decoding.options.bad_rows is BadRows.NULL:
        told = [errors.get(row) for row in source] if errors else None
        by_name["error"] = (
            pa.nulls(len(source), pa.string()) if told is None else pa.array(told, pa.string())
        )
    result = pa.RecordBatch.from_arrays([by_name[name] for name in schema.names], schema=schema)
    if not errors or decoding.options.bad_rows is BadRows.NULL:
        return Decoded(result, None)
    good = pa.array([row not in errors for row in source], pa.bool_())
    bad = sorted(errors)
    dead = rows.take(pa.array(bad, pa.int64()))
    return Decoded(result.filter(good), UndecodedRecords(dead, [errors[row] for row in bad]))


def _bad_row(rows: pa.RecordBatch, errors: dict[int, str]) -> BadRow:
    row = min(errors)
    topic, partition, offset = (
        rows.column(name)[row].as_py() for name in ("topic", "partition", "offset")
    )
    return BadRow(topic, partition, offset, errors[row])


@lru_cache(maxsize=64)
def _columns(decoding: Decoding) -> tuple[list[DecodedColumn], pa.Schema]:
    """Kept in the worker: a registry is asked once for each schema."""
    import orjson
    from pyspark.sql.pandas.types import to_arrow_schema

    spark_schema = StructType.fromJson(orjson.loads(decoding.schema))
    schema = to_arrow_schema(spark_schema, timezone="UTC")
    columns = [
        decoded_column(
            each,
            spark_schema[each.name].dataType,
            schema.field(each.name).type,
            decoding.options.registry,
        )
        for each in decoding.options.decoded
    ]
    return columns, schema
