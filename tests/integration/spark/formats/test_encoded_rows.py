"""Rows that the sink encodes, through Spark itself: the source reads them back with the same options, and they are equal."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, LongType, StringType, StructType

from millstream.clients.serdes.registry import IncompatibleSchema, SchemaRegistryUnavailable
from millstream.errors import ConfigError
from millstream.spark import write_atomically
from millstream.spark.sink.encoding.encoding import encode, encoding_of
from millstream.spark.sink.options import parse_sink_options
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

VALUE = "id BIGINT, price DOUBLE, tags ARRAY<STRING>, counts MAP<STRING, INT>"
AVRO = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "price", "type": ["null", "double"]},
    {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
    {"name": "counts", "type": {"type": "map", "values": ["null", "int"]}}]}"""
ROWS = [
    ("a", (1, 1.5, ["x", None], {"n": 1})),
    ("b", (2, None, [], {})),
    ("c", None),
]


def frame(spark: Any, rows: list[Any]) -> Any:
    return spark.createDataFrame(rows, f"key STRING, value STRUCT<{VALUE}>").coalesce(1)


def written_back(spark: Any, topics: Any, topic: str, options: dict[str, str]) -> list[Any]:
    broker = {"bootstrap.servers": topics.bootstrap_servers}
    rows = spark.read.format("millstream").options(**broker, subscribe=topic, **options).load()
    found = rows.orderBy("key").select("key", "value").collect()
    return [
        (key, value and (value.id, value.price, value.tags, value.counts)) for key, value in found
    ]


def test_json_is_read_back_and_what_has_none_is_a_dead_letter(spark: Any, topics: Any) -> None:
    topic, letters = topics.new(), topics.new("letters")
    formats = {"key.format": "string", "value.format": "json", "value.schema": VALUE}
    options = {"bootstrap.servers": topics.bootstrap_servers, "topic": topic, **formats}
    rows = frame(spark, [*ROWS, ("d", (4, math.nan, [], {}))])
    write = rows.write.format("millstream").options(**options).mode("append")
    write.options(deliveryGuarantee="exactly-once", deadLetterTopic=letters).save()
    assert written_back(spark, topics, topic, formats) == ROWS
    (letter,) = topics.get(letters, headers=True)
    assert letter["value"] == b'{"id": 4, "price": NaN, "tags": [], "counts": {}}'
    told = {each["key"].rpartition(".")[2]: each["value"].decode() for each in letter["headers"]}
    assert told["message"] == "value: price: nan is no number of JSON"
    assert told["exception"].endswith(".UnencodableRow")
    with pytest.raises(
        Exception, match=r"column value does not fit value\.schema: price: double is"
    ):
        write.option("value.schema", VALUE.replace("DOUBLE", "INT")).save()


def test_an_atomic_write_registers_its_schema(spark: Any, topics: Any) -> None:
    topic = topics.new(partitions=2)
    with FakeSchemaRegistry() as registry:
        formats = {"key.format": "avro", "key.schema": '"string"', "value.format": "avro"}
        formats |= {"value.schema": AVRO, "schema.registry.url": registry.url}
        options = {"bootstrap.servers": topics.bootstrap_servers, "topic": topic, **formats}
        prefix = {"transactionalIdPrefix": f"atomic-{topic}"}
        assert write_atomically(frame(spark, ROWS), 0, options | prefix) == 3
        assert set(registry.contents.subjects) == {f"{topic}-key", f"{topic}-value"}
        del formats["key.schema"], formats["value.schema"]  # the newest of the registry
        assert written_back(spark, topics, topic, formats) == ROWS
        keys = {row["key"] for row in topics.get(topic)}
    assert {key[5:] for key in keys} == {b"\x02a", b"\x02b", b"\x02c"}


ONE_FIELD = """{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}"""
ORDER = StructType().add("id", LongType())


def encoded(
    registry: FakeSchemaRegistry, rows: pa.RecordBatch, schema: StructType, **more: str
) -> list[bytes | None]:
    """What a worker makes of rows that name their topics, or of those of one topic."""
    given = {
        "bootstrap.servers": "b:1",
        "value.format": "avro",
        "schema.registry.url": registry.url,
    }
    encoding = encoding_of(parse_sink_options(given | more, schema), schema)
    assert encoding is not None
    found: list[bytes | None] = encode(encoding, rows).column("value").to_pylist()
    return found


def orders(**columns: pa.Array) -> pa.RecordBatch:
    values = {"value": pa.array([{"id": 1}, None, {"id": 2}])}
    return pa.RecordBatch.from_pydict(values | columns)


def test_each_topic_has_a_subject_and_a_name_that_no_topic_has_none() -> None:
    schema = StructType().add("value", ORDER).add("topic", StringType())
    rows = orders(topic=pa.array(["a", "b", "no topic"]))
    with FakeSchemaRegistry() as registry:
        registry.contents.register("b-value", {"schema": '"int"'})
        options = {"value.schema": ONE_FIELD, "value.format": "avro"}
        assert encoded(registry, rows, schema, **options) == [b"\0\0\0\0\x02\x02", None, b"\x04"]
        assert registry.contents.subjects == {"b-value": [1, 2], "a-value": [2]}
        one = {"value.schema": ONE_FIELD, "value.subject": "Order"}
        rows = orders(topic=pa.array(["a", "b", "c"]))
        assert encoded(registry, rows, schema, **one)[2] == b"\0\0\0\0\x02\x04"
        assert registry.contents.subjects["Order"] == [2]
        del one["value.schema"]  # the newest of that subject
        assert encoded(registry, rows, schema, **one)[2] == b"\0\0\0\0\x02\x04"


def test_the_newest_schema_is_looked_up_once_and_decides_the_type() -> None:
    schema = StructType().add("value", ORDER)
    with FakeSchemaRegistry() as registry:
        registry.contents.register("orders-value", {"schema": ONE_FIELD})
        found = encoded(registry, orders(), schema, topic="orders")
        assert found == [b"\0\0\0\0\x01\x02", None, b"\0\0\0\0\x01\x04"]
        assert registry.contents.requests == ["GET /subjects/orders-value/versions/latest"]
        registry.contents.register("orders-value", {"schema": ONE_FIELD.replace("id", "number")})
        with pytest.raises(ConfigError, match="the schema has no id, it has number"):
            encoded(registry, orders(), schema, topic="orders")
        registry.contents.register("raw-value", {"schema": '"bytes"'})
        raw = pa.RecordBatch.from_pydict({"value": pa.array([b"\xff"])})
        found = encoded(registry, raw, StructType().add("value", BinaryType()), topic="raw")
        assert found == [b"\0\0\0\0\x03\xff"]  # no length, as Confluent's serializers write it


@pytest.mark.parametrize(
    ("faults", "kind"), [([409], IncompatibleSchema), ([500, 500], SchemaRegistryUnavailable)]
)
def test_a_registry_that_refuses_or_fails_makes_no_bad_rows(
    faults: list[int], kind: type[Exception]
) -> None:
    schema = StructType().add("value", ORDER)
    options = {"topic": f"t{faults[0]}", "value.schema": ONE_FIELD, "deadLetterTopic": "bad"}
    with FakeSchemaRegistry() as registry:
        registry.contents.faults.extend(faults)
        with pytest.raises(kind):
            encoded(registry, orders(), schema, **options)
        assert encoded(registry, orders(), schema, **options)[1] is None
