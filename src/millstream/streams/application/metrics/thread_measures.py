"""The measures that one stream thread takes of itself: how long its turns and their parts take, and how much they do.

Recorded once a turn, whatever number of records it has. Names and meaning are Kafka Streams' (KIP-444). Owns
no clock: it is given one.
"""

from __future__ import annotations

import math
from typing import Final

from millstream.runtime import Clock
from millstream.streams.metrics import MetricName, Sensor, Statistic, StreamsMetrics, metric_name
from millstream.streams.runtime.report import ProcessedWork

GROUP: Final = "stream-thread-metrics"
_POLL, _PROCESS, _PUNCTUATE, _COMMIT = "poll", "process", "punctuate", "commit"
_PARTS: Final = (_POLL, _PROCESS, _PUNCTUATE, _COMMIT)


class ThreadMeasures:
    """The measures of one thread, made when it starts.

    Its loop calls `begin_turn` for each turn, and says what the turn has done.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self._clock = clock
        self._tags = {"thread-id": name}
        self._started_ms = clock.now().wall_ms
        self._metrics = StreamsMetrics(self.now_ms, {})
        self._latency = {part: self._sensor(f"{part}-latency", avg_max=True) for part in _PARTS}
        self._calls = {part: self._sensor(part, rate_total=True) for part in _PARTS}
        self._records = {
            part: self._sensor(f"{part}-records", avg_max=True) for part in (_POLL, _PROCESS)
        }
        self._created = self._sensor("task-created", rate_total=True)
        self._closed = self._sensor("task-closed", rate_total=True)
        self._elapsed = {
            part: self._metrics.add_sensor(f"{part} of turns") for part in (*_PARTS, "all")
        }
        self._tasks_created = self._tasks_closed = 0

    def now_ms(self) -> int:
        """Returns the time that latencies are measured by."""
        return self._clock.now().monotonic_ms

    def begin_turn(self) -> TurnMeasures:
        """Returns what takes the measures of a turn that begins now."""
        return TurnMeasures(self)

    def record_poll(self, records: int, elapsed_ms: int) -> None:
        """Takes one call of the consumer."""
        self._latency[_POLL].record(elapsed_ms)
        self._calls[_POLL].record()
        if records:
            self._records[_POLL].record(records)

    def record_work(self, part: str, count: int, elapsed_ms: int) -> None:
        """Takes the records, punctuations or commits of a turn, if there were any.

        Latencies are those of one of them, on average.
        """
        if count:
            self._latency[part].record(elapsed_ms / count)
            self._calls[part].record(count)

    def record_tasks(self, created: int, closed: int) -> None:
        """Takes how many tasks the thread has created and closed since it was started."""
        if created > self._tasks_created:
            self._created.record(created - self._tasks_created)
        if closed > self._tasks_closed:
            self._closed.record(closed - self._tasks_closed)
        self._tasks_created, self._tasks_closed = created, closed

    def record_turn(self, processed: int, elapsed_ms: dict[str, int], all_ms: int) -> None:
        """Takes a turn that has ended: how long each part of it took, and all of it."""
        self._records[_PROCESS].record(processed)
        for part in _PARTS:
            self._elapsed[part].record(elapsed_ms.get(part, 0))
        self._elapsed["all"].record(all_ms)

    def metrics(self) -> dict[MetricName, float]:
        """Returns every metric with its value now."""
        ratios = {self._name(f"{part}-ratio"): self._ratio(part) for part in _PARTS}
        start = {self._name("thread-start-time"): float(self._started_ms)}
        return {**self._metrics.metrics(), **ratios, **start}

    def _ratio(self, part: str) -> float:
        """Returns the share of a part in the time of the turns of two windows, as KAFKA-18615 has
        it: one turn alone says little.
        """
        whole = self._elapsed["all"].measure(Statistic.WINDOWED_SUM)
        return self._elapsed[part].measure(Statistic.WINDOWED_SUM) / whole if whole else math.nan

    def _sensor(self, name: str, *, avg_max: bool = False, rate_total: bool = False) -> Sensor:
        sensor = self._metrics.add_sensor(name)
        if avg_max:
            sensor.add(f"{name}-avg", GROUP, Statistic.AVG, self._tags)
            sensor.add(f"{name}-max", GROUP, Statistic.MAX, self._tags)
        if rate_total:
            sensor.add(f"{name}-rate", GROUP, Statistic.RATE_OF_SUM, self._tags)
            sensor.add(f"{name}-total", GROUP, Statistic.TOTAL, self._tags)
        return sensor

    def _name(self, name: str) -> MetricName:
        return metric_name(GROUP, name, self._tags)


class TurnMeasures:
    """One turn of the loop.

    What is done between two calls took the time between them; a turn that fails is not measured.
    """

    def __init__(self, measures: ThreadMeasures) -> None:
        self._measures = measures
        self._began_ms = self._last_ms = measures.now_ms()
        self._elapsed_ms: dict[str, int] = {}
        self._processed = 0

    def lap(self) -> int:
        """Begins the next part. Returns how long the one before took."""
        before_ms, self._last_ms = self._last_ms, self._measures.now_ms()
        return self._last_ms - before_ms

    def record_poll(self, records: int) -> None:
        """Says that the consumer was asked, and gave so many records."""
        elapsed_ms = self._elapsed_ms[_POLL] = self.lap()
        self._measures.record_poll(records, elapsed_ms)

    def record_process(self, work: ProcessedWork) -> None:
        """Says what the tasks have processed. Punctuations come amid the records, so their time is taken off."""
        elapsed_ms = self.lap()
        punctuation_ms = min(work.punctuation_ms, elapsed_ms)
        self._processed = work.records
        self._elapsed_ms[_PROCESS] = elapsed_ms - punctuation_ms
        self._elapsed_ms[_PUNCTUATE] = punctuation_ms
        self._measures.record_work(_PROCESS, work.records, elapsed_ms - punctuation_ms)
        self._measures.record_work(_PUNCTUATE, work.punctuations, punctuation_ms)

    def record_commit(self, tasks: int) -> None:
        """Says that so many tasks were committed."""
        elapsed_ms = self._elapsed_ms[_COMMIT] = self.lap()
        self._measures.record_work(_COMMIT, tasks, elapsed_ms)

    def end(self, tasks_created: int, tasks_closed: int) -> None:
        """Ends the turn. Both numbers count from the start of the thread."""
        self._measures.record_tasks(tasks_created, tasks_closed)
        all_ms = self._measures.now_ms() - self._began_ms
        self._measures.record_turn(self._processed, self._elapsed_ms, all_ms)
