"""Decoded rows through Spark itself, and against a schema registry: columns, bad rows and dead letters."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from millstream.clients.serdes import avro
from millstream.clients.serdes.registry import Limits, SchemaRegistry, confluent_avro, for_topic
from millstream.clients.serdes.registry.errors import SchemaRegistryUnavailable
from millstream.spark.source.batch_reader import BatchReader
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.rows.decoding import Decoding, schema_text
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry
from tests.support.late_workers import started

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

JSON = {"value.format": "json", "value.schema": "id BIGINT, name STRING"}
ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"}]}'
ORDER_OF_SPARK = (
    '{"type":"struct","fields":[{"name":"key","type":"binary","nullable":true,"metadata":{}},'
    '{"name":"value","type":{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"name","type":"string","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}]}'
)


def read(spark: Any, topics: Any, topic: str, **options: str) -> Any:
    return (
        spark.read.format("millstream")
        .options(**{"bootstrap.servers": topics.bootstrap_servers}, subscribe=topic)
        .options(**options)
        .load()
    )


def headers_of(record: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: each["value"].decode() for each in record["headers"]}


def test_json_is_a_column_that_spark_selects_from(spark: Any, topics: Any) -> None:
    topic = topics.new()
    topics.put(topic, [{"key": b"k", "value": b'{"id": %d, "name": "n"}' % i} for i in range(3)])
    topics.put(topic, [{"key": None, "value": None}])
    rows = read(spark, topics, topic, **JSON, **{"key.format": "string"}, includeRaw="true")
    found = rows.selectExpr("key", "value.id + 1 AS next", "value.name", "rawValue").collect()
    assert [tuple(row) for row in found] == [
        ("k", 1, "n", b'{"id": 0, "name": "n"}'),
        ("k", 2, "n", b'{"id": 1, "name": "n"}'),
        ("k", 3, "n", b'{"id": 2, "name": "n"}'),
        (None, None, None, None),
    ]


def test_decimals_and_large_numbers_of_json_are_those_of_from_json(spark: Any, topics: Any) -> None:
    """A number that the type does not hold is null in both: Spark's nulls are our bad rows."""
    topic = topics.new()
    numbers = (
        "12345678901234567.89", "-12345678901234567890", "99999999999999999999.9", "1.255", "-1.245", "1e19", "1.5E-2", "1e400",
        "9007199254740993", "-9223372036854775808", "18446744073709551615", "123456789012345678901234567890", '"1.50"', '"x"', "true",
    )  # fmt: skip
    texts = [f'{{"d": {n}, "l": [{{"d": {n}}}], "m": {{"x": {n}}}}}' for n in numbers]
    topics.put(topic, [{"value": text.encode()} for text in texts])
    for kind in ("DECIMAL(22,2)", "DECIMAL(38,18)", "BIGINT"):
        schema = f"d {kind}, l ARRAY<STRUCT<d: {kind}>>, m MAP<STRING, {kind}>"
        options = {"value.format": "json", "value.schema": schema, "badRows": "null"}
        rows = read(spark, topics, topic, **options, includeRaw="true").selectExpr(
            "value.d = value.l[0].d AND value.d = value.m['x'] AS equal",
            "value.d AS ours",
            f"from_json(CAST(rawValue AS STRING), '{schema}').d AS sparks",
        )
        for number, row in zip(numbers, rows.collect(), strict=True):
            assert row.ours == row.sparks, (kind, number)
            assert row.equal is (None if row.ours is None else True), (kind, number)


def test_a_function_makes_rows_in_spark(spark: Any, topics: Any) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"a b"}, {"value": None}, {"value": b"c 1"}])
    options = {
        "value.format": "python:tests.unit.spark.rows.row_functions.words",
        "value.schema": "word STRING, place STRING",
        "badRows": "null",
    }
    found = read(spark, topics, topic, **options).selectExpr("offset", "value.word", "error")
    assert [tuple(row) for row in found.collect()] == [
        (0, "a", None),
        (0, "b", None),
        (2, None, "value: a number is no word"),
    ]


