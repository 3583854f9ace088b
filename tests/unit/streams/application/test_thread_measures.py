"""The metrics of a stream thread: names and tags of Kafka Streams, and values by a clock that stands still in between."""

from __future__ import annotations

import math

from millstream.streams.application.metrics.thread_measures import ThreadMeasures
from millstream.streams.metrics import MetricName
from millstream.streams.runtime.report import ProcessedWork
from tests.unit.streams.application.manual_clock import START_MS, MovedClock


def by_name(measures: ThreadMeasures) -> dict[str, float]:
    return {each.name: value for each, value in measures.metrics().items()}


def turn(
    measures: ThreadMeasures,
    clock: MovedClock,
    *,
    polled: int,
    work: ProcessedWork,
    committed: int | None = None,
) -> None:
    """A turn that takes over for 50 ms, polls for 100, processes for 40 and commits for 10."""
    measured = measures.begin_turn()
    clock.pass_ms(50)
    measured.lap()
    clock.pass_ms(100)
    measured.record_poll(polled)
    clock.pass_ms(40)
    measured.record_process(work)
    if committed is not None:
        clock.pass_ms(10)
        measured.record_commit(committed)
    measured.end(tasks_created=2, tasks_closed=1)


def after_two_turns(clock: MovedClock) -> ThreadMeasures:
    measures = ThreadMeasures("t", clock)
    turn(measures, clock, polled=6, work=ProcessedWork(6, 2, 10), committed=4)
    turn(measures, clock, polled=0, work=ProcessedWork(4, 0, 0))
    return measures


def test_names_groups_and_tags_are_those_of_kafka_streams() -> None:
    names = set(ThreadMeasures("app-StreamThread-1", MovedClock()).metrics())
    wanted = {
        f"{part}-{measure}"
        for part in ("poll", "process", "punctuate", "commit")
        for measure in ("latency-avg", "latency-max", "rate", "total", "ratio")
    }
    wanted |= {
        f"{part}-records-{which}" for part in ("poll", "process") for which in ("avg", "max")
    }
    wanted |= {f"task-{which}-{n}" for which in ("created", "closed") for n in ("rate", "total")}
    wanted.add("thread-start-time")
    tags = (("thread-id", "app-StreamThread-1"),)
    assert names == {MetricName("stream-thread-metrics", each, tags) for each in wanted}


def test_a_thread_that_has_done_nothing_has_totals_of_none() -> None:
    clock = MovedClock()
    found = by_name(ThreadMeasures("t", clock))
    assert found["thread-start-time"] == START_MS
    assert {value for name, value in found.items() if name.endswith(("-total", "-rate"))} == {0}
    assert math.isnan(found["poll-latency-avg"])
    assert math.isnan(found["poll-ratio"])


def test_latencies_are_those_of_one_call_record_punctuation_or_commit() -> None:
    found = by_name(after_two_turns(MovedClock()))
    assert (found["poll-latency-avg"], found["poll-latency-max"]) == (100, 100)
    assert (found["process-latency-avg"], found["process-latency-max"]) == (7.5, 10)
    assert (found["punctuate-latency-avg"], found["punctuate-latency-max"]) == (5, 5)
    assert (found["commit-latency-avg"], found["commit-latency-max"]) == (2.5, 2.5)


def test_totals_and_records_count_what_the_turns_did() -> None:
    found = by_name(after_two_turns(MovedClock()))
    totals = {name: value for name, value in found.items() if name.endswith("-total")}
    assert totals == {
        "poll-total": 2,
        "process-total": 10,
        "punctuate-total": 2,
        "commit-total": 4,
        "task-created-total": 2,
        "task-closed-total": 1,
    }
    assert (found["poll-records-avg"], found["poll-records-max"]) == (6, 6)  # polls with records
    assert (found["process-records-avg"], found["process-records-max"]) == (5, 6)


def test_rates_are_of_what_was_done_not_of_turns() -> None:
    clock = MovedClock()
    measures = ThreadMeasures("t", clock)
    turn(measures, clock, polled=6, work=ProcessedWork(60, 3, 0))
    clock.pass_ms(30_000)
    found = by_name(measures)
    assert found["process-rate"] == 60 / 30
    assert found["punctuate-rate"] == 3 / 30
    assert found["poll-rate"] == 1 / 30.04
    assert found["task-created-rate"] == 2 / 30
    assert found["commit-rate"] == 0


def test_ratios_are_shares_of_the_time_of_two_windows_of_turns() -> None:
    clock = MovedClock()
    measures = after_two_turns(clock)  # of 200 and 190 ms
    found = by_name(measures)
    assert found["poll-ratio"] == 200 / 390
    assert found["process-ratio"] == 70 / 390
    assert found["punctuate-ratio"] == 10 / 390
    assert found["commit-ratio"] == 10 / 390
    clock.pass_ms(60_000)
    assert math.isnan(by_name(measures)["poll-ratio"])


def test_a_turn_that_was_paused_is_part_of_the_whole_alone() -> None:
    clock = MovedClock()
    measures = ThreadMeasures("t", clock)
    measured = measures.begin_turn()
    clock.pass_ms(100)
    measured.lap()
    clock.pass_ms(100)
    measured.record_commit(1)
    measured.end(0, 0)
    found = by_name(measures)
    assert found["commit-ratio"] == 0.5
    assert found["poll-ratio"] == 0
    assert found["poll-total"] == 0
