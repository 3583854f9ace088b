"""Rows of a task in the order of their times, and what cannot be brought into it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, LongType, StructField, StructType, TimestampType

from millstream.errors import ConfigError
from millstream.spark.sink.time_order import parsed_in_time_order, sorted_by_time

OPTIONS = {"bootstrap.servers": "localhost:9092", "topic": "orders"}
NUMBER = StructField("value", LongType())
VALUE, TIMESTAMP = StructField("value", BinaryType()), StructField("timestamp", TimestampType())


def rows(*pairs: tuple[int | None, str]) -> pa.RecordBatch:
    times = pa.array([time for time, _ in pairs], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    return pa.RecordBatch.from_pydict({"timestamp": times, "value": [name for _, name in pairs]})


def test_rows_of_all_batches_are_sorted_and_those_of_equal_time_stay_as_they_came() -> None:
    given = [rows((5, "a"), (1, "b")), rows(), rows((1, "c"), (None, "d"), (0, "e"), (5, "f"))]
    found = [name for batch in sorted_by_time(iter(given)) for name in batch["value"].to_pylist()]
    assert found == ["e", "b", "c", "a", "f", "d"], "one without a time has that of its writing"


def test_a_task_without_rows_writes_none() -> None:
    assert list(sorted_by_time(iter([rows()]))) == []


@pytest.mark.parametrize(
    ("options", "schema", "says"),
    [
        (OPTIONS, [VALUE], "by a column timestamp, and there is none"),
        (OPTIONS | {"partitioner": "round-robin"}, [VALUE, TIMESTAMP], "no formats, partitioner"),
        (OPTIONS | {"deadLetterTopic": "bad"}, [VALUE, TIMESTAMP], "deadLetterTopic"),
        (OPTIONS | {"value.format": "json"}, [NUMBER, TIMESTAMP], "no formats"),
    ],
)
def test_what_leaves_the_order_open_is_refused(
    options: dict[str, str], schema: list[StructField], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        parsed_in_time_order(options, StructType(schema))


def test_a_topic_for_each_row_is_refused() -> None:
    topic = StructField("topic", BinaryType())
    with pytest.raises(ConfigError):
        parsed_in_time_order(
            {"bootstrap.servers": "localhost:9092"}, StructType([VALUE, TIMESTAMP, topic])
        )
