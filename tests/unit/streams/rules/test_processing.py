"""Requests to commit, punctuations, and records whose processing fails."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from millstream.streams import (
    ProcessorContext,
    PunctuationType,
    Record,
    RecordContext,
    StreamsBuilder,
    StreamsConfig,
    TopologyBuilder,
)
from millstream.streams.config import OnError
from millstream.streams.errors import ProcessingError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores
from millstream.testing import TopologyTestDriver
from tests.unit.streams.rules.rule_world import driver_of, ms, pipe, run, write


class Punctuated:
    """Notes the times of a punctuation every 10 ms."""

    kind = PunctuationType.STREAM_TIME

    def __init__(self, times: list[int]) -> None:
        self.times = times

    def init(self, context: ProcessorContext) -> None:
        context.schedule(ms(10), self.kind, self.times.append)

    def process(self, record: Record) -> None:
        """Records only move time."""


class WallClock(Punctuated):
    kind = PunctuationType.WALL_CLOCK_TIME


def punctuations(kind: type[Punctuated], inputs: str) -> list[int]:
    times: list[int] = []
    builder = StreamsBuilder()
    builder.stream("L").process(lambda: kind(times))
    run(builder, inputs)
    return times


def test_stream_time_punctuations_wait_for_the_first_record() -> None:
    assert punctuations(Punctuated, "+1000") == []
    assert punctuations(Punctuated, "L:a@3") == [3]


def test_after_a_jump_in_stream_time_one_punctuation_fires_and_the_next_is_aligned() -> None:
    """At 45 for 10 to 40 together; the next is due at 50."""
    assert punctuations(Punctuated, "L:a@3 L:a@45 L:a@49 L:a@50 L:a@50") == [3, 45, 50]


def test_records_behind_stream_time_fire_nothing() -> None:
    assert punctuations(Punctuated, "L:a@30 L:a@10 L:a@20") == [30]


def test_punctuations_run_between_records_in_the_thread_of_the_task() -> None:
    told: list[tuple[str, int]] = []

    class Noting:
        def init(self, context: ProcessorContext) -> None:
            context.schedule(
                ms(10), PunctuationType.STREAM_TIME, lambda _: self.note("punctuation")
            )

        def process(self, record: Record) -> None:
            self.note("record")

        def note(self, what: str) -> None:
            told.append((what, threading.get_ident()))

    builder = StreamsBuilder()
    builder.stream("L").process(Noting)
    run(builder, "L:a@0 L:a@5 L:a@10")
    here = threading.get_ident()
    assert told == [
        ("record", here), ("punctuation", here), ("record", here), ("record", here), ("punctuation", here),
    ]  # fmt: skip


def test_wall_clock_punctuations_fire_without_records() -> None:
    """Once for each time the clock is looked at, however far it went."""
    assert punctuations(WallClock, "+9 +1 +35 L:a@99 +4 +1") == [10, 45, 50]


def test_a_wall_clock_punctuation_first_fires_an_interval_after_init() -> None:
    """Not with the first record, whatever time it is; 4.3.1's driver, started at 1000, says the same."""
    times: list[int] = []
    builder = StreamsBuilder()
    builder.stream("L", key=string(), value=string()).process(lambda: WallClock(times))
    with TopologyTestDriver(builder.build(), StreamsConfig("app"), wall_clock_ms=1000) as driver:
        pipe(driver, "L:a@3")
        pipe(driver, "+9")
        assert times == []
        pipe(driver, "+1")
        assert times == [1010]


class SchedulesWithTheFirstRecord:
    """Every 10 ms, from the start that it is given."""

    def __init__(self, kind: PunctuationType, start_ms: int, times: list[int]) -> None:
        self.kind, self.start_ms, self.times = kind, start_ms, times

    def init(self, context: ProcessorContext) -> None:
        self.context: ProcessorContext | None = context

    def process(self, record: Record) -> None:
        if self.context is not None:
            self.context.schedule(ms(10), self.kind, self.times.append, start_ms=self.start_ms)
            self.context = None


@pytest.mark.parametrize(
    ("start_ms", "times"), [(0, [66, 71]), (26, [66]), (56, [56, 66]), (67, [71])]
)
def test_a_start_that_has_passed_keeps_its_multiples_and_fires_for_none_of_them_at_once(
    start_ms: int, times: list[int]
) -> None:
    found: list[int] = []
    stream_time = partial(SchedulesWithTheFirstRecord, PunctuationType.STREAM_TIME, start_ms, found)
    builder = StreamsBuilder()
    builder.stream("L").process(stream_time)
    run(builder, "L:x@56 L:x@57 L:x@66 L:x@71")
    assert found == times


def test_a_start_that_is_now_waits_for_the_clock_to_be_looked_at() -> None:
    found: list[int] = []
    wall_clock = partial(SchedulesWithTheFirstRecord, PunctuationType.WALL_CLOCK_TIME, 0, found)
    builder = StreamsBuilder()
    builder.stream("L").process(wall_clock)
    with driver_of(builder) as driver:
        for token, times in (
            ("L:x@1", []),
            ("L:x@2", []),
            ("+0", [0]),
            ("+9", [0]),
            ("+1", [0, 10]),
        ):
            pipe(driver, token)
            assert found == times


