"""What is of the wrong kind is refused by the call that is given it, by a TypeError that names the argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

import pytest

from millstream.streams import (
    EmitStrategy,
    JoinWindows,
    KStream,
    KTable,
    Materialized,
    ProcessorContext,
    Record,
    SessionWindows,
    StoreKind,
    StoreSpec,
    StoreSupplier,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
    TopologyBuilder,
    UnlimitedWindows,
)
from millstream.streams.errors import ProcessingError, TopologyError
from millstream.streams.serdes import string
from millstream.testing import TopologyTestDriver

SECOND = timedelta(seconds=1)
WITHIN = JoinWindows.of(SECOND)


class Keep:
    def process(self, record: Record[object, object]) -> None:
        pass


def builder() -> StreamsBuilder:
    return StreamsBuilder()


def stream() -> KStream:
    return StreamsBuilder().stream("in")


def table() -> KTable:
    return StreamsBuilder().table("t")


def with_table(**options: object) -> None:
    given = StreamsBuilder()
    given.stream("in").join(given.table("t"), max, **options)


def with_itself(**options: object) -> None:
    given = stream()
    given.join(given, max, **options)


def on_foreign_key(partitioners: object) -> None:
    given = table()
    given.join(given, max, foreign_key=str, partitioners=partitioners)


def by_sessions() -> object:
    return stream().group_by_key().windowed_by(SessionWindows.of(SECOND))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "window size": (
        lambda: TimeWindows.tumbling("5 minutes"),
        "durations are timedelta, not '5 minutes'",
    ),
    "window in numbers": (
        lambda: TimeWindows("10", 10),
        "TimeWindows: size_ms must be an int, not str",
    ),
    "start": (
        lambda: UnlimitedWindows(0.5),
        "UnlimitedWindows: start_ms must be an int, not float",
    ),
    "join windows": (
        lambda: JoinWindows(SECOND, 1),
        "JoinWindows: before_ms must be an int, not timedelta",
    ),
    "windows of a join": (
        lambda: with_itself(windows=TimeWindows.tumbling(SECOND)),
        "join: windows must be a JoinWindows, not TimeWindows",
    ),
    "joined": (
        lambda: with_itself(windows=WITHIN, joined="name"),
        "join: joined must be a StreamJoined, not str",
    ),
    "options of a join": (
        lambda: StreamJoined(type="in_memory"),
        "StreamJoined: type must be a StoreType, not str",
    ),
    "serde of a join": (
        lambda: StreamJoined(other_value=string),
        "StreamJoined: other_value must be a Serde, not <function string",
    ),
    "grace of a join": (lambda: with_table(grace=5), "join: grace must be a timedelta, not int"),
    "serde of a joined stream": (
        lambda: with_table(key=str),
        "join: key must be a Serde, not <class 'str'>: see millstream.streams.serdes",
    ),
    "one partitioner": (
        lambda: on_foreign_key(None),
        "join: partitioners are a pair, of the left and of the right table's topic, not None",
    ),
    "serde of a group": (
        lambda: stream().group_by_key(key=str),
        "group_by_key: key must be a Serde, not <class 'str'>",
    ),
    "serde of a table's group": (
        lambda: table().group_by(lambda key, value: (key, value), value=str),
        "group_by: value must be a Serde, not <class 'str'>",
    ),
    "serde of a repartition topic": (
        lambda: stream().repartition(value="string"),
        "repartition: value must be a Serde, not 'string'",
    ),
    "partitions": (
        lambda: stream().repartition(partitions="4"),
        "repartition: partitions must be an int, not str",
    ),
    "label": (lambda: stream().print(label=5), "print: label must be a str, not int"),
    "name": (lambda: stream().peek(print, name=5), "a name must be a str, not 5"),
    "name of two nodes": (lambda: builder().table("t", name=5), "a name must be a str, not 5"),
    "name of a branch": (
        lambda: stream().split().branch(max, name=5),
        "branch: name must be a str, not int",
    ),
    "topics": (
        lambda: builder().stream(["a", None]),
        "stream: a topic must be a str, not NoneType",
    ),
    "pattern": (
        lambda: builder().stream(pattern=b"a.*"),
        "stream: the pattern must be a str, not bytes",
    ),
    "names of stores": (
        lambda: stream().process(Keep, stores=[StoreSpec("s", StoreKind.KEY_VALUE)]),
        "process: the name of a store must be a str, not StoreSpec",
    ),
    "stores": (
        lambda: stream().process(Keep, stores=5),
        "process: stores must be an Iterable, not int",
    ),
    "emit strategy": (
        lambda: (
            stream().group_by_key().windowed_by(TimeWindows.tumbling(SECOND)).emit_strategy("final")
        ),
        "emit_strategy: strategy must be an EmitStrategy, not str",
    ),
    "emit strategy of sessions": (
        lambda: by_sessions().emit_strategy(EmitStrategy),
        "emit_strategy: strategy must be an EmitStrategy, not the class EmitStrategy",
    ),
    "buffer": (
        lambda: Suppressed.until_window_closes(max_records="many"),
        "Suppressed: max_records must be an int, not str",
    ),
    "materialized": (
        lambda: Materialized(retention=5),
        "Materialized: retention must be a timedelta, not int",
    ),
    "materialized by a StoreSpec": (
        lambda: Materialized(supplier=StoreSpec("s", StoreKind.KEY_VALUE)),
        "Materialized: supplier must be a StoreSupplier, not StoreSpec",
    ),
    "logging": (
        lambda: Materialized("s", logging="yes"),
        "Materialized: logging must be a bool or Mapping, not str",
    ),
    "history": (
        lambda: StoreSupplier("s", history=5),
        "StoreSupplier: history must be a timedelta, not int",
    ),
    "kind of a store": (
        lambda: StoreSpec("s", "window"),
        "StoreSpec: kind must be a StoreKind, not str",
    ),
    "a store": (
        lambda: builder().add_state_store("s"),
        "add_state_store: store must be a StoreSpec, not str",
    ),
    "a global store": (
        lambda: builder().add_global_store("s", "t", Keep),
        "add_global_store: store must be a StoreSpec, not str",
    ),
    "a store of the processor API": (
        lambda: TopologyBuilder().add_state_store("s"),
        "a store must be a StoreSpec, not str",
    ),
    "materialized of a global table": (
        lambda: builder().global_table("t", materialized="s"),
        "global_table: materialized must be a Materialized, not str",
    ),
    "processor wrapper": (
        lambda: StreamsBuilder(processor_wrapper=5),
        "processor_wrapper 5 has no method wrap_processor_supplier(name, supplier): add one",
    ),
    "optimization": (
        lambda: StreamsBuilder(optimization=True),
        "StreamsBuilder: optimization must be a str, not bool",
    ),
    "application id": (
        lambda: StreamsConfig(None),
        "StreamsConfig: application_id must be a str, not NoneType",
    ),
    "default serde": (
        lambda: StreamsConfig("app", default_key=string),
        "StreamsConfig: default_key must be a Serde, not <function string",
    ),
    "emit interval": (
        lambda: StreamsConfig("app", window_emit_interval_ms=SECOND),
        "StreamsConfig: window_emit_interval_ms must be an int, not timedelta",
    ),
    "handler": (
        lambda: StreamsConfig("app", on_processing_error="continue"),
        "StreamsConfig: on_processing_error must be callable, not 'continue'",
    ),
    "handler of wrong arity": (
        lambda: StreamsConfig("app", on_production_error=lambda context, record, error: None),
        "StreamsConfig: on_production_error is called with (context, record, error, origin)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_argument_of_the_wrong_kind_is_named_with_what_it_must_be(case: str) -> None:
    call, sentence = REFUSED[case]
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch_records_max": 0}, "batch_records_max must be at least 1, not 0"),
        ({"cache_max_bytes": -1}, "cache_max_bytes must be at least 0, not -1"),
        ({"max_task_idle_ms": -2}, "max_task_idle_ms must be at least -1, not -2"),
        ({"application_id": ""}, "application_id must not be empty"),
    ],
)
def test_a_setting_that_cannot_be_is_a_value_error(
    options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        StreamsConfig(**{"application_id": "app", **options})


def test_a_store_whose_changelog_could_not_be_called_after_it_is_refused() -> None:
    given = StreamsBuilder()
    given.add_state_store(StoreSpec("my store", StoreKind.KEY_VALUE))
    with pytest.raises(TopologyError, match="the name of a store, and so of its changelog topic,"):
        given.build()


async def later(one: object, other: object) -> bool:
    return True


def rows(one: object, other: object) -> Iterator[object]:
    yield one


class Later:
    async def __call__(self, one: object, other: object) -> bool:
        return True

    async def process(self, record: object) -> None:
        pass


@pytest.mark.parametrize("function", [later, partial(later), Later(), Later().__call__])
def test_an_async_function_is_refused_because_nobody_would_wait_for_it(function: object) -> None:
    """A coroutine is true, so such a filter would let everything through."""
    with pytest.raises(TypeError, match="filter: predicate is async, but operators call functions"):
        stream().filter(function)


def test_a_processor_whose_process_is_async_is_refused() -> None:
    with pytest.raises(TypeError, match=r"process: process of .* is async"):
        stream().process(Later)


def test_a_generator_is_refused_where_nobody_would_iterate_over_it() -> None:
    """It would not even begin to run."""
    with pytest.raises(TypeError, match="peek: action is a generator, which only flat_map and"):
        stream().peek(rows)
    stream().flat_map(rows)


def test_a_processor_that_cannot_take_its_record_or_context_is_refused() -> None:
    class NoContext(Keep):
        def init(self) -> None:
            pass

    class NoRecord:
        def process(self) -> None:
            pass

    with pytest.raises(TypeError, match=r"init of .* is called with \(context\) but takes \(\)"):
        stream().process(NoContext)
    with pytest.raises(TypeError, match=r"process of .* is called with \(record\) but takes \(\)"):
        stream().process_values(NoRecord)


class Once:
    """Does one thing in init and one for each record."""

    def __init__(self, init: Callable, process: Callable) -> None:
        self._init = init
        self._process = process

    def init(self, context: ProcessorContext) -> None:
        self._context = context
        self._init(context)

    def process(self, record: Record) -> None:
        self._process(self._context, record)


def nothing(*_: object) -> None:
    pass


def pipe_one(init: Callable, process: Callable) -> None:
    given = StreamsBuilder()
    records = given.stream("in", key=string(), value=string())
    records.process(lambda: Once(init, process), name="mine").to(
        "out", key=string(), value=string()
    )
    with TopologyTestDriver(given.build()) as driver:
        driver.input_topic("in", key=string(), value=string()).pipe("a", "b", at=5)


@pytest.mark.parametrize(
    ("forwarded", "sentence"),
    [
        (("a", "b"), "what mine forwards must be a Record, not tuple"),
        (None, "what mine forwards must be a Record, not NoneType"),
        (Record("a", "b", None), "mine forwards a record with timestamp None: give milliseconds"),
        (Record("a", "b", -1), "mine forwards a record with timestamp -1: give milliseconds"),
        (
            Record("a", "b", 5, {"from": b"web"}),
            "headers of a record that mine forwards are a tuple of pairs",
        ),
        (
            Record("a", "b", 5, (("from", "web"),)),
            "headers of a record that mine forwards are a tuple of pairs",
        ),
    ],
)
def test_what_is_no_record_cannot_be_forwarded(forwarded: object, sentence: str) -> None:
    """Kafka Streams' Record refuses a negative timestamp; the rest Java's compiler does."""
    with pytest.raises(ProcessingError) as refused:
        pipe_one(nothing, lambda context, record: context.forward(forwarded))
    assert str(refused.value.__cause__).startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((5, "stream_time", nothing), "durations are timedelta, not 5"),
        (
            (SECOND, "soon", nothing),
            "mine: the kind of a punctuation is one of stream_time, wall_clock_time",
        ),
        (
            (SECOND, "stream_time", None),
            "mine: the callback of a punctuation must be callable, not None",
        ),
        ((SECOND, "stream_time", later), "mine: the callback of a punctuation is async"),
        ((SECOND, "stream_time", max, 1), "mine: start_ms"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_by_schedule(
    arguments: tuple[object, ...], sentence: str
) -> None:
    interval, kind, callback, *start = arguments
    options = {"start_ms": "soon"} if start else {}
    with pytest.raises(ProcessingError) as refused:
        pipe_one(lambda context: context.schedule(interval, kind, callback, **options), nothing)
    assert str(refused.value.__cause__).startswith(sentence)


def test_a_punctuation_may_be_scheduled_by_the_name_of_its_kind() -> None:
    """It was taken for one of wall-clock time, whose first time is later."""
    fired: list[int] = []
    pipe_one(lambda context: context.schedule(SECOND, "stream_time", fired.append), nothing)
    assert fired == [5]


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            {"kind": StoreKind.WINDOW},
            "store s of kind window needs retention_ms, 0 or more, not None",
        ),
        (
            {"kind": StoreKind.SESSION, "retention_ms": -1},
            "store s of kind session needs retention_ms",
        ),
        ({"kind": StoreKind.VERSIONED}, "store s of kind versioned needs retention_ms"),
        (
            {"kind": StoreKind.WINDOW, "retention_ms": 5},
            "store s of kind window needs window_size_ms, 0 or more, not None",
        ),
        (
            {"kind": StoreKind.TIMESTAMPED_WINDOW, "retention_ms": 5, "window_size_ms": 6},
            "store s keeps 5 ms, less than its windows of 6 ms: raise retention_ms",
        ),
    ],
)
def test_a_store_of_windows_says_how_long_it_keeps_them(spec: dict, sentence: str) -> None:
    """Kafka Streams' Stores refuse negative times, and windows that are longer than the retention."""
    with pytest.raises(ValueError, match=sentence):
        StoreSpec("s", **spec)


@pytest.mark.parametrize(
    ("brought", "sentence"),
    [
        (
            ["seen"],
            "process: the attribute stores of the supplier has StoreSpec objects, not 'seen'",
        ),
        (None, "process: the attribute stores of the supplier must be an Iterable, not NoneType"),
    ],
)
def test_a_supplier_brings_stores_not_names_of_stores(brought: object, sentence: str) -> None:
    class Bringing(Keep):
        stores = brought

    with pytest.raises(TypeError, match=sentence):
        stream().process(Bringing)
