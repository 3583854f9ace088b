"""The metrics of a task that its stream thread measures."""

from __future__ import annotations

import pytest

from millstream.streams.application.metrics.task_measures import TaskMeasures
from millstream.streams.metrics import MetricName, RecordingLevel
from millstream.streams.runtime.report import ProcessedWork
from tests.unit.streams.application.manual_clock import MovedClock

MS = 1_000_000
"""In nanoseconds."""


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


def measures_of(
    clock: MovedClock, level: RecordingLevel = RecordingLevel.INFO, task: str = "0_1"
) -> TaskMeasures:
    return TaskMeasures(task, level, lambda: clock.now().monotonic_ms)


def by_name(measures: TaskMeasures) -> dict[str, float]:
    return {each.name: value for each, value in measures.metrics().items()}


def test_only_the_share_in_the_thread_is_measured_at_info(clock: MovedClock) -> None:
    measures = measures_of(clock)
    measures.record_work(ProcessedWork(5, 1, 2), 10)
    names = ("active-process-ratio",)
    tags = (("task-id", "0_1"),)
    assert set(measures.metrics()) == {
        MetricName("stream-task-metrics", each, tags) for each in names
    }


def test_latencies_are_in_nanoseconds_for_one_record_or_punctuation(clock: MovedClock) -> None:
    measures = measures_of(clock, RecordingLevel.DEBUG)
    measures.record_work(ProcessedWork(4, 2, 20), 60)
    measures.record_work(ProcessedWork(1, 0, 0), 30)
    found = by_name(measures)
    assert (found["process-latency-avg"], found["process-latency-max"]) == (20 * MS, 30 * MS)
    assert (found["punctuate-latency-avg"], found["punctuate-latency-max"]) == (10 * MS, 10 * MS)


def test_rates_are_of_records_and_punctuations(clock: MovedClock) -> None:
    measures = measures_of(clock, RecordingLevel.DEBUG)
    measures.record_work(ProcessedWork(60, 15, 0), 1)
    clock.pass_ms(30_000)
    found = by_name(measures)
    assert (found["process-rate"], found["punctuate-rate"]) == (2, 0.5)


def test_the_share_of_a_task_is_that_of_the_last_turn_in_which_any_took_time(
    clock: MovedClock,
) -> None:
    first, second = measures_of(clock, task="0_0"), measures_of(clock, task="0_1")
    first.record_work(ProcessedWork(1, 1, 10), 40)
    second.record_work(ProcessedWork(1, 0, 0), 10)
    TaskMeasures.end_turn([first, second])
    shares = [by_name(each)["active-process-ratio"] for each in (first, second)]
    assert shares == [0.75, 0.25]
    TaskMeasures.end_turn([first, second])  # a turn without records says nothing
    assert by_name(first)["active-process-ratio"] == 0.75
