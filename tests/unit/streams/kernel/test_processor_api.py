"""Processors and their context, as a user sees them on the test driver (seed group S3)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millstream.streams import (
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    StreamsConfig,
    TopologyBuilder,
)
from millstream.streams.errors import InvalidStoreError, ProcessingError, StreamsError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores, rocksdb_stores
from millstream.streams.topology import StoreKind, StoreSpec
from millstream.testing.streams.topology_test_driver import TopologyTestDriver
from tests.unit.streams.rules.rule_world import driver_of, ms, pipe, read, run, write

ROWS = StoreSpec("rows", StoreKind.KEY_VALUE, persistent=False, key=string(), value=string())


class Traced:
    """Notes what happens to it, and forwards twice."""

    def __init__(self, name: str, trace: list[str]) -> None:
        self.name = name
        self.trace = trace

    def init(self, context: ProcessorContext) -> None:
        self.context = context
        self.trace.append(f"{self.name} init")

    def process(self, record: Record) -> None:
        for number in (1, 2):
            self.trace.append(f"{self.name} {record.value}.{number}")
            self.context.forward(record.with_value(f"{record.value}.{number}"))

    def close(self) -> None:
        self.trace.append(f"{self.name} close")


def test_a_record_goes_to_all_children_depth_first() -> None:
    """All the way down to the sinks before the next child, and before forward returns."""
    trace: list[str] = []
    builder = TopologyBuilder()
    builder.add_source("source", "in")
    builder.add_processor("a", lambda: Traced("a", trace), "source")
    builder.add_processor("b", lambda: Traced("b", trace), "source")
    builder.add_processor("below-a", lambda: Traced("below-a", trace), "a")
    run(builder.build(), "in:x@1")
    assert [entry for entry in trace if "x" in entry] == [
        "a x.1",
        "below-a x.1.1",
        "below-a x.1.2",
        "a x.2",
        "below-a x.2.1",
        "below-a x.2.2",
        "b x.1",
        "b x.2",
    ]


def test_init_comes_once_before_any_record_and_close_once_with_the_task() -> None:
    trace: list[str] = []
    builder = TopologyBuilder()
    builder.add_source("source", "in").add_processor("a", lambda: Traced("a", trace), "source")
    run(builder.build(), "in:x@1 in:y@2")
    assert trace == ["a init", "a x.1", "a x.2", "a y.1", "a y.2", "a close"]


def test_all_processors_are_closed_and_the_last_that_fails_is_named() -> None:
    """As in 4.3.1, which closes them in the order of the topology."""
    closed: list[str] = []

    class Closes:
        def __init__(self, name: str) -> None:
            self.name = name

        def process(self, record: Record) -> None:
            """Nothing comes."""

        def close(self) -> None:
            closed.append(self.name)
            if self.name != "good":
                raise ValueError(self.name)

    builder = StreamsBuilder()
    stream = builder.stream("in")
    for name in ("bad", "good", "worse"):
        stream.process(partial(Closes, name), name=name)
    driver = driver_of(builder)
    with pytest.raises(ProcessingError, match=r"close of worse failed: ValueError\('worse'\)"):
        driver.close()
    assert closed == ["bad", "good", "worse"]


def test_only_process_is_needed() -> None:
    seen: list[str] = []

    class Bare:
        def process(self, record: Record) -> None:
            seen.append(record.value)

    builder = StreamsBuilder()
    builder.stream("in").process(Bare)
    run(builder, "in:x@1")
    assert seen == ["x"]


class With:
    """A processor made of one function of context and record."""

    def __init__(self, act: Any, start: Any = None) -> None:
        self.act = act
        self.start = start

    def init(self, context: ProcessorContext) -> None:
        self.context = context
        if self.start is not None:
            self.start(context)

    def process(self, record: Record) -> None:
        self.act(self.context, record)


def processed(act: Any, inputs: str, start: Any = None, **settings: Any) -> str:
    builder = StreamsBuilder()
    write(builder.stream("in").process(lambda: With(act, start)))
    return run(builder, inputs, **settings)


def test_a_context_knows_application_task_and_settings() -> None:
    def act(context: ProcessorContext, record: Record) -> None:
        held = context.app_configs()["statestore.cache.max.bytes"]
        told = (context.application_id, context.task_id, held)
        context.forward(record.with_value(told))

    assert processed(act, "in:x@1", cache_max_bytes=7) == "1:k=('app', '0_0', 7)@1"


def test_the_context_is_that_of_the_record() -> None:
    def act(context: ProcessorContext, record: Record) -> None:
        place = context.record_metadata()
        assert place is not None
        times = (context.current_stream_time_ms(), context.current_system_time_ms())
        context.forward(record.with_value((place.topic, place.partition, place.offset, *times)))

    outputs = processed(act, "in:x@5 +100 in:y@3")
    assert outputs == "1:k=('in', 0, 0, 5, 0)@5 3:k=('in', 0, 1, 5, 100)@3"


def test_a_store_that_is_not_connected_is_refused_by_name() -> None:
    def start(context: ProcessorContext) -> None:
        context.store("rows")

    builder = StreamsBuilder()
    builder.add_state_store(ROWS)
    builder.stream("in").process(lambda: With(None, start), name="forgetful")
    with pytest.raises(InvalidStoreError, match="forgetful is not connected with store rows"):
        driver_of(builder)


def test_a_supplier_may_bring_its_stores() -> None:
    class Counts:
        stores = (ROWS,)

        def init(self, context: ProcessorContext) -> None:
            self.context, self.rows = context, context.store("rows")

        def process(self, record: Record) -> None:
            self.rows.put(record.key, (self.rows.get(record.key) or "") + record.value)
            self.context.forward(record.with_value(self.rows.get(record.key)))

    builder = StreamsBuilder()
    write(builder.stream("in").process(Counts))
    assert run(builder, "in:x@1 in:y@2") == "1:k=x@1 2:k=xy@2"


def test_a_schedule_can_be_cancelled() -> None:
    times: list[int] = []

    def start(context: ProcessorContext) -> None:
        def fire(time: int) -> None:
            times.append(time)
            if len(times) == 2:
                handle.cancel()

        handle = context.schedule(ms(10), PunctuationType.STREAM_TIME, fire)

    processed(lambda context, record: None, "in:x@1 in:x@11 in:x@21 in:x@31", start)
    assert times == [1, 11]


def test_an_interval_below_a_millisecond_is_refused() -> None:
    def start(context: ProcessorContext) -> None:
        context.schedule(ms(0), PunctuationType.STREAM_TIME, lambda time: None)

    with pytest.raises(ProcessingError, match="at least 1 ms"):
        processed(lambda context, record: None, "in:x@1", start)


def test_a_punctuation_may_read_stores_and_forward() -> None:
    class Emits:
        stores = (ROWS,)

        def init(self, context: ProcessorContext) -> None:
            self.context, self.rows = context, context.store("rows")
            context.schedule(ms(10), PunctuationType.WALL_CLOCK_TIME, self.emit)

        def process(self, record: Record) -> None:
            self.rows.put(record.key, record.value)

        def emit(self, time: int) -> None:
            self.context.forward(Record("latest", self.rows.get("k"), time))

    builder = StreamsBuilder()
    write(builder.stream("in").process(Emits))
    assert run(builder, "in:x@1 in:y@2 +10") == "3:latest=y@10"


def test_a_punctuation_scheduled_in_a_punctuation_waits_for_its_time() -> None:
    fired: list[str] = []

    def start(context: ProcessorContext) -> None:
        def outer(time: int) -> None:
            fired.append(f"outer {time}")
            context.schedule(ms(5), PunctuationType.WALL_CLOCK_TIME, inner)

        def inner(time: int) -> None:
            fired.append(f"inner {time}")

        context.schedule(ms(10), PunctuationType.WALL_CLOCK_TIME, outer)

    processed(lambda context, record: None, "+10 +5", start)
    assert fired == ["outer 10", "inner 15"]


def test_a_failing_punctuation_names_its_node() -> None:
    def start(context: ProcessorContext) -> None:
        context.schedule(ms(10), PunctuationType.STREAM_TIME, lambda time: 1 // 0)

    builder = StreamsBuilder()
    builder.stream("in").process(lambda: With(lambda context, record: None, start), name="ticking")
    with driver_of(builder) as driver, pytest.raises(ProcessingError, match="ticking"):
        pipe(driver, "in:x@10")


def choosing() -> TopologyBuilder:
    """The value of a record names the child it goes to."""

    def act(context: ProcessorContext, record: Record) -> None:
        context.forward(record, record.value)

    builder = TopologyBuilder()
    builder.add_source("source", "in").add_processor("choice", lambda: With(act), "source")
    return builder.add_sink("left", "to-left", "choice").add_sink("right", "to-right", "choice")


def test_a_record_may_go_to_one_child_by_name() -> None:
    with driver_of(choosing().build()) as driver:
        for token in ("in:left@1", "in:right@2"):
            pipe(driver, token)
        assert (read(driver, "to-left"), read(driver, "to-right")) == (["k=left@1"], ["k=right@2"])


def test_an_unknown_child_is_refused_by_name() -> None:
    with (
        driver_of(choosing().build()) as driver,
        pytest.raises(StreamsError, match="choice has no child up"),
    ):
        pipe(driver, "in:up@1")


def test_a_context_gives_the_applications_serdes() -> None:
    given = []
    processed(
        lambda context, record: given.append((context.key_serde, context.value_serde)), "in:x@1"
    )
    assert given == [(string(), string())]


def test_the_state_directory_is_that_of_the_task(tmp_path: Path) -> None:
    given = []
    builder = StreamsBuilder()
    builder.stream("in").process(lambda: With(lambda context, _: given.append(context.state_dir)))
    config = StreamsConfig("app", string(), string())
    with TopologyTestDriver(builder.build(), config, stores=rocksdb_stores(tmp_path)) as driver:
        pipe(driver, "in:x@1")
    assert [Path(each) for each in given] == [tmp_path / "0_0"]


def test_forwarding_outside_a_call_is_refused() -> None:
    kept: list[ProcessorContext] = []
    builder = StreamsBuilder()
    builder.stream("in").process(lambda: With(lambda context, _: kept.append(context)))
    with driver_of(builder) as driver:
        pipe(driver, "in:x@1")
        with pytest.raises(StreamsError, match="only while"):
            kept[0].forward(Record("k", "too late", 0))


def test_after_a_failing_record_the_context_is_closed_too() -> None:
    kept: list[ProcessorContext] = []

    def act(context: ProcessorContext, _record: Record) -> None:
        kept.append(context)
        raise ValueError

    builder = StreamsBuilder()
    builder.stream("in").process(lambda: With(act))
    with driver_of(builder) as driver:
        with pytest.raises(ProcessingError):
            pipe(driver, "in:x@1")
        with pytest.raises(StreamsError, match="only while"):
            kept[0].forward(Record("k", "too late", 0))


def test_a_task_without_records_says_so() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    config = StreamsConfig("app", string(), string())
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    assert task.process(0).processed == 0
    task.add("in", RawBatch([b"k"], [b"v"], [1], [0]))
    assert (task.process(0).processed, task.process(0).processed) == (1, 0)
