"""Time that passes without records on Spark: punctuations, and the wait for topics that have none."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.spark import RunnerOptions, SparkStreams
from millstream.streams import Retry, StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.processor import ProcessorContext, PunctuationType, Record
from millstream.streams.serdes import string
from millstream.streams.topology import Topology
from tests.patience import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1000)]


class Ticks:
    """Forwards the number of its calls five times, as the wall clock goes on."""

    def init(self, context: ProcessorContext) -> None:
        self.context, self.calls = context, 0
        self.schedule = context.schedule(
            timedelta(milliseconds=50), PunctuationType.WALL_CLOCK_TIME, self.tick
        )

    def tick(self, time_ms: int) -> None:
        self.calls += 1
        self.context.forward(Record("tick", str(self.calls), time_ms))
        if self.calls == 5:
            self.schedule.cancel()

    def process(self, record: Record[str, str]) -> None:
        """Forwards nothing."""


def ticking(source: str, out: str, answers: str, attempts: Path) -> Topology:
    """Ticks go to `out`, what is asked again and again until the third attempt to `answers`."""

    def third_time(value: str) -> str:
        with attempts.open("a") as file:
            file.write("x")
        if len(attempts.read_text()) < 3:
            raise ConnectionError("away")
        return value.upper()

    builder = StreamsBuilder()
    stream = builder.stream(source, key=string(), value=string())
    stream.process(Ticks).to(out, key=string(), value=string())
    retry = Retry("retries", delay_initial=timedelta(milliseconds=50), key=string(), value=string())
    stream.map_values(third_time, retry=retry).to(answers, value=string())
    return builder.build()


def merged(left: str, right: str, out: str) -> Topology:
    builder = StreamsBuilder()
    streams = [builder.stream(each, key=string(), value=string()) for each in (left, right)]
    streams[0].merge(streams[1]).to(out, key=string(), value=string())
    return builder.build()


def application(
    spark: Any, topics: Any, topology: Topology, directory: Path, **config: Any
) -> SparkStreams:
    options = RunnerOptions(bootstrap_servers=topics.bootstrap_servers, directory=str(directory))
    name = f"time-{directory.name}"
    return SparkStreams(topology, StreamsConfig(application_id=name, **config), spark, options)


def test_punctuations_and_retries_come_in_their_time_without_records(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source, out, answers = topics.new("in"), topics.new("out"), topics.new("answers")
    topology = ticking(source, out, answers, tmp_path / "attempts")
    topics.put(source, [{"key": b"k", "value": word} for word in (b"first", b"second")])
    with application(spark, topics, topology, tmp_path) as running:
        running.start()
        wait_until(lambda: len(topics.get(out)) >= 5 and len(topics.get(answers)) >= 2)
        assert running.await_termination(0.5) is False
    assert [record["value"] for record in topics.get(answers)] == [b"FIRST", b"SECOND"]
    found = topics.get(out)
    assert [record["value"] for record in found] == [b"1", b"2", b"3", b"4", b"5"]
    times = [record["timestamp"] for record in found]
    assert times == sorted(set(times)), "each at a time of its own"


def test_a_task_waits_for_the_time_of_an_empty_topic(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    left, right, out = topics.new("left"), topics.new("right"), topics.new("out")

    def put(topic: str, *times: int) -> None:
        topics.put(topic, [{"value": b"%d" % time, "timestamp_ms": time} for time in times])

    def results() -> list[bytes]:
        return [record["value"] for record in topics.get(out)]

    put(left, 1, 3, 5)
    with application(
        spark, topics, merged(left, right, out), tmp_path, max_task_idle_ms=3_600_000
    ) as waiting:
        waiting.start()
        wait_until(lambda: 0 in waiting.last_progress)
        put(right, 2, 4)
        wait_until(lambda: len(results()) >= 4)
        assert results() == [b"1", b"2", b"3", b"4"], "5 waits for what comes after 4"
    with application(
        spark, topics, merged(left, right, out), tmp_path, max_task_idle_ms=200
    ) as patient:
        patient.run_available()
    assert results() == [b"1", b"2", b"3", b"4", b"5"]
