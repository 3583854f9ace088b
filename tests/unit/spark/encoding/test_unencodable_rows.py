"""Values that a format does not take: which row it is and why, and what is left of it for its dead letter."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from millstream.records.builder import BatchOptions
from millstream.spark.sink.encoding.unencodable import UNENCODED, UnencodableRow
from millstream.spark.sink.row_checks import RowLimits, faults
from tests.unit.spark.encoding.encoded import bytes_of, column, rows_of

MODULE = "tests.unit.spark.encoding.every_type"
JSON = {"value.format": "json"}
LETTERS = {"deadLetterTopic": "bad"}
MICROSECOND = dt.datetime(2026, 1, 2, 3, 4, 5, 1, tzinfo=dt.UTC)


def avro(schema: object) -> dict[str, str]:
    record = {"type": "record", "name": "R", "fields": [{"name": "m", "type": schema}]}
    return {"value.format": "avro", "value.schema": json.dumps(record)}


PROTOBUF = {"value.format": "protobuf", "value.schema": f"{MODULE}:EveryType"}
NEEDED = {"value.format": "protobuf", "value.schema": f"{MODULE}:Needed"}
CASES: list[tuple[dict[str, str], DataType, Any, str]] = [
    (JSON, DoubleType(), math.inf, "m: inf is no number of JSON"),
    (JSON, ArrayType(DoubleType()), [1.5, math.nan], "m: nan is no number of JSON"),
    (avro("string"), StringType(), None, "m: null, and the schema has no null here"),
    (avro({"type": "array", "items": "int"}), ArrayType(IntegerType()), [1, None], "m: null, and"),
    (avro({"type": "map", "values": "int"}), MapType(StringType(), IntegerType()), [("a", None)], "m: null, and"),
    (avro({"type": "enum", "name": "E", "symbols": ["A", "B"]}), StringType(), "C", "m: 'C' is none of A, B"),
    (avro({"type": "fixed", "name": "F", "size": 2}), BinaryType(), b"abc", "m: 3 bytes, and the schema has 2"),
    (avro({"type": "string", "logicalType": "uuid"}), StringType(), "abc", "m: 'abc' is no UUID"),
    (avro({"type": "int", "logicalType": "time-millis"}), StringType(), "25:00:00", "m: .*25:00:00"),
    (
        avro({"type": "long", "logicalType": "timestamp-millis"}), TimestampType(), MICROSECOND,
        "m: 2026-01-02 .*000001.* has microseconds, and the schema milliseconds: use date_trunc",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind", "value", "reason"), CASES)
def test_the_row_is_told_with_its_member(
    given: dict[str, str], kind: DataType, value: Any, reason: str
) -> None:
    with pytest.raises(
        UnencodableRow, match=rf"^a row for orders cannot be encoded: value: {reason}.* deadLetterT"
    ):
        bytes_of(given, StructType().add("m", kind), [None, {"m": value}])


@pytest.mark.parametrize(
    ("given", "name", "kind", "value", "reason"),
    [
        (PROTOBUF, "one_string", StringType(), None, "null, and the field cannot tell that from"),
        (
            PROTOBUF,
            "all_int32",
            ArrayType(IntegerType()),
            None,
            "null, and a repeated field has no",
        ),
        (PROTOBUF, "all_int32", ArrayType(IntegerType()), [None], "null among the elements"),
        (PROTOBUF, "one_uint32", LongType(), -1, "Integer value -1 not in range"),
        (PROTOBUF, "one_uint64", DecimalType(20, 0), Decimal(-1), "Integer value out of bounds"),
        (PROTOBUF, "colour", StringType(), "GREEN", "'GREEN' is none of RED, BLUE"),
        (PROTOBUF, "colour", StringType(), "2147483648", "'2147483648' is none of RED, BLUE"),
        (NEEDED, "id", IntegerType(), None, "null, and the field is required"),
    ],
)
def test_the_field_of_a_message_is_told(
    given: dict[str, str], name: str, kind: DataType, value: Any, reason: str
) -> None:
    with pytest.raises(UnencodableRow, match=f"value: {name}: {reason}"):
        bytes_of(given, StructType().add(name, kind), [{name: value}])


def test_two_members_of_a_oneof_are_one_too_many() -> None:
    kind = StructType().add("left", StringType()).add("right", StringType())
    one, both = {"left": "l", "right": None}, {"left": "l", "right": "r"}
    assert len(bytes_of(PROTOBUF, kind, [one])) == 1
    with pytest.raises(UnencodableRow, match="value: several members of oneof side"):
        bytes_of(PROTOBUF, kind, [one, both])


def test_text_that_is_no_utf_8_is_found_and_left_out_of_the_dead_letter() -> None:
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32))
    strings = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff")])
    rows = pa.RecordBatch.from_arrays([pa.StructArray.from_arrays([strings], ["m"])], ["value"])
    found = rows_of(JSON | LETTERS, StructType().add("m", StringType()), rows)
    assert found.column("value").to_pylist() == [b'{"m":"a"}', None]
    assert "Invalid UTF8" in found.column(UNENCODED)[1].as_py()


def test_the_others_are_encoded_where_dead_letters_are_kept() -> None:
    kind = StructType().add("m", DoubleType()).add("b", BinaryType())
    values: list[Any] = [{"m": float(n), "b": b"hi"} for n in range(10)]
    values[3] = None
    for bad in (0, 5, 9):
        values[bad] = {"m": math.nan, "b": b"hi"}
    found = rows_of(JSON | LETTERS, kind, column(kind, values))
    reasons = found.column(UNENCODED).to_pylist()
    assert [row for row, why in enumerate(reasons) if why is not None] == [0, 5, 9]
    assert reasons[5] == "value: m: nan is no number of JSON"
    written = found.column("value").to_pylist()
    assert written[5] == b'{"m": NaN, "b": "aGk="}'
    assert written[2:5] == [b'{"m":2.0,"b":"aGk="}', None, b'{"m":4.0,"b":"aGk="}']
    limits = RowLimits("orders", 1, 1_000, BatchOptions())
    told = faults(found, limits)
    assert {row: str(error) for row, error in told.items()} == {
        row: why for row, why in enumerate(reasons) if why is not None
    }
    assert all(isinstance(error, UnencodableRow) for error in told.values())


@pytest.mark.parametrize(
    ("function", "reason"),
    [("line", "value: a number is no word"), ("length", "gives bytes or None, not int")],
)
def test_a_function_that_raises_or_gives_something_else_is_told(function: str, reason: str) -> None:
    kind = StructType().add("word", StringType())
    rows = column(kind, [{"word": "a"}, {"word": "1"}]).append_column("key", pa.array(["k", "l"]))
    given = {"value.format": f"python:{MODULE}:{function}"}
    with pytest.raises(UnencodableRow, match=reason):
        rows_of(given, kind, rows)
