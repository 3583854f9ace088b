"""Metrics of tasks, nodes and processors, with Kafka Streams' names (inventory K1, J1)."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path

import pytest

from millstream.streams import (
    ContextualProcessor,
    EmitStrategy,
    Materialized,
    ProcessorContext,
    PunctuationType,
    Record,
    StoreSupplier,
    StoreType,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    Topology,
)
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.metrics import MetricName, RecordingLevel, Statistic, StreamsMetrics
from millstream.streams.serdes import long, string, time_windowed
from millstream.streams.state import in_memory_stores, rocksdb_stores
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
    """As in 4.3.1, whose driver has no more of the task -1_-1 but the rate of what it processes."""
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
        ("dropped-records-rate",): pytest.approx(1 / 30),
        ("process-total", "gsrc-source"): 2,
    }


def two_counts_and_a_table() -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    windows = TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(seconds=2))
    counted = (
        stream.group_by_key()
        .windowed_by(windows)
        .count(materialized=Materialized("windows", string(), long()))
    )
    counted.suppress(Suppressed.until_window_closes()).to_stream().to(
        "out", key=time_windowed(string(), 10_000), value=long()
    )
    stream.group_by(lambda _key, value: value).count(materialized=Materialized("kv"))
    in_memory = StoreSupplier("mem", StoreType.IN_MEMORY)
    builder.table("tab", materialized=Materialized(supplier=in_memory))
    return builder.build()


def test_at_info_are_the_metrics_that_kafka_streams_has_there() -> None:
    """All that 4.3.1's driver has of tasks, nodes, topics and stores in memory at INFO, with its values, for the same records.

    Left out are those of open iterators, of which stores here keep none, and what only threads know.
    """
    config = StreamsConfig("app", string(), string())
    with TopologyTestDriver(two_counts_and_a_table(), config) as driver:
        records = driver.input_topic("in")
        for key, value, at in (("a", "b", 100_000), ("a", "b", 1_000), (None, "b", 100_000)):
            records.pipe(key, value, at=at)
        for value, at in (("b", 90_000), ("c", 200_000)):
            records.pipe("a", value, at=at)
        table = driver.input_topic("tab")
        for key, value in (("x", "y"), ("z", "y"), ("z", None), (None, "w")):
            table.pipe(key, value, at=5)
        metrics = driver.metrics()
    latencies = {
        "KSTREAM-SOURCE-0000000000": (-98_200, -200_000, -1_000),
        "KSTREAM-AGGREGATE-0000000007": (-98_200, -200_000, -1_000),
        "KSTREAM-SINK-0000000005": (-95_000, -100_000, -90_000),
        "KSTREAM-SOURCE-0000000011": (-5, -5, -5),
        "KTABLE-SOURCE-0000000012": (-5, -5, -5),
        "kv-repartition-sink": (-98_200, -200_000, -1_000),
        "kv-repartition-source": (-98_200, -200_000, -1_000),
    }
    topics = {
        ("consumed", "KSTREAM-SOURCE-0000000000", "in"): (5, 118),
        ("consumed", "KSTREAM-SOURCE-0000000011", "tab"): (4, 96),
        ("consumed", "kv-repartition-source", "app-kv-repartition"): (5, 200),
        ("produced", "KSTREAM-SINK-0000000005", "out"): (2, 80),
        ("produced", "kv-repartition-sink", "app-kv-repartition"): (5, 200),
    }
    task = ("task-id", "0_0")
    expected = {
        MetricName("stream-task-metrics", "dropped-records-total", (task,)): 3,
        MetricName("stream-task-metrics", "dropped-records-rate", (task,)): pytest.approx(0.1),
        MetricName("stream-state-metrics", "num-keys", (("in-memory-state-id", "mem"), task)): 1,
    }
    for node, values in latencies.items():
        tags = (("processor-node-id", node), task)
        for ending, value in zip(("avg", "min", "max"), values, strict=True):
            name = f"record-e2e-latency-{ending}"
            expected[MetricName("stream-processor-node-metrics", name, tags)] = value
    for (verb, node, topic), values in topics.items():
        tags = (("processor-node-id", node), task, ("topic", topic))
        for what, value in zip(("records", "bytes"), values, strict=True):
            name = f"{what}-{verb}-total"
            expected[MetricName("stream-topic-metrics", name, tags)] = value
    more = {
        "process-total", "punctuate-total", "enforced-processing-total", "restore-total",
        "active-buffer-count", "suppression-emit-total",
    }  # fmt: skip
    assert {name: value for name, value in metrics.items() if name.name not in more} == expected


def test_a_topic_that_nothing_was_written_to_yet_has_its_metrics() -> None:
    builder = StreamsBuilder()
    builder.stream("in", name="src").to("out", name="snk")
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        found = by_name(driver.metrics())
    for verb, node, topic in (("consumed", "src", "in"), ("produced", "snk", "out")):
        assert found[f"records-{verb}-total", node, topic] == 0
        assert found[f"bytes-{verb}-total", node, topic] == 0
    assert math.isnan(found["record-e2e-latency-avg", "snk", ""])


def test_the_age_of_records_in_long_batches_is_that_of_some_of_them() -> None:
    builder = StreamsBuilder()
    builder.stream("in", name="src").to("out", name="snk")
    config = StreamsConfig("app", string(), string())
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    rows = 6_400
    task.add("in", RawBatch([b"k"] * rows, [b"v"] * rows, list(range(rows)), range(rows)))
    task.process(10_000)
    found = by_name(task.metrics.values())
    for node in ("src", "snk"):
        assert found["record-e2e-latency-max", node, ""] == 10_000
        assert found["record-e2e-latency-min", node, ""] == 10_000 - 6_399
        # Of every 800th record, and of the last.
        times = [0, 800, 1600, 2400, 3200, 4000, 4800, 5600, 6399]
        assert found["record-e2e-latency-avg", node, ""] == 10_000 - sum(times) / 9
    assert found["bytes-consumed-total", "src", "in"] == rows * (8 + 8 + 4 + 2 + 2)


def test_a_database_tells_its_properties_for_all_stores_of_the_task(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count(materialized=Materialized("counts"))
    config = StreamsConfig("app", string(), string())
    task = StreamTask(builder.build(), 0, 0, rocksdb_stores(tmp_path), config)
    task.add("in", RawBatch([b"a", b"b"], [b"v"] * 2, [1, 2], range(2)))
    task.process(1_000)
    tags = (("rocksdb-state-id", "all"), ("task-id", "0_0"))

    def rows() -> float:
        name = MetricName("stream-state-metrics", "num-entries-active-mem-table", tags)
        return task.metrics.values()[name]

    before = rows()
    task.prepare_commit()
    task.commit()
    assert rows() == before, "asked for less than ten seconds ago"
    task.process(11_000)
    assert rows() == before + 3, "two counts, and the metadata of their store"
    assert len([each for each in task.metrics.values() if each.tags == tags]) == 22
    task.close()


def test_lateness_is_not_measured_unless_asked_for() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build(), StreamsConfig("app", string(), string())) as driver:
        assert not [each for each in driver.metrics() if each.name.startswith("record-lateness")]


def test_nodes_have_rates_at_debug_as_kafka_streams_has_them() -> None:
    """The values of 4.3.1 for the same records: 4 of the source, 2 rows of the suppression and 1 of closed windows in 30 s."""
    builder = StreamsBuilder()
    stream = builder.stream("in", name="src")
    windows = TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(seconds=2))
    counted = (
        stream.group_by_key()
        .windowed_by(windows)
        .count(materialized=Materialized("windows", string(), long()))
    )
    counted.suppress(Suppressed.until_window_closes(name="sup"))
    final = stream.group_by_key().windowed_by(windows)
    final.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count(name="agg")
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        before = by_name(driver.metrics())
        for at in (1_000, 1_000, 12_000, 60_000):
            driver.input_topic("in").pipe("a", "b", at=at)
        found = by_name(driver.metrics())
        driver.advance_wall_clock(timedelta(seconds=100))
        later = by_name(driver.metrics())
    rates = [
        ("process-rate", "src", ""),
        ("suppression-emit-rate", "sup", ""),
        ("window-aggregate-final-emit-rate", "agg", ""),
        ("enforced-processing-rate", "", ""),
    ]
    assert [before[each] for each in rates] == [0, 0, 0, 0]
    assert [found[each] for each in rates] == pytest.approx([4 / 30, 2 / 30, 1 / 30, 0])
    assert [later[each] for each in rates] == [0, 0, 0, 0]
    totals = [before[name.replace("rate", "total"), *of] for name, *of in rates]
    assert totals == [0, 0, 0, 0]


def test_nodes_have_no_rates_at_info() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build(), StreamsConfig("app", string(), string())) as driver:
        driver.input_topic("in").pipe("a", "b")
        rates = {each.name for each in driver.metrics() if each.name.endswith("-rate")}
    assert rates == {"dropped-records-rate"}


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