def test_punctuations_due_together_fire_in_the_order_of_java_s_priority_queue() -> None:
    """Four processors that schedule alike, run on 4.3.1."""
    fired: list[tuple[str, int]] = []

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def init(self, context: ProcessorContext) -> None:
            def note(time: int) -> None:
                fired.append((self.name, time))

            context.schedule(ms(10), PunctuationType.STREAM_TIME, note)

        def process(self, record: Record) -> None:
            """Records only move time."""

    builder = StreamsBuilder()
    stream = builder.stream("L")
    for name in "abcd":
        stream.process(partial(Named, name))
    run(builder, "L:x@0 L:x@5 L:x@10 L:x@25")
    assert [(time, name) for name, time in fired] == [
        *((0, name) for name in "adbc"),
        *((10, name) for name in "bcad"),
        *((25, name) for name in "adbc"),
    ]


class Emits:
    def init(self, context: ProcessorContext) -> None:
        self.context = context
        context.schedule(ms(10), PunctuationType.STREAM_TIME, self.emit)

    def process(self, record: Record) -> None:
        """Records only move time."""

    def emit(self, time: int) -> None:
        assert self.context.record_metadata() == RecordContext(None, -1, -1, time)
        self.context.forward(Record("p", "from a punctuation", time))


def test_what_a_punctuation_forwards_has_the_time_it_was_given() -> None:
    builder = StreamsBuilder()
    write(builder.stream("L").process(Emits))
    assert run(builder, "L:a@3 L:a@45") == "1:p=from a punctuation@3 2:p=from a punctuation@45"


class Commits:
    def init(self, context: ProcessorContext) -> None:
        self.context = context

    def process(self, record: Record) -> None:
        self.context.commit()
        self.context.forward(record)


def task_of(builder: StreamsBuilder | TopologyBuilder, **settings: Any) -> StreamTask:
    config = StreamsConfig("app", string(), string(), **settings)
    return StreamTask(builder.build(), 0, 0, in_memory_stores(), config)


def rows(*values: str) -> RawBatch:
    written = [value.encode() for value in values]
    return RawBatch([b"k"] * len(values), written, list(range(len(values))), range(len(values)))


def test_commit_is_a_request_and_the_record_goes_on() -> None:
    builder = StreamsBuilder()
    builder.stream("L").process(Commits).to("out")
    task = task_of(builder)
    task.add("L", rows("a", "b"))
    assert not task.schedule.commit_requested
    assert task.process(0).sinks["out"].values == [b"a", b"b"]
    assert task.schedule.commit_requested, "whoever runs the task commits soon"
    task.commit(marker="1")
    assert not task.schedule.commit_requested


class Fails:
    def init(self, context: ProcessorContext) -> None:
        self.context = context

    def process(self, record: Record) -> None:
        self.context.forward(record)
        if record.value == "bad":
            raise ValueError("a bad record")


def test_a_failing_record_stops_the_task_and_names_its_place() -> None:
    builder = StreamsBuilder()
    builder.stream("L").process(Fails, name="strict").to("out")
    with driver_of(builder) as driver:
        pipe(driver, "L:good@1")
        with pytest.raises(ProcessingError, match="strict failed on L-0 offset 1"):
            pipe(driver, "L:bad@2")


def test_continue_leaves_the_record_out_and_commits_its_offset() -> None:
    builder = StreamsBuilder()
    builder.stream("L").map_values(lambda value: str(1 // len(value.strip()))).to("out")
    task = task_of(builder, on_processing_error=OnError.CONTINUE)
    task.add("L", rows("a", " "))
    assert task.process(0).sinks["out"].values == [b"1"]
    assert task.prepare_commit().offsets == {"L": 2}
    assert task.dropped.total == 1


def test_what_was_forwarded_before_the_failure_is_not_undone() -> None:
    builder = StreamsBuilder()
    write(builder.stream("L").process(Fails))
    outputs = run(builder, "L:a@1 L:bad@2 L:b@3", on_processing_error=OnError.CONTINUE)
    assert outputs == "1:k=a@1 2:k=bad@2 3:k=b@3"


def test_punctuations_are_counted_and_timed_by_the_clock_of_the_runner() -> None:
    passed_ms = [0]

    class Slow:
        def init(self, context: ProcessorContext) -> None:
            context.schedule(ms(10), PunctuationType.STREAM_TIME, lambda _: self.take(7))

        def process(self, record: Record) -> None:
            self.take(100)

        def take(self, time_ms: int) -> None:
            passed_ms[0] += time_ms

    builder = StreamsBuilder()
    builder.stream("L").process(Slow)
    task = task_of(builder)
    task.measure_with(lambda: passed_ms[0])
    task.add("L", RawBatch([b"k"] * 2, [b"a", b"b"], [0, 15], range(2)))
    output = task.process(0)
    assert (output.processed, output.punctuated, output.punctuation_ms) == (2, 2, 14)
    output = task.process(0)
    assert (output.processed, output.punctuated, output.punctuation_ms) == (0, 0, 0)
