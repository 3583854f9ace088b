"""Rows that the sink encodes, through Spark itself: the source reads them back with the same options, and they are equal."""

from __future__ import annotations

import math
from typing import Any

import pytest

from millstream.spark import write_atomically
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
