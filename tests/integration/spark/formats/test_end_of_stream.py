"""The end of a stream that a function finds, against a broker, and through Spark."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from millstream.clients import ConsumerRecord
from millstream.model import TopicPartition
from millstream.spark.source.end_of_stream import EndOfStreamFailed
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.stream_reader import StreamReader
from millstream.streams.runtime.errors import DataLoss
from tests.integration.spark.formats.checkpoints import OffsetsOf

pytestmark = pytest.mark.spark


def is_end(record: ConsumerRecord) -> bool:
    return record.value == b"end"


def never_asked(record: ConsumerRecord) -> bool:
    raise AssertionError(f"{record} was looked at")


def reader(topics: Any, topic: str, function: str = "is_end", **options: str) -> StreamReader:
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    given |= {"endOfStream": f"{__name__}:{function}", "pollTimeoutMs": "0"}
    return StreamReader(parse_source_options(given | options))


def put(topics: Any, topic: str, partition: int, words: str) -> None:
    values = [word.encode() for word in words.split()]
    topics.put(topic, [{"value": value, "partition": partition} for value in values])


def read(source: StreamReader, start: Any, end: Any) -> list[str]:
    batches = [rows for each in source.partitions(start, end) for rows in source.read(each)]
    return sorted(value.decode() for rows in batches for value in rows.column("value").to_pylist())


def planned(source: StreamReader, start: Any, limit: Any = None) -> Any:
    return source.latestOffset(start, limit or ReadAllAvailable())


def test_a_partition_ends_before_the_record_and_the_others_go_on(topics: Any) -> None:
    topic = topics.new(partitions=2)
    put(topics, topic, 0, "a b end c")
    put(topics, topic, 1, "x")
    source, start = reader(topics, topic), OffsetsOf(topic, 0, 0)
    first = planned(source, start)
    assert first == OffsetsOf(topic, 2, 1)
    assert first["endOfStream"] == {"scope": "partition", "ends": {topic: {"0": 2}}}
    assert read(source, start, first) == ["a", "b", "x"]
    put(topics, topic, 0, "d")
    assert as_logged(planned(source, first)) == as_logged(first)
    put(topics, topic, 1, "y")
    second = planned(source, first)
    assert read(source, first, second) == ["y"]
    assert second["endOfStream"] == first["endOfStream"]
