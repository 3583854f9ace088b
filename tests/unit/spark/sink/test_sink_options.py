"""Options and columns of the sink: every mistake is named before anything is written."""

from __future__ import annotations

import pytest
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructType

from millstream.errors import ConfigError
from millstream.spark.kafka_settings import KafkaSettings
from millstream.spark.sink.options import SinkOptions, parse_sink_options

GIVEN = {"bootstrap.servers": "b:1", "topic": "t"}
VALUE = StructType().add("value", BinaryType())


def test_what_is_given_is_read() -> None:
    assert parse_sink_options(GIVEN | {"compression.type": "LZ4"}, VALUE) == SinkOptions(
        kafka=KafkaSettings((("bootstrap_servers", "b:1"), ("compression_type", "LZ4"))), topic="t"
    )


def test_names_of_sparks_connector_and_options_of_spark_itself_are_taken() -> None:
    options = {"kafka.bootstrap.servers": "b:1", "topic": "t", "checkpointLocation": "/c"}
    assert parse_sink_options(options, VALUE).kafka.bootstrap_servers == "b:1"


def test_a_column_topic_stands_for_the_option() -> None:
    schema = StructType().add("value", StringType()).add("topic", StringType())
    assert parse_sink_options({"bootstrap.servers": "b:1"}, schema).topic is None


@pytest.mark.parametrize(
    ("more", "timeout"),
    [
        ({}, "300000"),
        ({"kafka.transaction.timeout.ms": "7000"}, "7000"),
        ({"kafka.transaction_timeout_ms": "7000"}, "7000"),
    ],
)
def test_transactions_of_an_exactly_once_sink_have_a_time_out(
    more: dict[str, str], timeout: str
) -> None:
    options = GIVEN | {"deliveryGuarantee": "Exactly-Once"} | more
    settings = parse_sink_options(options, VALUE).kafka.of_producer()
    assert settings["transaction_timeout_ms"] == timeout


@pytest.mark.parametrize(
    ("options", "schema", "sentence"),
    [
        ({"topic": "t"}, VALUE, "needs a broker"),
        ({"bootstrap.servers": "b:1"}, VALUE, "rows need a topic"),
        (GIVEN | {"acks": "1"}, VALUE, "unknown option 'acks'"),
        (GIVEN | {"compression.type": "rar"}, VALUE, "compression.type must be one of"),
        (GIVEN | {"deliveryGuarantee": "twice"}, VALUE, "deliveryGuarantee is one of none, at-"),
        (GIVEN | {"transactionalIdPrefix": "p"}, VALUE, "has a use only with deliveryGuarantee"),
        (GIVEN | {"commit": "atomic"}, VALUE, r"call millstream\.spark\.write_atomically"),
        (GIVEN | {"nullTopic": "guess"}, VALUE, "nullTopic is one of fail, skip"),
        (GIVEN | {"kafka.transaction.timeout.ms": "1"}, VALUE, "only a sink with deliveryGuar"),
        (GIVEN, StructType().add("key", BinaryType()), "needs a column value"),
        (GIVEN, StructType().add("value", LongType()), "must be binary or string, not bigint"),
        (GIVEN, VALUE.__class__(VALUE.fields[:]).add("id", IntegerType()), "column 'id' is none"),
    ],
)
def test_mistakes_are_named(options: dict[str, str], schema: StructType, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_sink_options(options, schema)


def test_a_topic_cannot_be_overwritten() -> None:
    with pytest.raises(ConfigError, match=r'use \.mode\("append"\)'):
        parse_sink_options(GIVEN, VALUE, overwrite=True)
