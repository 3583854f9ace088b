"""Latencies of fetches, which tasks measure in Spark's workers, by Storm's names. They travel through a topic.

Spark gives a source in Python no way from a worker to the driver: no accumulator and no metric. So each
worker process of a query that has the option `metricsTopic` writes a record of JSON there now and then, after
a task, and begins to count anew:

    {"queryId": "…", "host": "…", "processId": 12, "fromMs": 1700000000000, "toMs": 1700000060000, "topics": {"orders": {"0": {
     "fetchAPILatencyMax": 12.5, "fetchAPILatencyMean": 1.2, "fetchAPICallCount": 40, "fetchAPIMessageCount": 81920}}}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.spark.format_options import number

if TYPE_CHECKING:
    import pyarrow as pa

_INTERVAL_MS: Final = 60_000
"""Storm's metricsTimeBucketSizeInSecs."""


@dataclass(frozen=True, slots=True)
class FetchMetricsOptions:
    topic: str
    interval_ms: int


def parse_fetch_metrics(given: Mapping[str, str]) -> FetchMetricsOptions | None:
    """Returns `metricsTopic` and `metricsIntervalMs`, None where no topic is given."""
    topic = given.get("metricstopic", "").strip()
    if topic:
        return FetchMetricsOptions(topic, number(given, "metricsIntervalMs", _INTERVAL_MS, 1))
    if "metricsintervalms" in given:
        raise ConfigError('metricsIntervalMs needs a topic: .option("metricsTopic", "fetches")')
    return None


@dataclass(slots=True)
class _Fetches:
    calls: int = 0
    messages: int = 0
    total_s: float = 0.0
    max_s: float = 0.0

    def to_json(self) -> dict[str, float]:
        return {
            "fetchAPILatencyMax": round(self.max_s * 1000, 3),
            "fetchAPILatencyMean": round(self.total_s * 1000 / self.calls, 3),
            "fetchAPICallCount": self.calls,
            "fetchAPIMessageCount": self.messages,
        }


class FetchMetrics:
    """The counts of one process for one query since they were last taken."""

    def __init__(self, now_ms: int) -> None:
        self._from_ms = now_ms
        self._fetches: dict[TopicPartition, _Fetches] = {}

    def counted(
        self, batches: Iterator[pa.RecordBatch], partition: TopicPartition
    ) -> Iterator[pa.RecordBatch]:
        """The same batches.

        What a task waits for one is the latency of its fetch, the next of which travels meanwhile.
        """
        while True:
            began_s = perf_counter()
            batch = next(batches, None)
            if batch is None:
                return
            self.add(partition, perf_counter() - began_s, batch.num_rows)
            yield batch

    def add(self, partition: TopicPartition, wait_s: float, messages: int) -> None:
        fetches = self._fetches.setdefault(partition, _Fetches())
        fetches.calls += 1
        fetches.messages += messages
        fetches.total_s += wait_s
        fetches.max_s = max(fetches.max_s, wait_s)

    def taken(self, now_ms: int, interval_ms: int) -> dict[str, Any] | None:  # JSON
        """Returns what was counted, and counts anew; None before the interval is over, and where
        nothing was fetched.
        """
        if now_ms - self._from_ms < interval_ms or not self._fetches:
            return None
        topics: dict[str, dict[str, dict[str, float]]] = {}
        for (topic, partition), fetches in sorted(self._fetches.items()):
            topics.setdefault(topic, {})[str(partition)] = fetches.to_json()
        document = {"fromMs": self._from_ms, "toMs": now_ms, "topics": topics}
        self._from_ms, self._fetches = now_ms, {}
        return document
