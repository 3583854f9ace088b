"""The calls that Spark makes of the source in the life of a query, and what stands in the checkpoint between them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadLimit

from millstream.spark.data_source import MillstreamSource
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.rows.decoding import decoding_of
from millstream.spark.source.stream_reader import StreamReader
from tests.patience import wait_until
from tests.support.late_workers import started

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


class Query:
    """A query from one topic to nowhere, whose source writes down each call with the process that it is made in."""

    def __init__(self, spark: Any, topics: Any, directory: Path) -> None:
        self.spark, self.topics, self.directory = spark, topics, directory
        self.topic = topics.new()
        self.calls_file = directory / "calls"
        self.calls_file.touch()
        spark.dataSource.register(source_that_tells(str(self.calls_file)))

    def start(self, checkpoint: Path, **trigger: bool) -> Any:
        self.calls_file.write_text("")
        given = {"bootstrap.servers": self.topics.bootstrap_servers, "subscribe": self.topic}
        rows = self.spark.readStream.format("telling").options(**given).load()
        writer = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        return (writer.trigger(**trigger) if trigger else writer).start()

    def run(self, checkpoint: Path) -> None:
        started(lambda: self.start(checkpoint, availableNow=True).awaitTermination(200))

    def put(self, count: int) -> None:
        self.topics.put(self.topic, [{"value": b"x"}] * count)

    def calls(self) -> list[str]:
        """Each once where it is repeated."""
        calls = [line.split()[0] for line in self.calls_file.read_text().splitlines()]
        return [each for n, each in enumerate(calls) if n == 0 or calls[n - 1] != each]

    def planners(self) -> set[int]:
        return {int(line.split()[1]) for line in self.calls_file.read_text().splitlines()}


def source_that_tells(path: str) -> type[MillstreamSource]:
    """Made here, so that it travels by value: Spark's processes do not know this module."""

    def tell(name: str) -> None:
        with open(path, "a") as calls:
            calls.write(f"{name} {os.getpid()}\n")

    class TellingReader(StreamReader):
        def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
            tell("initialOffset")
            return super().initialOffset()

        def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
            tell("latestOffset")
            return super().latestOffset(start, limit)

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Any:
            tell("partitions")
            return super().partitions(start, end)

    class TellingSource(MillstreamSource):
        @classmethod
        def name(cls) -> str:
            return "telling"

        def streamReader(self, schema: Any) -> StreamReader:  # noqa: N802 - Spark's name
            options = parse_source_options(self.options)
            return TellingReader(options, decoding_of(options, schema))

    return TellingSource


def document(checkpoint: Path, batch: int) -> Mapping[str, Any]:
    lines = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    found: dict[str, Any] = json.loads(lines[-1])
    return found


@pytest.fixture
def query(spark: Any, topics: Any, tmp_path: Path) -> Query:
    return Query(spark, topics, tmp_path)


def test_a_query_is_planned_in_one_order_and_knows_where_it_began_before_it_reads(
    query: Query, tmp_path: Path
) -> None:
    """The first offsets are asked for before anything else, and stand in the log of the first micro-batch: numbers, no word for them."""
    checkpoint = tmp_path / "checkpoint"
    query.put(3)
    running = started(lambda: query.start(checkpoint))
    try:
        wait_until(lambda: "latestOffset" in query.calls())
        query.put(2)
        running.processAllAvailable()
    finally:
        running.stop()
    calls = query.calls()
    assert calls[:2] == ["initialOffset", "latestOffset"]
    assert calls.index("partitions") > calls.index("latestOffset")
    first = document(checkpoint, 0)
    assert first["begin"] == {query.topic: {"0": 3}}
    assert first["offsets"] == {query.topic: {"0": 5}}
    assert (checkpoint / "commits" / "0").exists()

    query.put(1)
    query.run(checkpoint)
    assert query.calls()[:2] == ["latestOffset", "partitions"], "it goes on from its checkpoint"
    assert document(checkpoint, 1)["offsets"] == {query.topic: {"0": 6}}


def test_a_new_checkpoint_has_no_micro_batch_of_another_to_repeat(
    query: Query, tmp_path: Path
) -> None:
    first = tmp_path / "first"
    query.put(1)
    query.run(first)
    query.put(4)
    query.run(first)
    assert document(first, 1)["offsets"] == {query.topic: {"0": 5}}
    (first / "commits" / "1").unlink()
    query.run(second := tmp_path / "second")
    assert query.calls()[:2] == ["initialOffset", "latestOffset"]
    nothing = document(second, 0)
    assert nothing["begin"] == nothing["offsets"] == {query.topic: {"0": 5}}
    query.run(first)
    assert query.calls()[0] == "partitions", "the one whose micro-batch it is repeats it"
    assert (first / "commits" / "1").exists()


def test_the_process_that_plans_ends_with_its_query(query: Query, tmp_path: Path) -> None:
    running = started(lambda: query.start(tmp_path / "checkpoint"))
    wait_until(lambda: "latestOffset" in query.calls())
    (planner,) = query.planners()
    running.stop()
    wait_until(lambda: not Path(f"/proc/{planner}").exists())
