"""What tests of encoders share: rows of one column, what the sink makes of them, and what the source reads of that."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType

from millstream.spark.sink.encoding.encoding import encode, encoding_of
from millstream.spark.sink.options import parse_sink_options
from tests.unit.spark.rows.test_decoding import values as decoded

GIVEN = {"bootstrap.servers": "b:1", "topic": "orders"}


def column(kind: DataType, values: list[Any]) -> pa.RecordBatch:
    found = pa.array(values, to_arrow_type(kind, timezone="Europe/Berlin"))
    return pa.RecordBatch.from_pydict({"value": found})


def rows_of(given: dict[str, str], kind: DataType, rows: pa.RecordBatch) -> pa.RecordBatch:
    """What is sent of the rows, whose column value is of that type."""
    schema = StructType().add("value", kind)
    encoding = encoding_of(parse_sink_options(GIVEN | given, schema), schema)
    assert encoding is not None
    return encode(encoding, rows)


def bytes_of(given: dict[str, str], kind: DataType, values: list[Any]) -> list[bytes | None]:
    found: list[bytes | None] = (
        rows_of(given, kind, column(kind, values)).column("value").to_pylist()
    )
    return found


def read_back(given: dict[str, str], kind: DataType, values: list[Any]) -> list[Any]:
    """What the source reads of what the sink writes, with the same options."""
    return decoded(given, bytes_of(given, kind, values), kind)
