"""Options of the sink's formats: what is malformed, missing, without a use, or not of the column's type is refused when the query starts."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CharType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    VariantType,
)

from millstream.errors import ConfigError
from millstream.spark.formats.ddl_types import type_of_text
from millstream.spark.formats.row_types import type_of_ddl
from millstream.spark.sink.encoding.encoding import encoding_of
from millstream.spark.sink.encoding.fitting import require_fit
from millstream.spark.sink.options import parse_sink_options
from tests.unit.spark.encoding.encoded import GIVEN

MODULE = "tests.unit.spark.encoding.every_type"
ORDER = StructType().add("id", LongType()).add("name", StringType())
JSON = {"value.format": "json"}
AVRO = {
    "value.format": "avro",
    "value.schema": '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]}',
}
REGISTRY = {"schema.registry.url": "http://127.0.0.1:1"}
NEEDED = {"value.format": "protobuf", "value.schema": f"{MODULE}:Needed"}


def checked(given: dict[str, str], kind: DataType) -> None:
    schema = StructType().add("value", kind)
    encoding_of(parse_sink_options(GIVEN | given, schema), schema)


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ({}, ORDER, "must be binary or string, not struct<.*: cast it, or say how it is written with value.format"),
        ({"value.format": "xml"}, ORDER, "value.format is one of binary, string, json, avro, protobuf"),
        ({"value.format": "python"}, ORDER, "names a function as python:module.function"),
        ({"value.format": "string"}, ORDER, "value.format=string writes a column of type string, not struct"),
        ({"value.format": "string"}, BinaryType(), "writes a column of type string, not binary: cast it"),
        ({"value.format": "binary"}, StringType(), "writes a column of type binary, not string: cast it"),
        ({"value.format": "string", "value.schema": "INT"}, StringType(), "value.schema has no use with"),
        (JSON, StringType(), "column value is string: leave value.format=json out where it has JSON text"),
        (JSON | {"key.format": "json"}, ORDER, "key.format has no use: the rows have no column key"),
        (JSON | {"key.schema": "INT"}, ORDER, "key.schema has no use: the rows have no column key"),
        (JSON | {"value.subject": "s"}, ORDER, "value.subject has a use only with value.format avro or protobuf"),
        (AVRO | {"value.subject": "s"}, ORDER, "and with schema.registry.url"),
        (JSON | REGISTRY, ORDER, "schema.registry.url has a use only with .* avro or protobuf"),
        (JSON | {"schema.registry.basic.auth.user.info": "a:b"}, ORDER, "only with schema.registry.url"),
        (JSON | {"badRows": "null"}, ORDER, "unknown option 'badRows' of format millstream as a sink"),
        ({"value.format": "avro"}, ORDER, "value.format=avro needs value.schema: a schema in JSON, or schema.reg"),
        ({"value.format": "protobuf"}, ORDER, "value.format=protobuf needs value.schema: the class"),
        ({"value.format": "protobuf"} | REGISTRY, ORDER, "needs value.schema: the class"),
        ({"value.format": "protobuf", "value.schema": "builtins:dict"}, ORDER, "is no class of a Protobuf"),
        ({"value.format": "python:no_such.words"}, ORDER, "cannot be imported .*--py-files"),
        ({"value.format": f"python:{MODULE}.line", "value.schema": "id INT"}, ORDER, "id: bigint is not int, cast it"),
        (JSON | {"value.schema": "id BIGNT, name STRING"}, ORDER, "is no schema of Spark: 'bignt' is no type"),
        (JSON | {"value.schema": "id BIGINT NOT NULL"}, ORDER, "leave NOT NULL out"),
        (JSON | {"value.schema": "id BIGINT"}, ORDER, "column value does not fit value.schema: the schema has no name, it has id"),
        (JSON, StructType().add("i", DayTimeIntervalType()), "interval day to second is not written as JSON"),
        (JSON, VariantType(), "a column of type variant is not written as JSON"),
        (JSON, MapType(LongType(), LongType()), "names in JSON are text, not bigint: cast the keys of map<bigint,bigint>"),
        (AVRO, LongType(), "column value does not fit value.schema: bigint is not struct<id:bigint,name:string>"),
        (AVRO, StructType().add("id", LongType()), "value.schema has R.name, which may not be null and which the column has not"),
        ({"value.format": "avro", "value.schema": '{"type": "recrd"}'}, ORDER, "is no Avro schema"),
        (NEEDED, StructType().add("name", StringType()), "value.schema has every.Needed.id, which is required"),
        (NEEDED, StructType().add("id", LongType()), "value.schema: id: bigint is not int, cast it"),
    ],
)  # fmt: skip
def test_every_mistake_is_named(given: dict[str, str], kind: DataType, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        checked(given, kind)


def test_rows_that_name_their_topics_need_a_schema_or_a_subject() -> None:
    schema = StructType().add("value", ORDER).add("topic", StringType())
    given = {"bootstrap.servers": "b:1", "value.format": "avro"} | REGISTRY
    with pytest.raises(
        ConfigError, match=r"for several topics needs value\.schema, or value\.subj"
    ):
        encoding_of(parse_sink_options(given, schema), schema)


def test_no_repr_shows_the_login_of_the_registry() -> None:
    login = {"schema.registry.basic.auth.user.info": "alice:hunter2"}
    schema = StructType().add("value", ORDER)
    given = GIVEN | AVRO | login | {"schema.registry.url": "http://alice:hunter1@127.0.0.1:1"}
    options = parse_sink_options(given, schema)
    assert "hunter" not in repr(options) + repr(encoding_of(options, schema))


def test_what_is_narrower_fits_and_nothing_else() -> None:
    for narrow, wide in [
        (ShortType(), LongType()),
        (IntegerType(), LongType()),
        (DecimalType(5, 2), DecimalType(10, 4)),
        (ArrayType(ShortType()), ArrayType(IntegerType())),
        (MapType(StringType(), ShortType()), MapType(StringType(), LongType())),
        (StructType().add("name", CharType(3)), ORDER),
    ]:
        require_fit("value", narrow, wide)
        with pytest.raises(ConfigError, match=r"column value does not fit value\.schema: "):
            require_fit("value", wide, narrow)
    for one, other in [
        (FloatType(), DoubleType()),
        (DoubleType(), DecimalType(10, 2)),
        (DecimalType(5, 2), DecimalType(5, 3)),
        (IntegerType(), DecimalType(10, 0)),
    ]:
        with pytest.raises(ConfigError, match="cast it"):
            require_fit("value", one, other)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("BIGINT", "bigint"),
        ("struct<id BIGINT, `a``b: c`:array<decimal(10,2)>>", "struct<id:bigint,a`b: c:array<decimal(10,2)>>"),
        ("struct<a: map<string, struct<b: int>> COMMENT 'it\\'s, >', c Decimal>", "struct<a:map<string,struct<b:int>>,c:decimal(10,0)>"),
        ("struct<>", "struct<>"),
        ("array<varchar(3)>", "array<string>"),
        ("struct<t timestamp_ntz, u TIMESTAMP_LTZ, v dec(3)>", "struct<t:timestamp_ntz,u:timestamp,v:decimal(3,0)>"),
    ],
)  # fmt: skip
def test_ddl_is_read_without_a_jvm(text: str, shown: str) -> None:
    assert type_of_text("value.schema", text).simpleString() == shown


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("struct<id BIGINT", "a '>' is missing at its end"),
        ("array<int", "the end stands where '>' should"),
        ("int int", "'int' follows the type"),
        ("struct<a int b int>", "'b' stands where ',' should"),
        ("decimal(x)", "'x' is no number"),
        ("<", "'<' is no name"),
        ("struct<a>", "'>' is no name"),
        ("interval day", "'interval' is no type that is read or written"),
        ("struct<a", "it ends too early"),
        ("map<int>", "'>' stands where ',' should"),
    ],
)
def test_text_that_is_no_ddl_is_named(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as failed:
        type_of_text("value.schema", text)
    assert str(failed.value).startswith(f"value.schema {text!r} is no schema of Spark: {says}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "id BIGNT, name STRING",
            "'bignt' is no type that is read or written, did you mean bigint?",
        ),
        ("items ARRY<INT>", "'arry' is no type that is read or written, did you mean array?"),
        ("id BIGINT name STRING", "'name' stands where ',' should"),
        ("id BIGINT, items ARRAY<STRING", "a '>' is missing at its end"),
        ("id BIGINT,", "it ends too early"),
        ("id", "'id' is no type that is read or written"),
        ("a VARIANT", "'variant' is no type that is read or written"),
        ("d DECIMAL(39,2)", "decimal(39,2) has no values: a decimal has 1 to 38 digits"),
        ("d DECIMAL(2,3)", "decimal(2,3) has no values"),
    ],
)
def test_a_mistake_in_the_schema_of_a_source_is_told_in_what_was_written(
    text: str, says: str
) -> None:
    """Spark told of a syntax error near 'binary', in columns that nobody had written."""
    with pytest.raises(ConfigError) as failed:
        type_of_ddl("value.schema", text)
    assert str(failed.value).startswith(f"value.schema {text!r} is no schema of Spark: {says}")


@pytest.mark.parametrize(
    "text", ["id: BIGINT, `a b` map<string,int> COMMENT 'x'", "a STRING COLLATE UTF8_LCASE, b int"]
)
def test_what_spark_reads_is_left_as_it_is(text: str) -> None:
    assert type_of_ddl("value.schema", text) == f"struct<{text}>"
