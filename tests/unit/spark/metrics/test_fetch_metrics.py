"""Latencies of fetches as a worker counts them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark.source.fetch_metrics import FetchMetrics, FetchMetricsOptions
from millstream.spark.source.options import parse_source_options

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def test_latencies_are_counted_by_partition_and_anew_after_each_interval() -> None:
    metrics = FetchMetrics(1_000)
    metrics.add(FIRST, 0.010, 100)
    metrics.add(FIRST, 0.002, 50)
    metrics.add(SECOND, 0.001, 7)
    assert metrics.taken(60_999, 60_000) is None
    assert metrics.taken(61_000, 60_000) == {
        "fromMs": 1_000,
        "toMs": 61_000,
        "topics": {
            "t": {
                "0": {
                    "fetchAPILatencyMax": 10.0,
                    "fetchAPILatencyMean": 6.0,
                    "fetchAPICallCount": 2,
                    "fetchAPIMessageCount": 150,
                },
                "1": {
                    "fetchAPILatencyMax": 1.0,
                    "fetchAPILatencyMean": 1.0,
                    "fetchAPICallCount": 1,
                    "fetchAPIMessageCount": 7,
                },
            }
        },
    }
    assert metrics.taken(500_000, 60_000) is None  # nothing was fetched since


def test_each_batch_is_counted_and_passed_on() -> None:
    batches = [pa.record_batch({"n": [1, 2, 3]}), pa.record_batch({"n": [4]})]
    metrics = FetchMetrics(0)
    assert list(metrics.counted(iter(batches), FIRST)) == batches
    taken = metrics.taken(1, 1)
    assert taken is not None
    counts = taken["topics"]["t"]["0"]
    assert (counts["fetchAPICallCount"], counts["fetchAPIMessageCount"]) == (2, 4)


def test_the_topic_of_fetch_metrics_is_an_option() -> None:
    given = {"bootstrap.servers": "localhost:9092", "subscribe": "t"}
    assert parse_source_options(given).fetch_metrics is None
    named = given | {"metricsTopic": "fetches"}
    assert parse_source_options(named).fetch_metrics == FetchMetricsOptions("fetches", 60_000)
    often = parse_source_options(named | {"metricsIntervalMs": "500"})
    assert often.fetch_metrics == FetchMetricsOptions("fetches", 500)
    with pytest.raises(ConfigError, match="metricsIntervalMs needs a topic"):
        parse_source_options(given | {"metricsIntervalMs": "500"})
