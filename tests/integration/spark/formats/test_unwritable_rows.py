"""Rows that the sink cannot write, as dead letters; and rows whose topics and partitions functions choose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from millstream.errors import MillstreamError
from millstream.spark.connections import Connections
from millstream.spark.kafka_settings import for_writing
from millstream.spark.sink.marks import BatchMark
from millstream.spark.sink.options import DeliveryGuarantee, SinkOptions
from millstream.spark.sink.routing import Routing
from millstream.spark.sink.transactions import BatchWrite, write_exactly_once

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

FUNCTIONS = "tests.unit.spark.rows.row_functions"


def sink(rows: Any, topics: Any, **options: str) -> Any:
    given = {"bootstrap.servers": topics.bootstrap_servers} | options
    return rows.write.format("millstream").options(**given).mode("append")


def told(record: dict[str, Any]) -> dict[str, str]:
    return {
        each["key"].removeprefix("__streams.errors."): each["value"].decode()
        for each in record["headers"]
    }


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once", "none"])
def test_the_rest_of_the_batch_is_written(spark: Any, topics: Any, guarantee: str) -> None:
    topic = topics.new(partitions=2, max_message_bytes="2000")
    letters = topics.new("letters", max_message_bytes="3000")
    rows = spark.createDataFrame(
        [
            (topic, 0, "good"),
            (topic, 1, "x" * 2_500),
            (topic, 0, "y" * 9_000),
            (topic, 2, "nowhere"),
            ("no topic", 0, "named"),
            (topic, 1, "too"),
        ],
        "topic STRING, partition INT, value STRING",
    ).coalesce(1)
    write = sink(rows, topics, deliveryGuarantee=guarantee, deadLetterTopic=letters)
    write.save()
    written = topics.get(topic, isolation_level="read_committed")
    assert [(row["partition"], row["value"]) for row in written] == [(0, b"good"), (1, b"too")]
    found = {row["value"]: told(row) for row in topics.get(letters, headers=True)}
    assert sorted(found, key=lambda value: len(value or b"")) == [
        None, b"named", b"nowhere", b"x" * 2_500,
    ]  # fmt: skip
    assert found[b"nowhere"] == {
        "exception": "millstream.errors.InvalidPartitions",
        "message": f"{topic} has partitions 0 to 1, not 2",
        "topic": topic,
        "partition": "2",
    }
    assert found[b"named"]["topic"] == "no topic"
    assert found[b"x" * 2_500]["exception"] == "millstream.errors.MessageTooLarge"
    assert "(2000)" in found[b"x" * 2_500]["message"]
    assert found[None]["value.bytes"] == "9000"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([(0, "x" * 2_500)], "max.message.bytes of the topic"),
        ([(7, "nowhere")], "has partitions 0 to 0, not 7"),
    ],
)
def test_without_a_topic_for_them_the_write_fails(
    spark: Any, topics: Any, rows: list[Any], sentence: str
) -> None:
    topic = topics.new(max_message_bytes="2000")
    write = sink(spark.createDataFrame(rows, "partition INT, value STRING"), topics, topic=topic)
    with pytest.raises(Exception, match=sentence):
        write.save()


class Attempt:
    """Two attempts at one Spark partition of an exactly-once sink, the first of which ends before its commit."""

    def __init__(self, topics: Any) -> None:
        self.topic, self.letters = topics.new(max_message_bytes="2000"), topics.new("letters")
        kafka = for_writing({"bootstrap.servers": topics.bootstrap_servers})
        self.options = SinkOptions(
            kafka=kafka,
            topic=self.topic,
            delivery_guarantee=DeliveryGuarantee.EXACTLY_ONCE,
            routing=Routing(dead_letter_topic=self.letters),
        )
        self.link = Connections(kafka)

    def write(self, batches: Iterator[pa.RecordBatch]) -> int:
        write = BatchWrite(
            f"sink-{self.topic}", 0, BatchMark("query", 0, "run", "w"), is_alone=True
        )
        return write_exactly_once(self.link, write, self.options, batches)[0]


def test_dead_letters_share_the_fate_of_their_transaction(topics: Any) -> None:
    attempt = Attempt(topics)
    batch = pa.RecordBatch.from_pydict({"value": ["good", "x" * 2_500]})

    def interrupted() -> Iterator[pa.RecordBatch]:
        yield batch
        raise MillstreamError("the task ends here")

    try:
        with pytest.raises(MillstreamError, match="the task ends here"):
            attempt.write(interrupted())
        assert attempt.write(iter([batch])) == 2
        assert attempt.write(iter([batch])) == 2  # repeated: it is there
    finally:
        attempt.link.close()
    for topic, value in ((attempt.topic, b"good"), (attempt.letters, b"x" * 2_500)):
        committed = topics.get(topic, isolation_level="read_committed")
        assert [row["value"] for row in committed] == [value]


def test_functions_choose_topics_and_partitions(spark: Any, topics: Any) -> None:
    stem = topics.new()
    for letter in "ab":
        topics.create(f"{stem}-{letter}", 3)
    rows = spark.createDataFrame(
        [(stem, value) for value in ("a1", "b1", ".none", "a2")], "topic STRING, value STRING"
    )
    options = {
        "topicSelector": f"{FUNCTIONS}:topic_of",
        "partitioner": f"{FUNCTIONS}:last_partition",
        "nullTopic": "skip",
    }
    sink(rows, topics, **options).save()
    of_a, of_b = topics.get(f"{stem}-a"), topics.get(f"{stem}-b")
    assert sorted((row["partition"], row["value"]) for row in of_a) == [(2, b"a1"), (2, b"a2")]
    assert [(row["partition"], row["value"]) for row in of_b] == [(2, b"b1")]
    with pytest.raises(Exception, match=r"a row has no topic: .* or topicSelector gave None"):
        sink(rows, topics, **options | {"nullTopic": "fail"}).save()


def test_round_robin_fills_partitions_alike(spark: Any, topics: Any) -> None:
    topic = topics.new(partitions=3)
    rows = spark.range(9).selectExpr("'same' AS key", "CAST(id AS string) AS value").coalesce(1)
    sink(rows, topics, topic=topic, partitioner="round-robin").save()
    partitions = [row["partition"] for row in topics.get(topic)]
    assert partitions == [0, 0, 0, 1, 1, 1, 2, 2, 2]
