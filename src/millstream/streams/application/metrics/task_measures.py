"""The measures of one task that only its stream thread can take: rates and latencies beside the
totals that the task counts itself.

Recorded once a turn. Most of them are there at DEBUG alone, as in Kafka Streams. Owns no clock: it is given one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from millstream.streams.metrics import (
    MetricName,
    RecordingLevel,
    Sensor,
    Statistic,
    StreamsMetrics,
)
from millstream.streams.runtime.report import ProcessedWork

GROUP: Final = "stream-task-metrics"
_NS_PER_MS: Final = 1_000_000


class TaskMeasures:
    """The measures of one task, made when it is started."""

    def __init__(self, task_id: str, level: RecordingLevel, now_ms: Callable[[], int]) -> None:
        self._metrics = StreamsMetrics(now_ms, {})
        self._tags = {"task-id": task_id}
        self._is_detailed = level is RecordingLevel.DEBUG
        self._turn_ms = 0
        self._ratio = self._sensor("active-process-ratio", {"": Statistic.VALUE})
        if self._is_detailed:
            rate = {"-rate": Statistic.RATE_OF_SUM}
            latency = {"-latency-avg": Statistic.AVG, "-latency-max": Statistic.MAX}
            self._processed, self._process = (
                self._sensor("process", each) for each in (rate, latency)
            )
            self._punctuated, self._punctuate = (
                self._sensor("punctuate", each) for each in (rate, latency)
            )

    def record_work(self, work: ProcessedWork, elapsed_ms: int) -> None:
        """Takes what the task has done in a turn.

        Latencies are those of one record or punctuation, on average, in nanoseconds.
        """
        punctuation_ms = min(work.punctuation_ms, elapsed_ms)
        self._turn_ms = elapsed_ms - punctuation_ms
        if not self._is_detailed:
            return
        if work.records:
            self._processed.record(work.records)
            self._process.record(self._turn_ms * _NS_PER_MS / work.records)
        if work.punctuations:
            self._punctuated.record(work.punctuations)
            self._punctuate.record(punctuation_ms * _NS_PER_MS / work.punctuations)

    @staticmethod
    def end_turn(tasks: Iterable[TaskMeasures]) -> None:
        """Takes the share that each task of the thread has in the time that all of them have processed in this turn."""
        measures = list(tasks)
        all_ms = sum(each._turn_ms for each in measures)
        for each in measures:
            if all_ms:
                each._ratio.record(each._turn_ms / all_ms)
            each._turn_ms = 0

    def metrics(self) -> dict[MetricName, float]:
        """Returns every metric with its value now."""
        return self._metrics.metrics()

    def _sensor(self, name: str, statistics: dict[str, Statistic]) -> Sensor:
        """Returns a sensor whose metrics have this name and these endings."""
        sensor = self._metrics.add_sensor(f"{name} {'/'.join(statistics)}")
        for ending, statistic in statistics.items():
            sensor.add(f"{name}{ending}", GROUP, statistic, self._tags)
        return sensor
