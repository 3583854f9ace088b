"""Opaque replay against a broker: partitions without a leader and records that are gone are left out, the others are read, and nothing twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from millstream.clients import RangeReader
from millstream.errors import ConfigError, LeaderNotAvailable
from millstream.model import TopicPartition
from millstream.spark.source.opaque.live_replay import DriverGone
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.stream_reader import StreamReader
from tests.support.late_workers import started
from tests.support.patched_library import patch_library

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

Document = dict[str, Any]  # the checkpoint's JSON
Rows = list[tuple[int, int]]
"""Partition and offset."""


class Query:
    """Starts of a query of one topic, and the partitions that have no leader: the broker is alone, so its answers are changed on their way."""

    def __init__(self, topics: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.topics = topics
        self.topic = topics.new(partitions=2)
        self.replay_topic = topics.new(cleanup_policy="compact")
        self.leaderless: set[int] = set()
        self._open: list[StreamReader] = []
        asked = RangeReader.offset_results

        async def offset_results(reader: RangeReader, *args: Any) -> dict[int, Any]:
            found = await asked(reader, *args)
            return found | {each: LeaderNotAvailable() for each in self.leaderless & found.keys()}

        monkeypatch.setattr(RangeReader, "offset_results", offset_results)

    def put(self, partition: int, records: int) -> None:
        self.topics.put(self.topic, [{"value": b"v", "partition": partition}] * records)

    def delete(self, partition: int, before: int) -> None:
        gone = {TopicPartition(self.topic, partition): before}
        self.topics.admin(lambda admin: admin.delete_records(gone))

    def options(self, **options: str) -> dict[str, str]:
        return {
            "bootstrap.servers": self.topics.bootstrap_servers,
            "subscribe": self.topic,
            "startingOffsets": "earliest",
            "pollTimeoutMs": "0",
            "replay": "opaque",
            "replayTopic": self.replay_topic,
        } | options

    def start(self, **options: str) -> StreamReader:
        self._open.append(StreamReader(parse_source_options(self.options(**options))))
        return self._open[-1]

    def close(self) -> None:
        for each in self._open:
            each.stop()


@pytest.fixture
def query(topics: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Query]:
    made = Query(topics, monkeypatch)
    yield made
    made.close()


def plan(source: StreamReader, start: Document) -> Document:
    return source.latestOffset(start, ReadAllAvailable())


def begun(query: Query, **options: str) -> tuple[StreamReader, Document, Document]:
    """A start of the query, and the begin and end of its first micro-batch, which is not read yet."""
    source = query.start(**options)
    start = source.initialOffset()
    return source, start, plan(source, start)


def rows(source: StreamReader, start: Document, end: Document) -> Rows:
    return [
        (row["partition"], row["offset"])
        for partition in source.partitions(start, end)
        for batch in source.read(partition)
        for row in batch.to_pylist()
    ]


def test_a_partition_without_a_leader_is_left_out_of_a_repeat_and_read_later(query: Query) -> None:
    query.put(0, 2)
    query.put(1, 2)
    _, start, end = begun(query)
    query.leaderless = {1}
    again = query.start()
    assert rows(again, start, end) == [(0, 0), (0, 1)]
    query.put(0, 1)
    second_end = plan(again, end)
    assert rows(again, end, second_end) == [(0, 2)]
    assert plan(again, second_end) == second_end
    query.leaderless = set()
    query.put(1, 1)
    later = query.start()
    third_end = plan(later, second_end)
    assert rows(later, second_end, third_end) == [(1, 0), (1, 1), (1, 2)]
    assert plan(later, third_end) == third_end


def test_what_is_owed_is_found_by_the_next_start(query: Query) -> None:
    query.put(0, 1)
    query.put(1, 1)
    first, start, end = begun(query)
    query.leaderless = {1}
    assert rows(first, start, end) == [(0, 0)]
    query.leaderless = set()
    later = query.start()
    assert rows(later, end, plan(later, end)) == [(1, 0)]


def test_a_partition_that_nobody_could_ask_at_first_begins_where_the_option_says(
    query: Query,
) -> None:
    query.put(0, 3)
    query.put(1, 3)
    query.leaderless = {1}
    begin = {query.topic: {"0": 1, "1": 2}}
    source = query.start(startingOffsets=json.dumps(begin))
    start = source.initialOffset()
    assert start["offsets"] == {query.topic: {"0": 1}}
    end = plan(source, start)
    assert rows(source, start, end) == [(0, 1), (0, 2)]
    query.leaderless = set()
    assert rows(source, end, plan(source, end)) == [(1, 2)]


@pytest.mark.parametrize(("policy", "left"), [("skip", [(1, 2)]), ("latest", [])])
def test_records_that_are_gone_are_a_loss_when_they_are_planned_again(
    query: Query, policy: str, left: Rows
) -> None:
    query.put(0, 1)
    query.put(1, 3)
    _, start, end = begun(query, failOnDataLoss=policy)
    query.delete(1, before=2)
    again = query.start(failOnDataLoss=policy)
    assert rows(again, start, end) == [(0, 0)]
    assert rows(again, end, plan(again, end)) == left


def test_a_topic_that_was_made_anew_is_left_out_and_then_a_loss(query: Query) -> None:
    query.put(0, 1)
    _, start, end = begun(query, failOnDataLoss="skip")
    query.topics.admin(lambda admin: admin.delete_topics([query.topic]))
    query.topics.create(query.topic, 2)
    query.put(0, 2)
    again = query.start(failOnDataLoss="skip")
    assert rows(again, start, end) == []
    assert rows(again, end, plan(again, end)) == [(0, 0), (0, 1)]


def test_a_checkpoint_is_read_with_the_replay_that_made_it(query: Query) -> None:
    query.put(0, 1)
    _, start, end = begun(query)
    options = query.options()
    del options["replay"], options["replayTopic"]
    transactional = StreamReader(parse_source_options(options))
    for ask in (lambda: transactional.partitions(start, end), lambda: plan(transactional, end)):
        with pytest.raises(ConfigError, match="made with replay=opaque"):
            ask()


def test_a_query_without_its_driver_writes_nothing(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    query.put(0, 1)
    source, start, end = begun(query)
    query.leaderless = {0}
    patch_library(monkeypatch, DriverGone.__module__, os, getppid=lambda: 1)
    with pytest.raises(DriverGone):
        source.partitions(start, end)


def test_a_stream_goes_on_without_what_is_gone(spark: Any, query: Query, tmp_path: Path) -> None:
    """A micro-batch fails, a part of it is deleted, and the query is started again."""
    query.put(0, 3)
    query.put(1, 3)
    given: list[Rows] = []

    def fail(_rows: Any, _batch: int) -> None:
        raise RuntimeError("the sink is down")

    def take(batch: Any, _batch: int) -> None:
        found = batch.select("partition", "offset").collect()
        given.append(sorted((row["partition"], row["offset"]) for row in found))

    def run(write: Any) -> None:
        options = query.options(failOnDataLoss="skip")
        stream = spark.readStream.format("millstream").options(**options).load().writeStream
        writing = stream.foreachBatch(write).option("checkpointLocation", str(tmp_path))
        writing.trigger(availableNow=True).start().awaitTermination(60)

    with pytest.raises(Exception, match="the sink is down"):
        started(lambda: run(fail))
    query.delete(1, before=2)
    run(take)
    assert given == [[(0, 0), (0, 1), (0, 2)], [(1, 2)]]
