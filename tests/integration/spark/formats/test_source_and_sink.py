"""`format("millstream")` through Spark itself: streams with checkpoints, batches, the sink, and mistakes of users."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from tests.support.late_workers import started

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


class Copy:
    """A stream from a topic into files, with a checkpoint that outlives it."""

    def __init__(self, spark: Any, topics: Any, topic: str, directory: Path) -> None:
        self.spark, self.topics, self.topic, self.directory = spark, topics, topic, directory

    def start(self, *, available_now: bool = True, **options: str) -> Any:
        given = {"startingOffsets": "earliest", "bootstrap.servers": self.topics.bootstrap_servers}
        return (
            self.spark.readStream.format("millstream")
            .options(subscribe=self.topic, **(given | options))
            .load()
            .writeStream.format("parquet")
            .option("path", str(self.directory / "out"))
            .option("checkpointLocation", str(self.directory / "checkpoint"))
            .trigger(
                **({"availableNow": True} if available_now else {"processingTime": "0 seconds"})
            )
            .start()
        )

    def run(self, **options: str) -> list[int]:
        """Records of each micro-batch."""

        def run() -> list[int]:
            query = self.start(**options)
            assert query.awaitTermination(400)
            return [p.numInputRows for p in query.recentProgress if p.numInputRows]

        return started(run)

    def rows(self) -> list[dict[str, Any]]:
        files = sorted((self.directory / "out").glob("*.parquet"))
        return sorted(ds.dataset(files).to_table().to_pylist(), key=lambda row: row["offset"])


def test_updates_of_an_aggregate_go_out_through_batches(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source, out = topics.new(), topics.new()
    topics.put(source, [{"value": value} for value in (b"a", b"b", b"a")])
    broker = {"bootstrap.servers": topics.bootstrap_servers}
    counts = (
        spark.readStream.format("millstream")
        .options(subscribe=source, startingOffsets="earliest", **broker)
        .load()
        .groupBy("value")
        .count()
        .selectExpr("value AS key", "CAST(count AS STRING) AS value")
    )

    def write(rows: Any, _batch: int) -> None:
        rows.write.format("millstream").options(topic=out, **broker).mode("append").save()

    def run() -> None:
        query = (
            counts.writeStream.outputMode("update")
            .foreachBatch(write)
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(400)

    started(run)
    assert sorted((r["key"], r["value"]) for r in topics.get(out)) == [(b"a", b"2"), (b"b", b"1")]


@pytest.fixture
def copy(spark: Any, topics: Any, tmp_path: Path) -> Copy:
    return Copy(spark, topics, topics.new(), tmp_path)


def test_a_stream_brings_every_column_and_goes_on_from_its_checkpoint(
    copy: Copy, tmp_path: Path
) -> None:
    records = [
        {"key": b"k", "value": b"v", "timestamp_ms": 1_000, "headers": [("h", b"1"), ("h", None)]},
        {"key": None, "value": b"no key", "timestamp_ms": 2_000},
        {"key": b"k", "value": None, "timestamp_ms": 3_000},
    ]
    copy.topics.put(copy.topic, records)
    assert copy.run(includeHeaders="true") == [3]
    first, second, third = copy.rows()
    assert (first["key"], first["value"], first["topic"]) == (b"k", b"v", copy.topic)
    assert (first["partition"], first["offset"], first["timestamp"].timestamp()) == (0, 0, 1.0)
    assert first["headers"] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]
    assert (second["key"], second["headers"]) == (None, [])
    assert third["value"] is None
    offsets = (tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1]
    assert json.loads(offsets)["offsets"] == {copy.topic: {"0": 3}}

    assert copy.run(includeHeaders="true") == []
    copy.topics.put(copy.topic, [{"value": b"%d" % i} for i in range(35)])
    assert copy.run(includeHeaders="true", maxRecordsPerTrigger="10") == [10, 10, 10, 5]
    assert [row["offset"] for row in copy.rows()] == list(range(38))


def test_latest_reads_what_comes_after_the_start(copy: Copy) -> None:
    copy.topics.put(copy.topic, [{"value": b"before"}])

    def start() -> Any:
        query = copy.start(available_now=False, startingOffsets="latest", pollTimeoutMs="200")
        query.processAllAvailable()  # the start has been decided
        return query

    query = started(start)
    try:
        copy.topics.put(copy.topic, [{"value": b"after"}])
        query.processAllAvailable()
    finally:
        query.stop()
    assert [row["value"] for row in copy.rows()] == [b"after"]


def test_an_unknown_option_is_named_to_the_user(spark: Any) -> None:
    with pytest.raises(Exception, match="unknown option 'subscrbe' of format millstream"):
        spark.readStream.format("millstream").option("subscrbe", "t").load()


def test_a_table_goes_into_a_topic_and_comes_back(spark: Any, topics: Any) -> None:
    topic = topics.new(partitions=3)
    rows = spark.range(50).selectExpr(
        "CAST(id % 3 AS int) AS partition",
        "CAST(id AS string) AS key",
        "CAST(id * 2 AS string) AS value",
        "timestamp_seconds(id) AS timestamp",
        "array(struct('n' AS key, CAST(CAST(id AS string) AS binary) AS value)) AS headers",
    )
    sink = rows.write.format("millstream").option("bootstrap.servers", topics.bootstrap_servers)
    sink.option("topic", topic).mode("append").save()
    back = (
        spark.read.format("millstream")
        .options(**{"bootstrap.servers": topics.bootstrap_servers}, subscribe=topic)
        .option("includeHeaders", "true")
        .load()
        .toArrow()
        .to_pylist()
    )
    assert {
        (int(r["key"]), int(r["value"]), r["partition"], r["timestamp"].timestamp()) for r in back
    } == {(i, 2 * i, i % 3, float(i)) for i in range(50)}
    assert all(r["headers"] == [{"key": "n", "value": r["key"]}] for r in back)
    assert len(back) == 50


def test_a_batch_read_ends_where_it_is_told(spark: Any, topics: Any) -> None:
    topic = topics.new()
    topics.put(topic, [{"value": b"%d" % i} for i in range(9)])
    source = spark.read.format("millstream").options(
        **{"bootstrap.servers": topics.bootstrap_servers}, subscribe=topic
    )
    part = source.option("startingOffsets", f'{{"{topic}": {{"0": 2}}}}')
    part = part.option("endingOffsets", f'{{"{topic}": {{"0": 5}}}}').load()
    assert [row["value"] for row in part.toArrow().to_pylist()] == [b"2", b"3", b"4"]


def test_a_stream_goes_from_topic_to_the_topics_that_its_rows_say(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source, even, odd = topics.new(), topics.new("even"), topics.new("odd")
    topics.put(source, [{"value": b"%d" % i} for i in range(10)])
    copied = (
        spark.readStream.format("millstream")
        .options(**{"bootstrap.servers": topics.bootstrap_servers}, subscribe=source)
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("value", f"IF(offset % 2 = 0, '{even}', '{odd}') AS topic")
        .writeStream.format("millstream")
        .option("bootstrap.servers", topics.bootstrap_servers)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
    )
    assert started(lambda: copied.start().awaitTermination(400))
    assert [r["value"] for r in topics.get(even)] == [b"0", b"2", b"4", b"6", b"8"]
    assert [r["value"] for r in topics.get(odd)] == [b"1", b"3", b"5", b"7", b"9"]


@pytest.mark.parametrize("guarantee", ["none", "at-least-once", "exactly-once"])
def test_rows_without_a_topic_are_left_out_where_that_is_wanted(
    spark: Any, topics: Any, guarantee: str
) -> None:
    topic = topics.new()
    rows = spark.range(10).selectExpr(
        "CAST(id AS string) AS value", f"IF(id % 2 = 0, '{topic}', NULL) AS topic"
    )
    options = {"bootstrap.servers": topics.bootstrap_servers, "deliveryGuarantee": guarantee}
    sink = rows.write.format("millstream").options(**options).mode("append")
    with pytest.raises(Exception, match="a row has no topic"):
        sink.save()
    sink.option("nullTopic", "skip").save()
    written = topics.get(topic, isolation_level="read_committed")
    assert {row["value"] for row in written} == {b"0", b"2", b"4", b"6", b"8"}


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ("id AS value", {"topic": "t"}, "column 'value' must be binary or string, not bigint"),
        ("id", {"topic": "t"}, "column 'id' is none of a record's"),
        ("'x' AS value", {}, "rows need a topic"),
        ("'x' AS value", {"topik": "t"}, "unknown option 'topik'"),
    ],
)
def test_mistakes_in_a_sink_are_named_to_the_user(
    spark: Any, columns: str, options: dict[str, str], sentence: str
) -> None:
    write = spark.range(1).selectExpr(columns).write.format("millstream").mode("append")
    with pytest.raises(Exception, match=sentence):
        write.options(**{"bootstrap.servers": "127.0.0.1:1"}, **options).save()
