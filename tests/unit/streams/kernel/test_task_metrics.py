"""Metrics of tasks, nodes and processors, with Kafka Streams' names (inventory K1, J1)."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from millstream.streams import (
    ContextualProcessor,
    EmitStrategy,
    Materialized,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
)
from millstream.streams.metrics import MetricName, RecordingLevel, Statistic, StreamsMetrics
from millstream.streams.serdes import string
from millstream.testing import TopologyTestDriver

CONFIG = StreamsConfig("app", string(), string(), metrics_recording_level=RecordingLevel.DEBUG)
MS = timedelta(milliseconds=1)


def by_name(metrics: dict[MetricName, float]) -> dict[tuple[str, str, str], float]:
    """(name, node, topic) → value."""
    found = {}
    for each, value in metrics.items():
        tags = dict(each.tags)
        found[each.name, tags.get("processor-node-id", ""), tags.get("topic", "")] = value
    return found


class Counting(ContextualProcessor):
    """Records every value it sees."""

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.seen = context.metrics.add_rate_total_sensor("mine", "it", "seen", {"k": "v"})
        self.spent = context.metrics.add_latency_rate_total_sensor("mine", "it", "spent")
        self.own = context.metrics.add_sensor("own")
        self.own.add("own-avg", "group", Statistic.AVG)
        context.schedule(10 * MS, PunctuationType.STREAM_TIME, lambda _time: None)

    def process(self, record: Record) -> None:
        self.seen.record()
        self.spent.record(5)
        self.own.record(3)
        self.context.forward(record)


def test_a_processor_adds_metrics_of_its_own() -> None:
    """Values as 4.3.1 gives them for five records at one wall-clock time."""
    builder = StreamsBuilder()
    builder.stream("in").process(Counting)
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        driver.input_topic("in").pipe_values("abcde")
        metrics = driver.metrics()
    tags = (("mine-id", "it"), ("task-id", "0_0"))
    with_k = (("k", "v"), *tags)
    assert metrics[MetricName("stream-mine-metrics", "seen-total", with_k)] == 5
    assert metrics[MetricName("stream-mine-metrics", "seen-rate", with_k)] == pytest.approx(5 / 30)
    assert metrics[MetricName("stream-mine-metrics", "spent-total", tags)] == 5
    assert metrics[MetricName("stream-mine-metrics", "spent-latency-avg", tags)] == 5
    assert metrics[MetricName("stream-mine-metrics", "spent-latency-max", tags)] == 5
    assert metrics[MetricName("group", "own-avg")] == 3


def test_tasks_nodes_and_topics_are_counted() -> None:
    builder = StreamsBuilder()
    builder.stream("in", name="src").process(Counting).filter(lambda key, _: bool(key)).to(
        "out", name="snk"
    )
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        records = driver.input_topic("in")
        for key, at in (("a", 1), ("a", 30), ("", 5)):
            records.pipe(key, "v", at=at)
        found = by_name(driver.metrics())
    assert found["process-total", "", ""] == 3
    assert found["process-total", "src", ""] == 3
    assert found["punctuate-total", "", ""] == 2
    assert found["records-consumed-total", "src", "in"] == 3
    assert found["records-produced-total", "snk", "out"] == 2
    assert found["record-lateness-max", "", ""] == 25
    assert found["record-lateness-avg", "", ""] == pytest.approx(25 / 3)
    assert found["dropped-records-total", "", ""] == 0
    assert found["active-buffer-count", "", ""] == 0


def test_a_task_that_fills_global_stores_counts_what_it_processes_and_drops() -> None:
    """As in 4.3.1, whose driver has no more of the task -1_-1, rates apart."""
    builder = StreamsBuilder()
    builder.global_table("in", name="gsrc", materialized=Materialized("rows"))
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        driver.input_topic("in").pipe_key_values([("a", "1"), (None, "2")])
        metrics = driver.metrics()
    found = {
        (name.name, *(value for tag, value in name.tags if tag != "task-id")): counted
        for name, counted in metrics.items()
        if ("task-id", "-1_-1") in name.tags
    }
    assert found == {
        ("process-total",): 2,
        ("dropped-records-total",): 1,
        ("process-total", "gsrc-source"): 2,
    }


def test_lateness_is_not_measured_unless_asked_for() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build(), StreamsConfig("app", string(), string())) as driver:
        assert not [each for each in driver.metrics() if each.name.startswith("record-lateness")]


def test_rows_that_suppress_gives_out_are_counted() -> None:
    builder = StreamsBuilder()
    builder.table("in").suppress(Suppressed.until_time_limit(5 * MS, name="sup")).to_stream().to(
        "out"
    )
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        driver.input_topic("in").pipe_key_values(
            [("a", "1"), ("a", "2"), ("b", "3")], start_ms=0, advance=10 * MS
        )
        # The second update of a takes the place of the first in the buffer; b is still there.
        assert by_name(driver.metrics())["suppression-emit-total", "sup", ""] == 1


def test_windows_that_are_emitted_when_they_close_are_counted() -> None:
    builder = StreamsBuilder()
    windowed = builder.stream("in").group_by_key().windowed_by(TimeWindows.tumbling(10 * MS))
    windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count(name="agg")
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        driver.input_topic("in").pipe_key_values(
            [("a", "1"), ("a", "2")], start_ms=0, advance=10 * MS
        )
        found = by_name(driver.metrics())
        assert found["window-aggregate-final-emit-total", "agg", ""] == 1


def test_rates_and_averages_look_back_two_windows_of_thirty_seconds() -> None:
    now = [0]
    metrics = StreamsMetrics(lambda: now[0], {})
    sensor = metrics.add_sensor("s")
    # count, total, rate, rate of sum, windowed sum, avg, max, min, value
    for statistic in Statistic:
        sensor.add(statistic, "g", statistic)

    def measured() -> list[float]:
        return [metrics.metrics()[MetricName("g", statistic)] for statistic in Statistic]

    sensor.record(2)
    now[0] = 40_000
    sensor.record(6)
    assert measured() == [2, 8, 2 / 40, 8 / 40, 8, 4, 6, 2, 6]
    now[0] = 70_000  # the first window has expired
    assert measured() == [2, 8, 1 / 30, 6 / 30, 6, 6, 6, 6, 6]
    now[0] = 200_000
    assert measured()[:5] == [2, 8, 0, 0, 0]
    assert math.isnan(measured()[5])


def test_a_removed_sensor_has_no_metrics() -> None:
    metrics = StreamsMetrics(lambda: 0, {})
    sensor = metrics.add_rate_total_sensor("scope", "entity", "call")
    assert metrics.add_rate_total_sensor("scope", "entity", "call") is sensor
    metrics.remove_sensor(sensor)
    assert not metrics.metrics()
