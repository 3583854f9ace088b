"""The topic and the partition of rows: selectors, partitioners, and options that name them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StringType, StructType

from millstream.errors import ConfigError
from millstream.spark.sink.options import parse_sink_options
from millstream.spark.sink.routing import (
    FunctionFailed,
    Routing,
    row_partitioner,
    with_partitions,
    with_selected_topics,
)

FUNCTIONS = "tests.unit.spark.rows.row_functions"
GIVEN = {"bootstrap.servers": "b:1"}
VALUE = StructType().add("value", BinaryType())


def rows(values: list[str], **columns: pa.Array) -> pa.RecordBatch:
    named = {"value": pa.array(values), **columns}
    return pa.RecordBatch.from_arrays(list(named.values()), list(named))


def test_what_is_given_is_read() -> None:
    given = {
        "topicSelector": f"{FUNCTIONS}:topic_of",
        "partitioner": "Round-Robin",
        "deadLetterTopic": "bad",
    }
    options = parse_sink_options(GIVEN | given, VALUE)
    assert options.topic is None
    assert options.routing == Routing(f"{FUNCTIONS}:topic_of", "round-robin", "bad")
    assert parse_sink_options(GIVEN | {"topic": "t"}, VALUE).routing == Routing(
        None, "murmur2", None
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "rows need a topic: .*, a column topic, or a topicSelector"),
        ({"topicSelector": "no_such_module:f"}, "topicSelector: 'no_such_module:f' cannot be imported"),
        ({"topicSelector": "f"}, "topicSelector names a function as module:function, not 'f'"),
        ({"topicSelector": f"{FUNCTIONS}:topic_of", "topic": "t"}, "both say where rows go"),
        ({"topic": "t", "partitioner": "fair"}, "partitioner is murmur2, round-robin or a function"),
        ({"topic": "t", "partitioner": f"{FUNCTIONS}:NUMBER"}, "is a int and cannot be called"),
        ({"topic": "t", "deadLetterTopic": " "}, "deadLetterTopic is empty"),
    ],
)  # fmt: skip
def test_mistakes_are_named_when_the_query_starts(given: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_sink_options(GIVEN | given, VALUE)


def test_a_column_topic_needs_no_option() -> None:
    schema = StructType(VALUE.fields[:]).add("topic", StringType())
    assert parse_sink_options(GIVEN, schema).topic is None


def test_a_selector_names_the_topic_of_each_row() -> None:
    given = rows(["a1", ".", "b"], topic=pa.array(["t", "t", "u"]))
    found = with_selected_topics(f"{FUNCTIONS}:topic_of", given)
    assert found.column("topic").to_pylist() == ["t-a", None, "u-b"]
    assert found.schema.names == ["value", "topic"]


def test_a_selector_that_raises_or_gives_no_name_is_named() -> None:
    with pytest.raises(FunctionFailed, match="topicSelector raised for a row: LookupError"):
        with_selected_topics(f"{FUNCTIONS}:topic_of", rows(["!"], topic=pa.array(["t"])))
    with pytest.raises(FunctionFailed, match="topicSelector gives the name of a topic or None, no"):
        with_selected_topics("builtins:len", rows(["a"]))


def test_murmur2_is_left_to_the_producer() -> None:
    assert row_partitioner("murmur2") is None


def test_round_robin_goes_on_from_one_batch_to_the_next() -> None:
    partitioner = row_partitioner("round-robin")
    assert partitioner is not None
    first = with_partitions(partitioner, rows(["a", "b"]), 3).column("partition").to_pylist()
    second = with_partitions(partitioner, rows(["c", "d"]), 3).column("partition").to_pylist()
    begin = first[0]
    assert first + second == [begin, (begin + 1) % 3, (begin + 2) % 3, begin]


def test_a_row_that_has_a_partition_keeps_it() -> None:
    partitioner = row_partitioner(f"{FUNCTIONS}:last_partition")
    assert partitioner is not None
    given = rows(["a", "b"], partition=pa.array([1, None], pa.int32()))
    assert with_partitions(partitioner, given, 5).column("partition").to_pylist() == [1, 4]


def test_a_partitioner_that_gives_no_number_is_named() -> None:
    partitioner = row_partitioner(f"{FUNCTIONS}:no_partition")
    assert partitioner is not None
    with pytest.raises(
        FunctionFailed, match="partitioner gives the number of a partition, not '0'"
    ):
        with_partitions(partitioner, rows(["text"]), 1)
