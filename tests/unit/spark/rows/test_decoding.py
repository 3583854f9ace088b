"""Decoders of the source: what becomes of good rows, of bad rows and of tombstones, in each format."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from millstream.clients.serdes import avro
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark.source.options import SourceOptions, parse_source_options
from millstream.spark.source.reading import as_rows
from millstream.spark.source.rows.bad_rows import BadRow
from millstream.spark.source.rows.decoding import decode, decoding_of, record_columns, schema_text

NEEDED = {"bootstrap.servers": "b:1", "subscribe": "orders"}
ORDER = StructType().add("id", LongType()).add("name", StringType())
JSON = {"value.format": "json", "value.schema": "id BIGINT, name STRING"}
AVRO_SCHEMA = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}]}"""
FUNCTIONS = "tests.unit.spark.rows.row_functions"
WORDS = {
    "value.format": f"python:{FUNCTIONS}.words",
    "value.schema": "word STRING, place STRING",
}
WORD = StructType().add("word", StringType()).add("place", StringType())
COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
)
_OTHERS = {
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
}


def records(values: list[bytes | None], keys: list[bytes | None] | None = None) -> pa.RecordBatch:
    """Of orders-3 from offset 10 on."""
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    count = len(values)
    return as_rows(
        pa.RecordBatch.from_pydict(
            {
                "key": pa.array(keys or [None] * count, pa.binary()),
                "value": pa.array(values, pa.binary()),
                "offset": pa.array(range(10, 10 + count), pa.int64()),
                "timestamp": pa.array([1_500] * count, pa.int64()),
                "headers": pa.array([[("h", b"1")]] * count, pa.list_(header)),
            }
        ),
        TopicPartition("orders", 3),
    )


def schema_of(options: SourceOptions, **decoded: DataType) -> StructType:
    """What Spark makes of `schema_text`, where `decoded` are the columns that are."""
    schema = StructType()
    for name in record_columns(options):
        schema.add(name, decoded.get(name, _OTHERS.get(name, BinaryType())))
    if options.rows.include_raw:
        schema.add("rawKey", BinaryType()).add("rawValue", BinaryType())
    return schema.add("error", StringType()) if "error string" in schema_text(options) else schema


def decoded(given: dict[str, str], rows: pa.RecordBatch, **types: DataType) -> Any:
    options = parse_source_options(NEEDED | given)
    decoding = decoding_of(options, schema_of(options, **types))
    assert decoding is not None
    return decode(decoding, rows)


def values(given: dict[str, str], found: list[bytes | None], kind: DataType) -> list[Any]:
    rows: list[Any] = decoded(given, records(found), value=kind).rows.column("value").to_pylist()
    return rows


def test_text_is_a_string() -> None:
    given = {"value.format": "string", "key.format": "string"}
    rows = decoded(
        given, records(["ä".encode(), None], [b"k", None]), key=StringType(), value=StringType()
    )
    assert rows.rows.column("value").to_pylist() == ["ä", None]
    assert rows.rows.column("key").to_pylist() == ["k", None]
    assert rows.rows.schema.field("value").type == pa.string()


def test_json_has_the_columns_of_its_schema_and_no_others() -> None:
    found = [b'{"id": 1, "name": "a", "more": [1]}', b'{"name": null}', None, b"null"]
    assert values(JSON, found, ORDER) == [
        {"id": 1, "name": "a"}, {"id": None, "name": None}, None, None,
    ]  # fmt: skip


