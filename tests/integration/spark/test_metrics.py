"""The metrics of tasks and of processors of an application on Spark."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from millstream.cli.main import main
from millstream.spark import RunnerOptions, SparkStreams
from millstream.spark.pipeline.micro_batches import Progress
from millstream.streams import DropReason, StreamsBuilder, TimeWindows
from millstream.streams.config import StreamsConfig
from millstream.streams.metrics import Statistic
from millstream.streams.processor import ProcessorContext, Record
from millstream.streams.serdes import long, string, time_windowed
from millstream.streams.topology import Topology

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1000)]


class Measured:
    """Records the length of values."""

    def init(self, context: ProcessorContext) -> None:
        self.lengths = context.metrics.add_sensor("lengths")
        self.lengths.add("length-max", "words", Statistic.MAX)
        self.lengths.add("length-total", "words", Statistic.TOTAL)

    def process(self, record: Record[str, str]) -> None:
        self.lengths.record(len(record.value))


def measuring(source: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(source, key=string(), value=string()).process(Measured)
    return builder.build()


def test_metrics_of_all_tasks_are_there_by_their_names(
    spark: Any, topics: Any, tmp_path: Path
) -> None:
    source = topics.new("words", 2)
    words = [(0, b"a"), (0, b"ccc"), (1, b"bb")]
    topics.put(source, [{"value": word, "partition": number} for number, word in words])
    options = RunnerOptions(
        bootstrap_servers=topics.bootstrap_servers, directory=str(tmp_path / "application")
    )
    config = StreamsConfig(application_id=f"metrics-{tmp_path.name}")
    with SparkStreams(measuring(source), config, spark, options) as application:
        assert application.metrics() == {}
        application.run_available()
        topics.put(source, [{"value": b"dddd", "partition": 1}])
        application.run_available()
        metrics = application.metrics()
    found = {
        (each.name, dict(each.tags)["task-id"]): value
        for each, value in metrics.items()
        if each.group in {"words", "stream-task-metrics"}
    }
    assert (found["length-total", "0_0"], found["length-total", "0_1"]) == (4.0, 6.0)
    assert (found["length-max", "0_0"], found["length-max", "0_1"]) == (3.0, 4.0)
    assert (found["process-total", "0_0"], found["process-total", "0_1"]) == (2.0, 2.0)


def windowed(source: str, sink: str) -> Topology:
    builder = StreamsBuilder()
    windows = TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(seconds=2))
    stream = builder.stream(source, key=string(), value=string())
    counts = (
        stream.group_by_key(key=string(), value=string()).windowed_by(windows).count(name="agg")
    )
    counts.to_stream().to(sink, key=time_windowed(string(), 10_000), value=long())
    return builder.build()


def test_what_is_left_out_is_told_by_the_log_the_progress_and_the_committed_offsets(
    spark: Any, topics: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, sink = topics.new("late", 1), topics.new("counts", 1)
    rows = [(b"k", 100_000), (b"k", 85_000), (b"k", 1_000), (None, 100_000)]
    topics.put(source, [{"key": key, "value": b"v", "timestamp_ms": at} for key, at in rows])
    options = RunnerOptions(
        bootstrap_servers=topics.bootstrap_servers, directory=str(tmp_path / "application")
    )
    config = StreamsConfig(application_id=f"dropped-{tmp_path.name}")
    observed: list[Progress] = []
    with SparkStreams(windowed(source, sink), config, spark, options) as application:
        application.run_available(observed.append)
        metrics = application.metrics()
    assert sum(each.dropped_records for each in observed) == 3
    told = {each.reason: each.records for progress in observed for each in progress.dropped}
    assert told == {DropReason.LATE_FOR_WINDOW: 2, DropReason.NULL_KEY: 1}
    lines = [each.getMessage() for each in caplog.records if "has left out" in each.getMessage()]
    assert len(lines) == 2
    assert any(
        f"has left out 2 records of topic {source}. The first: {source}-0, offset 1, timestamp 85000, stream time 100000"
        in line
        for line in lines
    )
    found = {each.name: value for each, value in metrics.items()}
    assert found["dropped-records-total"] == 3
    assert {"dropped-records-rate", "bytes-consumed-total", "record-e2e-latency-avg"} <= set(found)
    runner = CliRunner(env={"MILLSTREAM_BOOTSTRAP_SERVERS": topics.bootstrap_servers})
    arguments = ["pipeline", "status", config.application_id, "--output", "json"]
    (row,) = json.loads(runner.invoke(main, arguments).stdout)
    assert (row["committed"], row["dropped"]) == (4, 3)