def test_a_bad_row_ends_the_query_with_one_sentence(spark: Any, topics: Any) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b'{"id": 1}'}, {"value": b"{"}])
    sentence = rf"{topic}-0 offset 1 cannot be decoded: value: unexpected end of data"
    with pytest.raises(Exception, match=sentence):
        read(spark, topics, topic, **JSON).collect()


def test_dead_letters_are_in_their_topic_with_the_reason(spark: Any, topics: Any) -> None:
    topic, letters = topics.new(partitions=2), topics.new("letters")
    record = {"key": b"k", "partition": 1, "timestamp_ms": 5_000}
    topics.put(topic, [record | {"value": b"{", "headers": [("own", b"1")]}])
    topics.put(topic, [record | {"value": b'{"id": 1}'}])
    options = JSON | {"badRows": "deadLetter", "deadLetterTopic": letters}
    rows = read(spark, topics, topic, **options).selectExpr("offset", "value.id")
    assert [tuple(row) for row in rows.collect()] == [(1, 1)]
    (letter,) = topics.get(letters, headers=True)
    assert (letter["key"], letter["value"], letter["timestamp"]) == (b"k", b"{", 5_000)
    headers = headers_of(letter)
    assert headers.pop("__streams.errors.message").startswith("value: unexpected end of data")
    assert headers == {
        "own": "1",
        "__streams.errors.exception": "millstream.spark.source.rows.bad_rows.BadRow",
        "__streams.errors.topic": topic,
        "__streams.errors.partition": "1",
        "__streams.errors.offset": "0",
    }


@pytest.mark.parametrize("large", ["value", "key"])
def test_a_record_that_is_too_large_for_the_topic_of_dead_letters_is_told_of(
    topics: Any, large: str
) -> None:
    """A record of a little less than what a topic takes is more with the headers that say why: the query ended, at
    each start anew.
    """
    topic, letters = topics.new(), topics.new("letters", max_message_bytes="3000")
    topics.put(topic, [{"key": b"k", "value": b"\xff", large: b"\xff" * 2_900}, {"value": b"\xff"}])
    text = {"value.format": "string", "badRows": "deadLetter", "deadLetterTopic": letters}
    schema = '{"type":"struct","fields":[{"name":"value","type":"string","nullable":true,"metadata":{}}]}'
    reader, partition = reader_of(topics, topic, schema, **text)
    assert [row for rows in reader.read(partition) for row in rows.to_pylist()] == []
    of_large, other = topics.get(letters, headers=True)
    assert headers_of(of_large)[f"__streams.errors.{large}.bytes"] == "2900"
    assert (of_large["value"], of_large[large]) == (None, None)
    assert (other["value"], "__streams.errors.value.bytes" in headers_of(other)) == (b"\xff", False)


def test_a_topic_for_dead_letters_that_is_not_there_ends_the_query(topics: Any) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"\xff"}])
    reader, partition = reader_of(
        topics,
        topic,
        '{"type":"struct","fields":[{"name":"value","type":"string","nullable":true,"metadata":{}}]}',
        **{"value.format": "string", "badRows": "deadLetter", "deadLetterTopic": "no such topic"},
    )
    with pytest.raises(Exception, match="dead letters cannot be written to topic no such topic: "):
        list(reader.read(partition))


def test_each_row_says_its_kind_of_timestamp_and_its_leader_epoch(spark: Any, topics: Any) -> None:
    created = topics.new()
    appended = topics.new(message_timestamp_type="LogAppendTime")
    for topic in (created, appended):
        topics.put(topic, [{"value": b"v"}])
    options = {"includeTimestampType": "true", "includeLeaderEpoch": "true"}
    rows = read(spark, topics, f"{created},{appended}", **options)
    found = {row["topic"]: (row["timestampType"], row["leaderEpoch"]) for row in rows.collect()}
    assert found == {created: (0, 0), appended: (1, 0)}


def reader_of(topics: Any, topic: str, schema: str, **given: str) -> tuple[BatchReader, Any]:
    needed = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    options = parse_source_options(needed | given, is_batch=True)
    reader = BatchReader(options, Decoding(options.rows, schema))
    (partition,) = reader.partitions()
    return reader, partition