def test_json_holds_every_type_that_spark_has() -> None:
    kind = (
        StructType()
        .add("d", DateType()).add("t", TimestampType()).add("n", DecimalType(10, 2)).add("b", BinaryType())
        .add("l", ArrayType(IntegerType())).add("m", MapType(StringType(), LongType()))
    )  # fmt: skip
    text = b'{"d":"2026-11-23","t":"2026-11-23T05:06:07Z","n":1.25,"b":"aGk=","l":[1,null],"m":{"x":2}}'
    given = {"value.format": "json", "value.schema": kind.json()}
    assert values(given, [text], kind) == [
        {
            "d": dt.date(2026, 11, 23),
            "t": dt.datetime(2026, 11, 23, 5, 6, 7, tzinfo=dt.UTC),
            "n": Decimal("1.25"),
            "b": b"hi",
            "l": [1, None],
            "m": [("x", 2)],
        }
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "value: unexpected end of data"),
        (b"", "value: Input is a zero-length, empty document"),
        (b"[1]", r"value: \[1\] is not an object"),
        (b'{"id": 1.5}', "value: id: 1.5 is not a whole number"),
        (b'{"id": "1"}', "value: id: '1' is not a whole number"),
        (b'{"id": true}', "value: id: True is not a whole number"),
        (b'{"id": 9223372036854775808}', "value: Python int too large"),
        (b'{"name": 1}', "value: name: 1 is not a string"),
        (b"\xff", "value: .*UTF-8"),
    ],
)
def test_json_that_is_not_of_its_schema_is_a_bad_row(text: bytes, reason: str) -> None:
    with pytest.raises(BadRow, match=rf"^orders-3 offset 11 cannot be decoded: {reason}"):
        values(JSON, [b'{"id": 1}', text, b"{"], ORDER)


DECIMALS: list[tuple[str, DataType, str]] = [
    ("12345678901234567.89", DecimalType(19, 2), "12345678901234567.89"),
    ("-12345678901234567890", DecimalType(20, 0), "-12345678901234567890"),
    ("99999999999999999999999999999999999999", DecimalType(38, 0), "99999999999999999999999999999999999999"),
    ("12345678901234567890.123456789012345678", DecimalType(38, 18), "12345678901234567890.123456789012345678"),
    ('"12345678901234567.89"', DecimalType(19, 2), "12345678901234567.89"),
    ("1.0000000000000000001", DecimalType(20, 19), "1.0000000000000000001"),
    ("1e3", DecimalType(19, 2), "1000.00"),
    ("1E19", DecimalType(20, 0), "10000000000000000000"),
    ("1.255", DecimalType(19, 2), "1.26"),
    ("-1.255", DecimalType(19, 2), "-1.26"),
    ("1.5E-2", DecimalType(19, 2), "0.02"),
    ("0.5", DecimalType(20, 0), "1"),
    ("2.5", DecimalType(20, 0), "3"),
    ("4e-19", DecimalType(38, 18), "0E-18"),
    ("1e-999999999", DecimalType(38, 18), "0E-18"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "expected"), DECIMALS)
def test_a_decimal_of_json_is_what_spark_makes_of_it(
    text: str, kind: DataType, expected: str
) -> None:
    """The expected values are those of from_json in Spark 4.3: digit for digit, and rounded half up to the scale."""
    inside = (
        StructType()
        .add("d", kind)
        .add("l", ArrayType(kind))
        .add("m", MapType(StringType(), StructType().add("d", kind)))
    )
    given = {"value.format": "json", "value.schema": inside.json()}
    whole = f'{{"d": {text}, "l": [{text}, null], "m": {{"x": {{"d": {text}}}}}}}'.encode()
    wanted = Decimal(expected)
    assert values(given, [whole], inside) == [
        {"d": wanted, "l": [wanted, None], "m": [("x", {"d": wanted})]}
    ]
    alone = {"value.format": "json", "value.schema": kind.simpleString()}
    assert values(alone, [text.encode()], kind) == [wanted]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1e30", r"1E\+30 is not a number of decimal\(19,2\)"),
        ("1e400", r"1E\+400 is not a number of decimal\(19,2\)"),
        ("1234567890123456789.5", r"1234567890123456789.5 is not a number of decimal\(19,2\)"),
        ("99999999999999999.999", "99999999999999999.999 is not a number of"),
        ('"NaN"', "'NaN' is not a decimal number"),
        ("NaN", "NaN is no number of JSON"),
        ('" 1 "', "' 1 ' is not a decimal number"),
        ('"1_000"', "'1_000' is not a decimal number"),
        ('""', "'' is not a decimal number"),
        ("true", "True is not a decimal number"),
    ],
)
def test_a_decimal_that_spark_makes_null_is_a_bad_row(text: str, reason: str) -> None:
    kind = StructType().add("d", DecimalType(19, 2))
    given = {"value.format": "json", "value.schema": "d DECIMAL(19,2)"}
    with pytest.raises(BadRow, match=f"orders-3 offset 10 cannot be decoded: value: .*{reason}"):
        values(given, [f'{{"d": {text}}}'.encode()], kind)


