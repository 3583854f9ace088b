"""Rows of any type, encoded by the sink and decoded by the source: equal in JSON and in Avro, and readable by other libraries."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as spark

from millstream.clients.serdes import avro
from tests.unit.spark.encoding.encoded import bytes_of, read_back

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TIMES = st.datetimes(timezones=st.just(dt.UTC))


class Shape(NamedTuple):
    """A type of Spark, the same in Avro, and its values."""

    kind: spark.DataType
    schema: Any
    values: st.SearchStrategy[Any]


LEAVES = [
    Shape(spark.BooleanType(), "boolean", st.booleans()),
    Shape(spark.IntegerType(), "int", st.integers(-(2**31), 2**31 - 1)),
    Shape(spark.LongType(), "long", st.integers(-(2**63), 2**63 - 1)),
    Shape(spark.FloatType(), "float", st.floats(width=32, allow_nan=False, allow_infinity=False)),
    Shape(spark.DoubleType(), "double", st.floats(allow_nan=False, allow_infinity=False)),
    Shape(spark.StringType(), "string", TEXT),
    Shape(spark.BinaryType(), "bytes", st.binary(max_size=8)),
    Shape(spark.DateType(), {"type": "int", "logicalType": "date"}, st.dates()),
    Shape(spark.TimestampType(), {"type": "long", "logicalType": "timestamp-micros"}, TIMES),
    Shape(
        spark.DecimalType(20, 3),
        {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 3},
        st.integers(-(10**20) + 1, 10**20 - 1).map(lambda number: Decimal(number).scaleb(-3)),
    ),
]


def or_null(shape: Shape) -> Any:
    return st.none() | shape.values


def nullable(shape: Shape) -> list[Any]:
    return ["null", shape.schema]


def a_list(inner: Shape) -> Shape:
    values = st.lists(or_null(inner), max_size=3)
    return Shape(spark.ArrayType(inner.kind), {"type": "array", "items": nullable(inner)}, values)


def a_map(inner: Shape) -> Shape:
    values = st.dictionaries(TEXT, or_null(inner), max_size=3).map(lambda found: [*found.items()])
    kind = spark.MapType(spark.StringType(), inner.kind)
    return Shape(kind, {"type": "map", "values": nullable(inner)}, values)


def a_struct(members: list[Shape]) -> Shape:
    kind, fields = spark.StructType(), []
    for number, each in enumerate(members):
        kind = kind.add(f"m{number}", each.kind)
        fields.append({"name": f"m{number}", "type": nullable(each)})
    values = {f"m{number}": or_null(each) for number, each in enumerate(members)}
    return Shape(
        kind, {"type": "record", "name": "R", "fields": fields}, st.fixed_dictionaries(values)
    )


SHAPES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: inner.map(a_list) | inner.map(a_map) | st.lists(inner, max_size=3).map(a_struct),
    max_leaves=6,
)  # fmt: skip


def named(schema: Any, numbers: Iterator[int]) -> Any:
    """Records of a schema have names of their own."""
    if isinstance(schema, list):
        return [named(each, numbers) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: named(each, numbers) for name, each in schema.items()}
    return found | {"name": f"R{next(numbers)}"} if found.get("type") == "record" else found


@given(st.data(), st.lists(SHAPES, min_size=1, max_size=3).map(a_struct))
def test_what_is_written_is_read(data: st.DataObject, shape: Shape) -> None:
    rows = data.draw(st.lists(or_null(shape), max_size=6))
    kind = shape.kind
    assert isinstance(kind, spark.StructType)
    for_json = {"value.format": "json", "value.schema": kind.json()}
    assert read_back(for_json, kind, rows) == rows
    for text in bytes_of(for_json, kind, rows):
        assert text is None or isinstance(json.loads(text), dict)
    schema = json.dumps(named(shape.schema, count()))
    for_avro = {"value.format": "avro", "value.schema": schema}
    assert read_back(for_avro, kind, rows) == rows
    for row, written in zip(rows, bytes_of(for_avro, kind, rows), strict=True):
        assert written is None or avro(schema).decode(written).keys() == row.keys()
