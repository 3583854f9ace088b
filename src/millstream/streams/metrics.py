"""Metrics: names as Kafka's, sensors that processors add, and their values at a given time.

A sensor counts the values that are recorded; its metrics are computed when they are read. Rates, averages and
extremes look back over two windows of 30 s of the task's wall clock, totals and counts over everything, as in
Kafka. Owns no clock: it is given one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

_WINDOW_MS = 30_000
"""metrics.sample.window.ms of Kafka."""
_WINDOWS = 2
"""metrics.num.samples of Kafka."""


class MetricName(NamedTuple):
    """The full name of a metric. Tags are pairs, in the order of their names."""

    group: str
    name: str
    tags: tuple[tuple[str, str], ...] = ()


class RecordingLevel(StrEnum):
    """The level of detail of metrics that cost something for each record (metrics.recording.level)."""

    INFO = "info"
    DEBUG = "debug"


class Statistic(StrEnum):
    """The statistic that a metric computes of the values of its sensor."""

    COUNT = "count"
    TOTAL = "total"
    RATE = "rate"
    """Records a second."""
    RATE_OF_SUM = "rate-of-sum"
    """The sum of the values a second, for values that count."""
    WINDOWED_SUM = "windowed-sum"
    """The sum of the values that rates and averages look back on."""
    AVG = "avg"
    MAX = "max"
    MIN = "min"
    VALUE = "value"
    """The last one."""


def metric_name(group: str, name: str, tags: Mapping[str, str]) -> MetricName:
    """Returns the name with its tags in order."""
    return MetricName(group, name, tuple(sorted(tags.items())))


@dataclass(slots=True)
class _Window:
    start_ms: int
    last_ms: int
    count: int = 0
    total: float = 0.0
    max: float = -math.inf
    min: float = math.inf


class Sensor:
    """Takes values; each metric added to it is one statistic of them."""

    def __init__(self, name: str, now_ms: Callable[[], int]) -> None:
        self.name = name
        self.metrics: dict[MetricName, Statistic] = {}
        self._now_ms = now_ms
        self._windows: list[_Window] = []
        self._count = 0
        self._total = 0.0
        self._last = math.nan

    def add(
        self, name: str, group: str, statistic: Statistic, tags: Mapping[str, str] | None = None
    ) -> None:
        """Add a metric."""
        self.metrics[metric_name(group, name, tags or {})] = statistic

    def record(self, value: float = 1.0) -> None:
        """Take one value, now."""
        self.record_several(1, value, value, value)

    def record_several(self, count: int, total: float, smallest: float, largest: float) -> None:
        """Take so many values at once, now, of which these are the sum and the extremes."""
        now = self._now_ms()
        if not self._windows or now - self._windows[-1].start_ms >= _WINDOW_MS:
            self._windows = [*self._windows[-(_WINDOWS - 1) :], _Window(now, now)]
        window = self._windows[-1]
        window.last_ms = now
        window.count += count
        window.total += total
        window.max = max(window.max, largest)
        window.min = min(window.min, smallest)
        self._count += count
        self._total += total
        self._last = largest

    def measure(self, statistic: Statistic) -> float:
        """Returns the statistic of the values; NaN for a statistic of none that has no value."""
        match statistic:
            case Statistic.COUNT:
                return float(self._count)
            case Statistic.TOTAL:
                return self._total
            case Statistic.VALUE:
                return self._last
        now = self._now_ms()
        live = [each for each in self._windows if now - each.last_ms < _WINDOWS * _WINDOW_MS]
        count = sum(each.count for each in live)
        total = sum(each.total for each in live)
        if statistic is Statistic.WINDOWED_SUM:
            return total
        if statistic in {Statistic.RATE, Statistic.RATE_OF_SUM}:
            amount = count if statistic is Statistic.RATE else total
            return amount / self._elapsed_s(live, now)
        if not count:
            return math.nan
        if statistic is Statistic.AVG:
            return total / count
        if statistic is Statistic.MAX:
            return max(each.max for each in live)
        return min(each.min for each in live)

    @staticmethod
    def _elapsed_s(live: list[_Window], now_ms: int) -> float:
        """The time the windows cover: at least all full ones, so that the first records make no peak."""
        elapsed = now_ms - live[0].start_ms if live else 0
        full = elapsed // _WINDOW_MS
        return (elapsed + max(0, _WINDOWS - 1 - full) * _WINDOW_MS) / 1000


class StreamsMetrics:
    """The sensors of one task. `tags` are on the metrics of every sensor made by name of its scope."""

    def __init__(self, now_ms: Callable[[], int], tags: Mapping[str, str]) -> None:
        self._now_ms = now_ms
        self._tags = dict(tags)
        self._sensors: dict[str, Sensor] = {}

    def add_sensor(self, name: str) -> Sensor:
        """Returns a sensor without metrics, or the one that has this name."""
        return self._sensors.setdefault(name, Sensor(name, self._now_ms))

    def add_rate_total_sensor(
        self, scope: str, entity: str, operation: str, tags: Mapping[str, str] | None = None
    ) -> Sensor:
        """Returns a sensor of group `stream-<scope>-metrics` with `<operation>-rate` and
        `<operation>-total`: of calls.
        """
        sensor = self.add_sensor(f"{scope}.{entity}.{operation}")
        group, all_tags = self._scoped(scope, entity, tags)
        sensor.add(f"{operation}-rate", group, Statistic.RATE, all_tags)
        sensor.add(f"{operation}-total", group, Statistic.COUNT, all_tags)
        return sensor

    def add_latency_rate_total_sensor(
        self, scope: str, entity: str, operation: str, tags: Mapping[str, str] | None = None
    ) -> Sensor:
        """Adds a sensor as add_rate_total_sensor does, with `<operation>-latency-avg` and `-max` of the values."""
        sensor = self.add_rate_total_sensor(scope, entity, operation, tags)
        group, all_tags = self._scoped(scope, entity, tags)
        sensor.add(f"{operation}-latency-avg", group, Statistic.AVG, all_tags)
        sensor.add(f"{operation}-latency-max", group, Statistic.MAX, all_tags)
        return sensor

    def remove_sensor(self, sensor: Sensor) -> None:
        """The sensor's metrics are gone; removing it twice does nothing."""
        self._sensors.pop(sensor.name, None)

    def metrics(self) -> dict[MetricName, float]:
        """Returns every metric with its value now."""
        return {
            name: sensor.measure(statistic)
            for sensor in self._sensors.values()
            for name, statistic in sensor.metrics.items()
        }

    def _scoped(
        self, scope: str, entity: str, tags: Mapping[str, str] | None
    ) -> tuple[str, dict[str, str]]:
        return f"stream-{scope}-metrics", {**self._tags, f"{scope}-id": entity, **(tags or {})}