def test_the_other_numbers_of_a_document_with_decimals_are_as_strict() -> None:
    kind = (
        StructType()
        .add("d", DecimalType(19, 2)).add("n", LongType()).add("x", DoubleType()).add("f", FloatType())
    )  # fmt: skip
    given = {"value.format": "json", "value.schema": kind.json()}
    text = b'{"d": 1, "n": 9223372036854775807, "x": 0.1, "f": 0.1}'
    assert values(given, [text], kind) == [
        {"d": Decimal("1.00"), "n": 2**63 - 1, "x": 0.1, "f": 0.10000000149011612}
    ]
    for member, reason in [
        ('"n": 1.0', "n: 1.0 is not a whole number"),
        ('"n": 9223372036854775808', "Python int too large"),
        ('"x": 1e400', r"x: 1E\+400 is not a number that 64 bits hold"),
        ('"f": 1e39', r"f: 1E\+39 is not a number that 32 bits hold"),
        ('"x": "1"', "x: '1' is not a number"),
    ]:
        with pytest.raises(BadRow, match=f"value: {reason}"):
            values(given, [b"{%s}" % member.encode()], kind)


def test_avro_is_read_by_its_schema() -> None:
    serde = avro(AVRO_SCHEMA)
    found = [serde.encode({"id": 1, "name": "a"}), None, serde.encode({"id": 2, "name": None})]
    given = {"value.format": "avro", "value.schema": AVRO_SCHEMA}
    assert values(given, found, ORDER) == [{"id": 1, "name": "a"}, None, {"id": 2, "name": None}]
    with pytest.raises(BadRow, match="orders-3 offset 10 cannot be decoded: value: 1 bytes follow"):
        values(given, [serde.encode({"id": 1, "name": "a"}) + b"x"], ORDER)


def test_a_decimal_of_avro_with_more_digits_than_its_schema_has_is_a_bad_row() -> None:
    schema = '{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}'
    given = {"value.format": "avro", "value.schema": schema}
    written = avro("bytes").encode
    assert values(given, [written(b"\x04\xd2")], DecimalType(4, 2)) == [Decimal("12.34")]
    with pytest.raises(BadRow, match=r"value: 1234\.56 is not a number of decimal\(4,2\)"):
        values(given, [written(b"\x01\xe2\x40")], DecimalType(4, 2))


def test_protobuf_messages_are_rows() -> None:
    kind = (
        StructType()
        .add("name", StringType())
        .add("number", IntegerType())
        .add("label", StringType())
    )
    given = {
        "value.format": "protobuf",
        "value.schema": "google.protobuf.descriptor_pb2:FieldDescriptorProto",
    }
    message = FieldDescriptorProto(name="n", number=3, label=FieldDescriptorProto.LABEL_OPTIONAL)
    found = [message.SerializeToString(), None, FieldDescriptorProto(name="").SerializeToString()]
    assert values(given, found, kind) == [
        {"name": "n", "number": 3, "label": "LABEL_OPTIONAL"},
        None,
        {"name": "", "number": None, "label": None},
    ]
    with pytest.raises(BadRow, match="orders-3 offset 10 cannot be decoded: value: "):
        values(given, [b"\xff\xff"], kind)
    assert DescriptorProto.DESCRIPTOR.full_name == "google.protobuf.DescriptorProto"