def test_avro_is_read_by_the_schemas_that_a_registry_has(topics: Any) -> None:
    """The newest schema makes the columns, and each record is read by that which wrote it."""
    topic = topics.new()
    with FakeSchemaRegistry() as server:
        older = ORDER.replace(',{"name":"name","type":"string"}', "")
        client = SchemaRegistry(server.url, limits=Limits(retries=0))
        written = [
            for_topic(confluent_avro(client, older), topic).encode({"id": 1}),
            for_topic(confluent_avro(client, ORDER), topic).encode({"id": 2, "name": "n"}),
            b"\x00\x00\x00\x00\x63",
            avro(ORDER).encode({"id": 3, "name": "n"}),
        ]
        topics.put(topic, [{"value": value} for value in written])
        given = {
            "value.format": "avro",
            "schema.registry.url": server.url,
            "badRows": "deadLetter",
            "deadLetterTopic": topics.new("letters"),
        }
        options = parse_source_options(
            {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic} | given
        )
        assert "value struct<`id`:bigint,`name`:string>" in schema_text(options)
        reader, partition = reader_of(topics, topic, ORDER_OF_SPARK, **given)
        (rows,) = reader.read(partition)
        client.close()
    assert rows.column("value").to_pylist() == [{"id": 1, "name": None}, {"id": 2, "name": "n"}]
    reasons = [
        headers_of(record)["__streams.errors.message"]
        for record in topics.get(given["deadLetterTopic"], headers=True)
    ]
    assert "GET /schemas/ids/99" in reasons[0]
    assert "this was not written with a schema registry" in reasons[1]


@pytest.mark.parametrize("bad_rows", ["fail", "null"])
def test_a_registry_that_is_away_makes_no_bad_rows(topics: Any, bad_rows: str) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"\x00\x00\x00\x00\x01\x02\x02n"}])
    given = {
        "value.format": "avro",
        "schema.registry.url": f"http://127.0.0.1:1/{os.getpid()}",
        "badRows": bad_rows,
    }
    options = parse_source_options(
        {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic} | given
    )
    with pytest.raises(SchemaRegistryUnavailable, match=f"GET /subjects/{topic}-value/.* had no"):
        schema_text(options)
    reader, partition = reader_of(topics, topic, ORDER_OF_SPARK, **given)
    with pytest.raises(SchemaRegistryUnavailable, match="GET /schemas/ids/1 had no answer: "):
        list(reader.read(partition))


def test_a_stream_decodes_and_goes_on_behind_dead_letters(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    topic, letters = topics.new(), topics.new("letters")
    options = JSON | {"badRows": "deadLetter", "deadLetterTopic": letters}
    options |= {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    found: list[tuple[int, int]] = []

    def keep(rows: Any, _batch: int) -> None:
        found.extend(tuple(row) for row in rows.selectExpr("offset", "value.id").collect())

    def run() -> None:
        query = (
            spark.readStream.format("millstream")
            .options(**options, startingOffsets="earliest")
            .load()
            .writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(400)

    for value in (b"{", b'{"id": 1}'):
        topics.put(topic, [{"value": value}])
        started(run)
    assert found == [(1, 1)]
    assert {row["value"] for row in topics.get(letters)} == {b"{"}


def test_a_schema_that_spark_cannot_read_is_told_when_the_query_starts(spark: Any) -> None:
    options = {"bootstrap.servers": "127.0.0.1:1", "subscribe": "t", "value.format": "json"}
    load = spark.read.format("millstream").options(**options)
    for schema, told in (("id BIGNT", "BIGNT"), ("id INT NOT NULL", "leave NOT NULL out")):
        with pytest.raises(Exception, match=told):
            load.option("value.schema", schema).load()


def test_no_plan_shows_the_login_of_a_registry(
    spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {
        "bootstrap.servers": "127.0.0.1:1",
        "subscribe": "t",
        "value.format": "avro",
        "value.schema": ORDER,
        "schema.registry.url": "http://alice:hunter1@127.0.0.1:1",
        "schema.registry.basic.auth.user.info": "alice:hunter2",
    }
    spark.readStream.format("millstream").options(**options).load().explain(True)
    shown = capsys.readouterr().out
    assert "hunter" not in shown
    assert "schema.registry.url=*********(redacted)" in shown
