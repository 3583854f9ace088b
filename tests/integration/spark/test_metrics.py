"""The metrics of tasks and of processors of an application on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.spark import RunnerOptions, SparkStreams
from millstream.streams import StreamsBuilder
from millstream.streams.config import StreamsConfig
from millstream.streams.metrics import Statistic
from millstream.streams.processor import ProcessorContext, Record
from millstream.streams.serdes import string
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