def test_a_function_gives_no_row_one_or_several_of_each_record() -> None:
    rows = decoded(WORDS, records([b"a b", None, b"", b"c"]), value=WORD).rows
    assert rows.column("offset").to_pylist() == [10, 10, 13]
    assert [row["word"] for row in rows.column("value").to_pylist()] == ["a", "b", "c"]
    assert rows.column("value").to_pylist()[2]["place"] == "orders-3-13"


def test_a_function_is_given_all_of_the_record() -> None:
    given = {"value.format": f"python:{FUNCTIONS}:whole", "value.schema": "all STRING"}
    kind = StructType().add("all", StringType())
    rows = decoded(given, records([b"v"], [b"k"]), value=kind).rows
    assert rows.column("value").to_pylist() == [
        {"all": "(b'k', b'v', 'orders', 3, 10, 1500, [('h', b'1')])"}
    ]


def test_a_function_is_given_no_time_that_no_column_holds() -> None:
    given = {"value.format": f"python:{FUNCTIONS}:whole", "value.schema": "all STRING"}
    kind = StructType().add("all", StringType())
    rows = records([b"v"], [b"k"])
    without = pa.array([None], rows.schema.field("timestamp").type)
    rows = rows.set_column(rows.schema.get_field_index("timestamp"), "timestamp", without)
    assert decoded(given, rows, value=kind).rows.column("value").to_pylist() == [
        {"all": "(b'k', b'v', 'orders', 3, 10, None, [('h', b'1')])"}
    ]


def test_a_bad_row_is_null_with_an_error_where_that_is_wanted() -> None:
    given = JSON | {"badRows": "null", "key.format": "string", "includeRaw": "true"}
    rows = records([b'{"id": 1}', b"{", None], [b"k", b"\xff", b"l"])
    found = decoded(given, rows, key=StringType(), value=ORDER)
    assert found.dead_letters is None
    assert found.rows.column("value").to_pylist() == [{"id": 1, "name": None}, None, None]
    assert found.rows.column("key").to_pylist() == ["k", None, "l"]
    assert found.rows.column("rawValue").to_pylist() == [b'{"id": 1}', b"{", None]
    assert found.rows.column("rawKey").to_pylist() == [b"k", b"\xff", b"l"]
    good, bad, tombstone = found.rows.column("error").to_pylist()
    assert (good, tombstone) == (None, None)
    assert bad.startswith("key: 'utf-8' codec can't decode byte 0xff")
    assert "; value: unexpected end of data" in bad


def test_a_bad_record_of_a_function_is_one_null_row() -> None:
    found = decoded(WORDS | {"badRows": "null"}, records([b"a b", b"1", b"c"]), value=WORD).rows
    assert found.column("offset").to_pylist() == [10, 10, 11, 12]
    assert found.column("error").to_pylist() == [None, None, "value: a number is no word", None]


