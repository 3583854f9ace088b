"""What the sink encodes the source decodes with the same options, and it is equal: in every format, with every type."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.clients.serdes import avro
from millstream.spark.sink.encoding.encoding import encoding_of
from millstream.spark.sink.options import parse_sink_options
from tests.unit.spark.encoding.encoded import GIVEN, bytes_of, column, read_back, rows_of
from tests.unit.spark.encoding.every_type import SCALARS, EveryType, Inner, Needed
from tests.unit.spark.rows.test_decoding import values as decoded

MODULE = "tests.unit.spark.encoding.every_type"
EARLY = dt.datetime(1926, 2, 3, 4, 5, 6, 7, tzinfo=dt.UTC)
LATE = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)
WHOLE_SECOND = dt.datetime(2026, 11, 23, 5, 6, 7, tzinfo=dt.UTC)
TEXT = 'ä "quoted" \\ \n\t\r\b\x00\x1f \U0001f600 {,}'
JSON_TYPES: list[tuple[DataType, list[Any]]] = [
    (BooleanType(), [True, False]),
    (ByteType(), [-128, 127]),
    (ShortType(), [-(2**15), 2**15 - 1]),
    (IntegerType(), [-(2**31), 2**31 - 1]),
    (LongType(), [-(2**63), 2**63 - 1, 0]),
    (FloatType(), [1.5, 0.10000000149011612, 3.4028234663852886e38, -0.0]),
    (DoubleType(), [1.0, 0.1, 5e-324, 1.7976931348623157e308, -123456789012345680.0]),
    (DecimalType(15, 10), [Decimal("0.0000000012"), Decimal("-12345.6789012345")]),
    (DecimalType(38, 2), [Decimal("123456789012345678901234567890123456.78")]),
    (StringType(), [TEXT, "", "plain"]),
    (BinaryType(), [b"\xff\x00", b""]),
    (DateType(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)]),
    (TimestampType(), [EARLY, LATE, WHOLE_SECOND]),
    (TimestampNTZType(), [EARLY.replace(tzinfo=None), WHOLE_SECOND.replace(tzinfo=None)]),
    (ArrayType(ArrayType(LongType())), [[[1, None], None, []], [], [[]]]),
    (MapType(StringType(), DoubleType()), [[(TEXT, 1.5), ("b", None)], []]),
    (MapType(DateType(), StringType()), [[(dt.date(2026, 1, 2), "x")]]),
    (MapType(BinaryType(), StringType()), [[(b"\xff", "x")]]),
    (StructType(), [{}]),
]


@pytest.mark.parametrize(("kind", "values"), JSON_TYPES, ids=lambda each: str(each)[:20])
def test_json_of_every_type(kind: DataType, values: list[Any]) -> None:
    inside = StructType().add("m", kind).add("n", StructType().add("o", ArrayType(kind)))
    found = [
        None,
        *({"m": each, "n": {"o": [each, None]}} for each in values),
        {"m": None, "n": None},
    ]
    given = {"value.format": "json", "value.schema": inside.json()}
    assert read_back(given, inside, found) == found
    alone = {"value.format": "json", "value.schema": kind.simpleString()}
    assert read_back(alone, kind, [None, *values]) == [None, *values]
    for data in bytes_of({"value.format": "json"}, inside, found):
        assert data is None or json.loads(data) is not None


def test_json_leaves_out_what_is_null_and_is_as_short_as_can_be() -> None:
    kind = StructType().add("a", LongType()).add("b b", StringType()).add("c", DoubleType())
    rows = [(1, "x", 2.0), (None, "{,", None), (None, None, None), (None, None, -0.5)]
    values = [dict(zip(("a", "b b", "c"), row, strict=True)) for row in rows]
    assert bytes_of({"value.format": "json"}, kind, [*values, None]) == [
        b'{"a":1,"b b":"x","c":2.0}', b'{"b b":"{,"}', b"{}", b'{"c":-0.5}', None,
    ]  # fmt: skip


AVRO: list[tuple[object, DataType, list[Any]]] = [
    ("boolean", BooleanType(), [True, False]),
    ("int", IntegerType(), [-(2**31), -1, 0, 63, 64, 2**31 - 1]),
    ("int", ByteType(), [-128, 127]),
    ("long", LongType(), [-(2**63), 2**63 - 1, -65]),
    ("long", IntegerType(), [-(2**31), 7]),
    ("float", FloatType(), [1.5, -0.0]),
    ("double", DoubleType(), [0.1, 5e-324]),
    ("string", StringType(), [TEXT, ""]),
    ("bytes", BinaryType(), [b"\xff" * 200, b""]),
    (["int", "long"], LongType(), [2**40, 1]),
    (["float", "null", "double"], DoubleType(), [0.1, None]),
    ({"type": "fixed", "name": "F", "size": 3}, BinaryType(), [b"abc"]),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, StringType(), ["B", "A"]),
    ({"type": "int", "logicalType": "date"}, DateType(), [dt.date(1, 1, 1), dt.date(2026, 1, 2)]),
    ({"type": "long", "logicalType": "timestamp-micros"}, TimestampType(), [EARLY, LATE]),
    ({"type": "long", "logicalType": "timestamp-millis"}, TimestampType(), [WHOLE_SECOND, EARLY.replace(microsecond=7_000)]),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, TimestampNTZType(), [EARLY.replace(tzinfo=None)]),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, TimestampNTZType(), [WHOLE_SECOND.replace(tzinfo=None)]),
    ({"type": "int", "logicalType": "time-millis"}, StringType(), ["05:06:07", "23:59:59.001000"]),
    ({"type": "long", "logicalType": "time-micros"}, StringType(), ["05:06:07.000001"]),
    ({"type": "string", "logicalType": "uuid"}, StringType(), ["00000000-0000-0000-0000-00000000000a"]),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}, DecimalType(38, 2),
        [Decimal(each) for each in ("0.00", "-0.01", "1.27", "1.28", "-1.28", "-1.29", "123456789012345678901234567890123456.78")],
    ),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9}, DecimalType(9, 0), [Decimal(-1), Decimal(65_536)]),
    (
        {"type": "fixed", "name": "D", "size": 20, "logicalType": "decimal", "precision": 38, "scale": 1}, DecimalType(38, 1),
        [Decimal("-1.5"), Decimal("1.5")],
    ),
    (
        {"type": "fixed", "name": "D", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 0}, DecimalType(4, 0),
        [Decimal(-9999), Decimal(9999)],
    ),
    ({"type": "array", "items": ["null", {"type": "array", "items": "long"}]}, ArrayType(ArrayType(LongType())), [[], [[1, 2], None, []]]),
    ({"type": "map", "values": ["int", "null"]}, MapType(StringType(), IntegerType()), [[], [("a", 1), ("b", None)]]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "kind", "values"), AVRO, ids=lambda each: str(each)[:50])
def test_avro_of_every_type(schema: object, kind: DataType, values: list[Any]) -> None:
    """Also what is referred to by name, and where null is the first or the second of two."""
    named = schema["name"] if isinstance(schema, dict) and "name" in schema else schema
    union = named if isinstance(named, list) else ["null", named]
    other = named if isinstance(named, list) else [named, "null"]
    record = {
        "type": "record", "name": "R", "namespace": "n",
        "fields": [{"name": "m", "type": schema}, {"name": "n", "type": union}, {"name": "o", "type": {"type": "array", "items": other}}],
    }  # fmt: skip
    inside = StructType().add("m", kind).add("n", kind).add("o", ArrayType(kind))
    found = [None, *({"m": each, "n": each, "o": [each] * 2} for each in values)]
    if "null" in union:
        filled = next(each for each in values if each is not None)
        found.append({"m": filled, "n": None, "o": [None, filled, None]})
    given = {"value.format": "avro", "value.schema": json.dumps(record)}
    assert read_back(given, inside, found) == found


def test_avro_is_byte_for_byte_what_fastavro_writes() -> None:
    schema = """{"type": "record", "name": "Order", "fields": [
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
            {"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}]}}},
        {"name": "first", "type": ["null", "Line"]}, {"name": "gone", "type": ["null", "int"]},
        {"name": "counts", "type": {"type": "map", "values": "double"}}]}"""
    line = StructType().add("note", StringType()).add("id", IntegerType())
    kind = (
        StructType().add("counts", MapType(StringType(), DoubleType()))
        .add("first", line).add("lines", ArrayType(line))
    )  # fmt: skip
    values: list[Any] = [
        {
            "lines": [{"id": n, "note": "n" * n or None} for n in range(70)],
            "first": None,
            "counts": {},
        },
        {"lines": [], "first": {"id": -5, "note": "x"}, "counts": {"a": 1.5, "b": 2.5}},
    ]
    given = {"value.format": "avro", "value.schema": schema}
    assert bytes_of(given, kind, values) == [avro(schema).encode(each) for each in values]


LARGEST: dict[str, Any] = {
    "double": -0.0, "float": 1.5, "int64": -(2**63), "uint64": Decimal(2**64 - 1), "int32": -1, "fixed64": Decimal(2**64 - 1),
    "fixed32": 2**32 - 1, "bool": True, "string": TEXT, "bytes": b"\xff" * 200, "uint32": 2**32 - 1, "sfixed32": -(2**31),
    "sfixed64": -5, "sint32": -3, "sint64": 2**62,
}  # fmt: skip
TYPES: dict[str, DataType] = {
    "double": DoubleType(), "float": FloatType(), "int64": LongType(), "uint64": DecimalType(20, 0), "int32": IntegerType(),
    "fixed64": DecimalType(20, 0), "fixed32": LongType(), "bool": BooleanType(), "string": StringType(), "bytes": BinaryType(),
    "uint32": LongType(), "sfixed32": IntegerType(), "sfixed64": LongType(), "sint32": IntegerType(), "sint64": LongType(),
}  # fmt: skip
INNER = StructType().add("number", IntegerType())


def every_type() -> StructType:
    kind = StructType()
    for name, each in TYPES.items():
        kind = kind.add(f"one_{name}", each).add(f"all_{name}", ArrayType(each))
    return (
        kind.add("colour", StringType()).add("colours", ArrayType(StringType())).add("at", TimestampType())
        .add("counts", MapType(StringType(), LongType())).add("left", StringType()).add("right", StringType())
        .add("note", StringType()).add("inner", INNER).add("inners", ArrayType(INNER))
    )  # fmt: skip


def zero(value: object) -> object:
    return type(value)()


def test_protobuf_of_every_type() -> None:
    """Byte for byte as protoc's classes write it."""
    full: dict[str, Any] = {f"one_{name}": LARGEST[name] for name in SCALARS}
    full |= {f"all_{name}": [LARGEST[name], zero(LARGEST[name]), LARGEST[name]] for name in SCALARS}
    full |= {"colour": "BLUE", "colours": ["RED", "BLUE", "7"], "at": EARLY, "counts": [("a", 1)]}
    full |= {"left": None, "right": "r", "note": "", "inner": {"number": 0}}
    full["inners"] = [{"number": 5}, {"number": 0}]
    empty: dict[str, Any] = {f"one_{name}": zero(LARGEST[name]) for name in SCALARS}
    empty |= {f"all_{name}": [] for name in SCALARS}
    empty |= {"colour": "RED", "colours": [], "at": None, "counts": [], "left": None, "right": None}
    empty |= {"note": None, "inner": None, "inners": []}
    kind, given = every_type(), {"value.format": "protobuf", "value.schema": f"{MODULE}:EveryType"}
    assert read_back(given, kind, [full, None, empty]) == [full, None, empty]
    written = bytes_of(given, kind, [full, None, empty])
    assert written[2] == b""
    for data in (written[0], written[2]):
        assert data == EveryType.FromString(data).SerializeToString(deterministic=True)


def test_a_message_may_have_fewer_fields_in_the_column_and_fields_of_proto2() -> None:
    given = {"value.format": "protobuf", "value.schema": f"{MODULE}:Needed"}
    kind = StructType().add("numbers", ArrayType(IntegerType())).add("id", ShortType())
    (data,) = bytes_of(given, kind, [{"numbers": [1, 300], "id": 7}])
    assert data == Needed(id=7, numbers=[1, 300]).SerializeToString()
    given = {"value.format": "protobuf", "value.schema": f"{MODULE}:Inner"}
    assert bytes_of(given, INNER, [{"number": 300}]) == [Inner(number=300).SerializeToString()]


def test_a_function_is_given_the_row_and_not_asked_about_tombstones() -> None:
    word = StructType().add("word", StringType())
    values = [{"word": "a"}, None, {"word": ""}]
    rows = column(word, values).append_column("key", pa.array(["k", "l", "m"]))
    given = {"value.format": f"python:{MODULE}.line", "value.schema": "word STRING"}
    assert rows_of(given, word, rows).column("value").to_pylist() == [b"k:a", None, None]
    reading = {
        "value.format": "python:tests.unit.spark.rows.row_functions.words",
        "value.schema": "word STRING, place STRING",
    }
    kind = StructType().add("word", StringType()).add("place", StringType())
    assert [each["word"] for each in decoded(reading, [b"a b"], kind)] == ["a", "b"]


def test_text_and_bytes_are_left_as_they_are() -> None:
    schema = StructType().add("key", BinaryType()).add("value", StringType())
    given = GIVEN | {"key.format": "binary", "value.format": "string"}
    assert encoding_of(parse_sink_options(given, schema), schema) is None
    assert encoding_of(parse_sink_options(GIVEN, schema), schema) is None


def test_slices_of_batches_are_encoded_as_whole_ones() -> None:
    kind = (
        StructType().add("l", ArrayType(StringType())).add("m", MapType(StringType(), LongType()))
        .add("s", StructType().add("d", DecimalType(10, 2)))
    )  # fmt: skip
    values: list[Any] = [
        {"l": ["a"] * n, "m": [(str(n), n)], "s": {"d": Decimal(n)} if n % 2 else None}
        for n in range(6)
    ]
    rows = column(kind, values)
    given = {"value.format": "json"}
    whole = rows_of(given, kind, rows).column("value").to_pylist()
    for start in range(6):
        part = rows_of(given, kind, rows.slice(start, 2)).column("value").to_pylist()
        assert part == whole[start : start + 2]
    assert rows_of(given, kind, rows.slice(3, 0)).num_rows == 0