@pytest.mark.parametrize("given", [JSON, WORDS], ids=["json", "function"])
def test_dead_letters_are_left_out_of_the_rows(given: dict[str, str]) -> None:
    letters = {"badRows": "deadLetter", "deadLetterTopic": "bad"}
    kind = ORDER if given is JSON else WORD
    good = b'{"id":1}' if given is JSON else b"word"
    rows = records([good, b"{ 1", good, None])
    found = decoded(given | letters, rows, value=kind)
    assert found.rows.column("offset").to_pylist() == ([10, 12, 13] if given is JSON else [10, 12])
    assert found.dead_letters.rows.to_pylist() == rows.slice(1, 1).to_pylist()
    assert len(found.dead_letters.reasons) == 1


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ({}, COLUMNS),
        (
            {"includeTimestampType": "true", "includeHeaders": "true", "includeLeaderEpoch": "true"},
            f"{COLUMNS}, timestampType int, headers array<struct<key: string, value: binary>>, leaderEpoch int",
        ),
        (
            JSON | {"includeRaw": "true", "badRows": "null"},
            f"{COLUMNS.replace('value binary', 'value struct<id BIGINT, name STRING>')}, rawKey binary, rawValue binary, error string",
        ),
        (
            {"value.format": "avro", "value.schema": AVRO_SCHEMA, "key.format": "string"},
            "key string, value struct<`id`:bigint,`name`:string>, topic string, partition int, offset bigint, timestamp timestamp",
        ),
    ],
)  # fmt: skip
def test_the_columns_follow_the_options(given: dict[str, str], columns: str) -> None:
    assert schema_text(parse_source_options(NEEDED | given)) == columns


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"value.format": "xml"}, "value.format is one of binary, string, json, avro, protobuf"),
        ({"value.format": "json"}, "value.format=json needs value.schema: 'id BIGINT"),
        ({"key.format": "avro"}, "key.format=avro needs key.schema: a schema in JSON, or schema.reg"),
        ({"value.format": "protobuf"}, "needs value.schema: the class of the message"),
        ({"value.format": f"python:{FUNCTIONS}.words"}, "needs value.schema: the type of its rows"),
        ({"key.format": f"python:{FUNCTIONS}.words"}, "key.format is no function"),
        ({"value.format": "python"}, "names a function as python:module.function"),
        ({"value.format": "string", "value.schema": "INT"}, "value.schema has no use with"),
        (JSON | {"value.schema": '{"a": 1}'}, "value.schema is no schema of Spark"),
        (JSON | {"value.schema": "id INT NOT NULL"}, "leave NOT NULL out"),
        (JSON | {"value.schema": " "}, "value.schema is empty"),
        (JSON | {"badRows": "skip"}, "badRows is one of fail, null, deadLetter"),
        (JSON | {"badRows": "deadLetter"}, "badRows=deadLetter needs a topic"),
        (JSON | {"deadLetterTopic": "t"}, "has a use only with badRows=deadLetter"),
        ({"badRows": "null"}, "badRows has a use only with value.format"),
        ({"includeRaw": "true"}, "includeRaw has a use only with value.format"),
        (JSON | {"schema.registry.url": "http://r:1"}, "has a use only with .* avro or protobuf"),
        (JSON | {"schema.registry.basic.auth.user.info": "a:b"}, "only with schema.registry.url"),
        (JSON | {"value.subject": "s"}, "value.subject has a use only with"),
        ({"value.format": "avro", "value.schema": '{"type": "recrd"}'}, "is no Avro schema"),
        (
            {"value.format": "avro", "value.schema": '["int", "string"]'},
            "a union of int, string has no Spark type",
        ),
        (
            {"value.format": "avro", "schema.registry.url": "http://127.0.0.1:1", "subscribe": "a,b"},
            "for several topics needs value.schema, or value.subject",
        ),
        (WORDS | {"value.format": "python:no_such.words"}, "cannot be imported .*--py-files"),
        (WORDS | {"value.format": f"python:{FUNCTIONS}.wrds"}, "cannot be imported"),
        (WORDS | {"value.format": f"python:{FUNCTIONS}.NUMBER"}, "is a int and cannot be called"),
        ({"value.format": "protobuf", "value.schema": "builtins:dict"}, "is no class of a Protobuf"),
        (
            {"value.format": "protobuf", "value.schema": "google.protobuf.descriptor_pb2:DescriptorProto"},
            "holds itself",
        ),
        ({"includeTimestampType": "1"}, "includeTimestampType must be true or false"),
    ],
)  # fmt: skip
def test_every_mistake_is_named(given: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        schema_text(parse_source_options(NEEDED | given))


def test_a_type_that_no_format_gives_is_named() -> None:
    options = parse_source_options(NEEDED | JSON)
    from pyspark.sql.types import VariantType

    with pytest.raises(ConfigError, match="a column of type variant cannot be read"):
        decoding_of(options, schema_of(options, value=VariantType()))


def test_no_repr_shows_the_login_of_the_registry() -> None:
    given = {
        "value.format": "avro",
        "schema.registry.url": "http://alice:hunter1@r:1",
        "schema.registry.basic.auth.user.info": "alice:hunter2",
    }
    assert "hunter" not in repr(parse_source_options(NEEDED | given))
