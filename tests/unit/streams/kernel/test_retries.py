"""map_values and map_values_async with retry=: records whose function fails wait in a store, and are tried again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.streams import (
    ContextualProcessor,
    KStream,
    OnError,
    PunctuationType,
    Record,
    Retry,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    WaitingRecord,
)
from millstream.streams.application.group.topology_description import describe
from millstream.streams.application.processing_rounds import records_min
from millstream.streams.errors import (
    ProcessingError,
    SerializationError,
    StreamsError,
    TopologyError,
)
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.queries import KeyQuery, RangeQuery, StateQueryRequest
from millstream.streams.serdes import integer, string
from millstream.streams.state import StoreFactory, in_memory_stores, rocksdb_stores
from millstream.streams.vectorised import vectorised
from millstream.testing import TestRecord, TopologyTestDriver

CHANGELOG = "app-retries-changelog"
Build = Callable[[KStream[str, str], Retry[str, str]], KStream[str, str]]


def ms(count: int) -> timedelta:
    return timedelta(milliseconds=count)


class Service:
    """Fails for a key as often as `failures` says, then answers in capitals. `calls` has the values it was asked for."""

    def __init__(self, **failures: int) -> None:
        self.failures = Counter(failures)
        self.calls: list[str] = []

    def __call__(self, key: str, value: str) -> str:
        self.calls.append(value)
        if self.failures[key] > 0:
            self.failures[key] -= 1
            raise ConnectionError(f"no answer for {key}")
        return value.upper()


def retry(**options: Any) -> Retry[str, str]:
    return Retry("retries", **{"delay_initial": ms(10), "delay_max": ms(1_000)} | options)


def plain(service: Callable[[str, str], str]) -> Build:
    return lambda stream, options: stream.map_values(service, with_key=True, retry=options)


def awaited(service: Callable[[str, str], str], **limits: Any) -> Build:
    async def ask(key: str, value: str) -> str:
        await asyncio.sleep(0)
        return service(key, value)

    return lambda stream, options: stream.map_values_async(
        ask, with_key=True, retry=options, **limits
    )


def topology(build: Build, options: Retry[str, str] | None = None) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=string(), value=string())
    build(stream, options or retry()).to("out", value=string())
    return builder.build()


class Driven:
    """A topology on the test driver."""

    def __init__(self, given: Topology, **settings: Any) -> None:
        self.driver = TopologyTestDriver(given, StreamsConfig("app", **settings))

    def pipe(self, *rows: tuple[str | None, str]) -> None:
        topic = self.driver.input_topic("in", key=string(), value=string())
        for key, value in rows:
            topic.pipe(key, value, at=7)

    def wait(self, time_ms: int) -> None:
        self.driver.advance_wall_clock(ms(time_ms))

    def out(self) -> list[str]:
        return [record.value or "" for record in self.records("out")]

    def records(self, topic: str) -> list[TestRecord[str, str]]:
        return self.driver.output_topic(topic, key=string(), value=string()).read()

    def waiting(self, key: str) -> list[WaitingRecord]:
        return self.driver.key_value_store("retries").get(key) or []


@pytest.fixture(params=[plain, awaited])
def build(request: pytest.FixtureRequest) -> Callable[[Service], Build]:
    """A rule holds whichever kind the function is of."""
    made: Callable[[Service], Build] = request.param
    return made


@pytest.fixture
def drive() -> Iterator[Callable[..., Driven]]:
    opened: list[Driven] = []

    def open_driver(given: Topology, **settings: Any) -> Driven:
        opened.append(Driven(given, **settings))
        return opened[-1]

    yield open_driver
    for each in opened:
        each.driver.close()


def test_a_record_that_fails_is_tried_again_when_its_delay_is_over_and_not_before(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    service = Service(a=1)
    driven = drive(topology(build(service)))
    driven.pipe(("a", "x"))
    driven.wait(9)
    assert (driven.out(), service.calls) == ([], ["x"])
    driven.wait(1)
    assert (driven.out(), service.calls) == (["X"], ["x", "x"])
    assert driven.waiting("a") == []


def test_each_delay_is_longer_than_the_one_before_up_to_the_longest(
    drive: Callable[..., Driven],
) -> None:
    service = Service(a=6)
    options = retry(delay_multiplier=3.0, delay_max=ms(100))
    driven = drive(topology(plain(service), options))
    driven.pipe(("a", "x"))
    times = []
    for time_ms in range(1, 500):
        before = len(service.calls)
        driven.wait(1)
        if len(service.calls) > before:
            times.append(time_ms)
    assert times == [10, 40, 130, 230, 330, 430]


def test_later_records_of_a_key_wait_behind_it_and_other_keys_go_on(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    driven = drive(topology(build(Service(a=2))))
    driven.pipe(("a", "a1"), ("b", "b1"), ("a", "a2"), ("b", "b2"), ("a", "a3"))
    assert driven.out() == ["B1", "B2"]
    assert [each.value for each in driven.waiting("a")] == ["a1", "a2", "a3"]
    driven.wait(10)
    assert driven.out() == []
    driven.pipe(("a", "a4"))
    driven.wait(20)
    assert driven.out() == ["A1", "A2", "A3", "A4"]


def test_a_record_behind_another_one_has_failures_and_delays_of_its_own(
    drive: Callable[..., Driven],
) -> None:
    service = Service(a=2)
    driven = drive(topology(plain(service)))
    driven.pipe(("a", "a1"), ("a", "a2"))
    driven.wait(10)
    service.failures["a"] = 0
    driven.wait(20)
    assert driven.out() == ["A1", "A2"]
    service.failures["a"] = 2
    driven.pipe(("a", "a3"), ("a", "a4"))
    service.failures["a"] = 0
    driven.wait(9)
    assert driven.out() == []
    driven.wait(1)
    assert driven.out() == ["A3", "A4"]


def test_a_retried_record_has_its_own_key_timestamp_and_headers(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    driven = drive(topology(build(Service(a=1))))
    topic = driven.driver.input_topic("in", key=string(), value=string())
    topic.pipe("a", "x", at=123, headers=(("own", b"1"), ("none", None)))
    driven.pipe(("b", "y"))
    driven.wait(10)
    assert driven.records("out")[1] == TestRecord("a", "X", 123, (("own", b"1"), ("none", None)))


def test_a_value_that_is_none_is_given_to_the_function_again(drive: Callable[..., Driven]) -> None:
    failures = [ConnectionError()]

    def text(value: str | None) -> str:
        if failures:
            raise failures.pop()
        return str(value)

    driven = drive(topology(lambda stream, options: stream.map_values(text, retry=options)))
    driven.driver.input_topic("in", key=string(), value=string()).pipe("a", None)
    driven.wait(10)
    assert driven.out() == ["None"]


def test_after_the_last_retry_a_record_is_a_dead_letter_and_its_key_goes_on(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    service = Service(a=3)
    driven = drive(topology(build(service), retry(retries_max=2, dead_letters="dead")))
    driven.driver.input_topic("in", key=string(), value=string()).pipe(
        "a", "a1", at=5, headers=(("own", b"1"),)
    )
    driven.pipe(("a", "a2"))
    driven.wait(10)
    assert driven.driver.unread("dead") == 0
    driven.wait(20)
    assert driven.out() == ["A2"]
    assert service.calls == ["a1", "a1", "a1", "a2"]
    (letter,) = driven.records("dead")
    assert (letter.key, letter.value, letter.timestamp) == ("a", "a1", 5)
    assert letter.headers[0] == ("own", b"1")
    told = {name.rpartition(".")[2]: text for name, text in letter.headers[1:]}
    assert list(told) == ["exception", "message", "stacktrace", "topic", "partition", "offset"]
    assert told["exception"] == b"builtins.ConnectionError"
    assert told["message"] == b"no answer for a"
    assert (told["topic"], told["partition"], told["offset"]) == (b"in", b"0", b"0")
    assert driven.driver.dropped_records == 1


def test_a_dead_letter_has_the_bytes_that_the_task_had_read(drive: Callable[..., Driven]) -> None:
    builder = StreamsBuilder()
    lengths = builder.stream("in", key=string(), value=string()).map_values(len)
    options = Retry("retries", retries_max=1, dead_letters="dead", value=integer())
    lengths.map_values(lambda length: length // 0, retry=options)
    driven = drive(builder.build())
    driven.pipe(("a", "four"))
    driven.wait(1_000)
    (letter,) = driven.records("dead")
    assert (letter.key, letter.value) == ("a", "four")


def test_a_dead_letter_of_a_record_that_nobody_has_read_is_what_the_function_was_given(
    drive: Callable[..., Driven],
) -> None:
    class Ticks(ContextualProcessor[str, str, str, str]):
        def init(self, context: Any) -> None:
            super().init(context)
            context.schedule(ms(5), PunctuationType.WALL_CLOCK_TIME, self.tick)

        def tick(self, time_ms: int) -> None:
            self.context.forward(Record(str(time_ms), "tick", time_ms))

        def process(self, record: Record[str, str]) -> None:
            raise AssertionError("no record comes")

    builder = StreamsBuilder()
    ticks = builder.stream("in", key=string(), value=string()).process(Ticks)
    options = Retry(
        "retries", ms(2), retries_max=1, dead_letters="dead", key=string(), value=string()
    )
    ticks.map_values(Service(**{"5": 2}), with_key=True, retry=options)
    driven = drive(builder.build())
    driven.wait(5)
    driven.wait(2)
    (letter,) = driven.records("dead")
    assert (letter.key, letter.value, letter.timestamp) == ("5", "tick", 5)
    assert ("__streams.errors.topic", None) in letter.headers


def test_without_a_topic_for_dead_letters_the_task_stops_and_the_error_names_the_record(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    driven = drive(topology(build(Service(a=2)), retry(retries_max=1)))
    driven.pipe(("b", "b1"), ("a", "a1"))
    with pytest.raises(ProcessingError, match=r"node .* failed on in-0 offset 1: ConnectionError"):
        driven.wait(10)


def test_without_a_topic_for_dead_letters_the_handler_may_leave_the_record_out(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    driven = drive(
        topology(build(Service(a=2)), retry(retries_max=1)),
        on_processing_error=OnError.CONTINUE,
        dead_letter_topic="dlq",
    )
    driven.pipe(("a", "a1"), ("a", "a2"))
    driven.wait(10)
    assert driven.out() == ["A2"]
    (letter,) = driven.records("dlq")
    assert (letter.key, letter.value) == ("a", "a1")
    assert driven.driver.dropped_records == 1


@pytest.mark.parametrize("kinds", [OSError, (ValueError, ConnectionError)])
def test_only_the_exceptions_that_are_named_are_retried(
    kinds: Any, drive: Callable[..., Driven]
) -> None:
    errors = {"a": ConnectionError("away"), "b": KeyError("no such customer")}

    def ask(key: str, value: str) -> str:
        if key in errors:
            raise errors.pop(key)
        return value

    driven = drive(topology(plain(ask), retry(retry_on=kinds, dead_letters="dead")))
    driven.pipe(("a", "a1"), ("b", "b1"), ("b", "b2"))
    assert [record.value for record in driven.records("dead")] == ["b1"]
    assert driven.out() == ["b2"]
    driven.wait(10)
    assert driven.out() == ["a1"]


def test_no_retries_at_all_make_a_dead_letter_at_once(drive: Callable[..., Driven]) -> None:
    driven = drive(topology(plain(Service(a=1)), retry(retries_max=0, dead_letters="dead")))
    driven.pipe(("a", "a1"))
    assert [record.value for record in driven.records("dead")] == ["a1"]


def test_records_without_a_key_wait_for_none(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    failures = Counter({"n1": 2, "n2": 1})
    service = Service()

    def ask(_: str | None, value: str) -> str:
        if failures[value]:
            failures[value] -= 1
            raise ConnectionError
        return value.upper()

    driven = drive(topology(build(ask), retry(retries_max=1, dead_letters="dead")))  # type: ignore[arg-type]  # a service, too
    driven.pipe((None, "n1"), (None, "n2"), (None, "n3"))
    assert driven.out() == ["N3"]
    rows = list(driven.driver.key_value_store("retries").all())
    assert sorted((key, record.value) for key, (record,) in rows) == [(None, "n1"), (None, "n2")]
    driven.wait(10)
    assert driven.out() == ["N2"]
    (letter,) = driven.records("dead")
    assert (letter.key, letter.value) == (None, "n1")
    assert service.calls == []


def test_the_store_shows_who_waits_since_when_and_why(drive: Callable[..., Driven]) -> None:
    driven = drive(topology(plain(Service(a=9, ab=9, c=9))))
    driven.pipe(("c", "c1"), ("a", "a1"), ("ab", "b1"), ("a", "a2"))
    driven.wait(10)
    first, second = driven.waiting("a")
    assert (first.failures, first.due_ms) == (2, 30)
    assert first.error == "ConnectionError('no answer for a')"
    assert (first.context.topic, first.context.offset, first.context.timestamp) == ("in", 1, 7)
    assert (second.failures, second.error, second.context.offset) == (0, None, 3)
    view = driven.driver.key_value_store("retries")
    assert view.approximate_num_entries() == 3
    assert [key for key, _ in view.all()] == ["a", "ab", "c"]
    assert [key for key, _ in view.reverse_range("a", "b")] == ["ab", "a"]
    assert [key for key, _ in view.prefix_scan("a", string())] == ["a", "ab"]
    assert view.get("nobody") is None
    query = driven.driver.query
    found = query(StateQueryRequest("retries", KeyQuery("a"))).only_partition_result()
    assert found is not None
    assert found.value == [first, second]
    found = query(StateQueryRequest("retries", RangeQuery("b", None))).only_partition_result()
    assert found is not None
    assert [key for key, _ in found.value] == ["c"]


def test_jitter_shortens_delays_by_what_follows_from_the_record(
    drive: Callable[..., Driven],
) -> None:
    def due() -> list[int]:
        keys = [f"k{number}" for number in range(20)]
        service = Service(**dict.fromkeys(keys, 1))
        options = retry(delay_initial=ms(1_000), jitter=0.5)
        driven = drive(topology(plain(service), options))
        driven.pipe(*((key, "v") for key in keys))
        return [driven.waiting(key)[0].due_ms for key in keys]

    times = due()
    assert due() == times
    assert len(set(times)) > 15
    assert all(500 <= time <= 1_000 for time in times)


def test_what_a_sink_cannot_write_of_a_retried_record_is_a_failure_of_its_node(
    drive: Callable[..., Driven],
) -> None:
    service = Service(a=1)
    builder = StreamsBuilder()
    stream = builder.stream("in", key=string(), value=string())
    failing = stream.map_values(service, with_key=True, retry=retry(), name="asks")
    failing.to("out", value=integer())  # type: ignore[arg-type]  # the mistake
    driven = drive(builder.build())
    driven.pipe(("a", "x"))
    with pytest.raises(SerializationError, match=r"sink .* cannot write the value to out"):
        driven.wait(10)


def test_a_wrapped_operator_retries_too(drive: Callable[..., Driven]) -> None:
    seen: list[str] = []

    class Noting:
        def wrap_processor_supplier(self, name: str, supplier: Any) -> Any:
            seen.append(name)
            return supplier

        wrap_fixed_key_processor_supplier = wrap_processor_supplier

    builder = StreamsBuilder(processor_wrapper=Noting())
    stream = builder.stream("in", key=string(), value=string())
    stream.map_values(Service(a=1), with_key=True, retry=retry(), name="asks").to("out")
    driven = drive(builder.build(), default_value=string())
    driven.pipe(("a", "x"))
    driven.wait(10)
    assert (seen, driven.out()) == (["asks"], ["X"])


# The task: batches, punctuations without records, rollbacks, restores.


def task_of(given: Topology, stores: StoreFactory | None = None, **settings: Any) -> StreamTask:
    config = StreamsConfig("app", **settings)
    return StreamTask(given, 0, 0, stores or in_memory_stores(), config)


def add(task: StreamTask, first: int, *rows: tuple[str, str]) -> None:
    keys, values = [key.encode() for key, _ in rows], [value.encode() for _, value in rows]
    task.add("in", RawBatch(keys, values, [0] * len(rows), range(first, first + len(rows))))


def written(task: StreamTask, now_ms: int, *, records_max: int | None = None) -> list[bytes]:
    sink = task.process(now_ms, records_max).sinks.get("out")
    return [] if sink is None else [value or b"" for value in sink.values]


ROWS = [("a", "a1"), ("b", "b1"), ("a", "a2"), ("b", "b2"), ("c", "c1")]


def test_a_batch_gives_what_its_records_give_one_by_one(build: Callable[[Service], Build]) -> None:
    task = task_of(topology(build(Service(a=1))))
    add(task, 0, *ROWS)
    assert written(task, 5) == [b"B1", b"B2", b"C1"]
    assert task.next_punctuation_ms == 15
    assert written(task, 15, records_max=0) == [b"A1", b"A2"]
    assert task.next_punctuation_ms is None


def test_a_rolled_back_retry_is_made_again(build: Callable[[Service], Build]) -> None:
    task = task_of(topology(build(Service(a=1))))
    add(task, 0, *ROWS)
    written(task, 5)
    task.prepare_commit()
    task.commit()
    assert written(task, 15) == [b"A1", b"A2"]
    task.rollback()
    assert task.next_punctuation_ms == 15
    assert written(task, 15, records_max=0) == [b"A1", b"A2"]


def test_a_rolled_back_failure_is_forgotten(build: Callable[[Service], Build]) -> None:
    task = task_of(topology(build(Service(a=1))))
    add(task, 0, *ROWS)
    written(task, 5)
    task.rollback()
    assert task.next_punctuation_ms is None
    add(task, 0, *ROWS)
    assert written(task, 6) == [b"A1", b"B1", b"A2", b"B2", b"C1"]


def test_a_store_that_is_restored_from_its_changelog_goes_on_where_the_last_one_stopped(
    build: Callable[[Service], Build],
) -> None:
    service = Service(a=2)
    given = topology(build(service))
    task = task_of(given)
    add(task, 0, *ROWS)
    output = task.process(5)
    (log,) = output.changelogs.values()
    assert log.topic == CHANGELOG
    assert written(task, 15, records_max=0) == []
    log_of_retry = task.prepare_commit().output.changelogs
    again = task_of(given)
    first_offset = 0
    for each in (log, log_of_retry.get(CHANGELOG)):
        if each is not None:
            offsets = range(first_offset, first_offset + len(each))
            again.restore(CHANGELOG, RawBatch(each.keys, each.values, each.timestamps, offsets))
            first_offset += len(each)
    assert again.next_punctuation_ms is not None
    add(again, 5, ("a", "a3"))
    assert written(again, 5) == []
    assert written(again, 10_000, records_max=0) == [b"A1", b"A2", b"A3"]


def test_a_task_that_is_opened_again_on_its_stores_retries_without_a_record(
    build: Callable[[Service], Build], tmp_path: Path
) -> None:
    given, stores = topology(build(Service(a=1))), rocksdb_stores(tmp_path)
    task = task_of(given, stores)
    add(task, 0, *ROWS)
    written(task, 5)
    task.prepare_commit()
    task.commit()
    task.close()
    again = task_of(given, stores)
    assert again.next_punctuation_ms == 15
    assert written(again, 15, records_max=0) == [b"A1", b"A2"]
    again.close()


def test_records_of_a_store_whose_serde_has_changed_stop_the_task(tmp_path: Path) -> None:
    stores = rocksdb_stores(tmp_path)
    task = task_of(topology(plain(Service(a=1))), stores)
    add(task, 0, ("a", "no integer"))
    written(task, 5)
    task.prepare_commit()
    task.commit()
    task.close()
    changed: Any = retry(value=integer())
    again = task_of(
        topology(plain(Service()), changed), stores, on_processing_error=OnError.CONTINUE
    )
    add(again, 2, ("b", "b1"))
    with pytest.raises(SerializationError, match="store retries cannot be read with serde"):
        again.process(15, 0)
    again.close()


def test_retries_end_after_a_round_and_go_on_with_the_next() -> None:
    time = iter(range(0, 100_000, 60))
    task = task_of(topology(plain(Service(a=1))))
    add(task, 0, *(("a", f"a{number}") for number in range(5)))
    written(task, 5)
    task.measure_with(lambda: next(time))
    rounds = []
    while task.next_punctuation_ms is not None:
        rounds.append(len(written(task, 15, records_max=0)))
    assert sum(rounds) == 5
    assert max(rounds) == 2


def test_calls_for_keys_that_are_due_together_run_side_by_side() -> None:
    keys = [f"k{number}" for number in range(6)]
    failures = Counter(dict.fromkeys(keys, 1))
    inside: Counter[str] = Counter()

    async def ask(key: str, value: str) -> str:
        if failures[key]:
            failures[key] -= 1
            raise ConnectionError
        inside["now"] += 1
        inside["most"] = max(inside["most"], inside["now"])
        await asyncio.sleep(0)
        inside["now"] -= 1
        return value

    task = task_of(
        topology(
            lambda stream, options: stream.map_values_async(
                ask, with_key=True, retry=options, max_in_flight=4
            )
        )
    )
    add(task, 0, *((key, "v") for key in keys))
    written(task, 0)
    assert len(written(task, 10)) == 6
    assert inside["most"] == 4
    task.close()


def test_a_call_that_takes_too_long_is_retried_and_others_go_on() -> None:
    hangs = [True]

    async def ask(key: str, value: str) -> str:
        if key == "a" and hangs and hangs.pop():
            await asyncio.Event().wait()
        return value

    given = topology(
        lambda stream, options: stream.map_values_async(
            ask, with_key=True, retry=options, timeout_ms=20
        )
    )
    task = task_of(given)
    add(task, 0, *ROWS)
    assert written(task, 0) == [b"b1", b"b2", b"c1"]
    (first, _) = task.query(StateQueryRequest("retries", KeyQuery("a"))).value
    assert "the call was not answered in 20 ms" in first.error
    assert written(task, 10) == [b"a1", b"a2"]
    task.close()


def test_records_behind_one_that_is_given_up_are_not_lost() -> None:
    """An async function is not called for them any more in that batch: they wait, and are called by the clock."""

    async def ask(value: str) -> str:
        if value == "a1":
            raise KeyError(value)
        return value

    task = task_of(
        topology(
            lambda stream, options: stream.map_values_async(ask, retry=options),
            retry(retries_max=0, dead_letters="dead"),
        )
    )
    add(task, 0, *ROWS)
    output = task.process(3)
    assert list(output.sinks["dead"].values) == [b"a1"]
    assert list(output.sinks["out"].values) == [b"b1", b"b2", b"c1"]
    assert written(task, 3, records_max=0) == [b"a2"]
    task.close()


def test_rounds_are_large_enough_for_an_async_function_with_retries() -> None:
    assert records_min(topology(awaited(Service(), max_in_flight=10)), 0) == 40
    assert records_min(topology(plain(Service())), 0) == 1


# The topology.


def test_the_node_is_called_as_without_retries_and_so_are_all_others() -> None:
    def described(**options: Any) -> str:
        builder = StreamsBuilder()
        stream = builder.stream("in", key=string(), value=string())
        mapped = stream.map_values(str.upper, **options)
        mapped.group_by_key(value=string()).count().to_stream().to("out")
        return str(builder.build().describe())

    shown = described(retry=retry())
    assert shown.replace("(stores: [retries])", "(stores: [])") == described()
    assert "KSTREAM-MAPVALUES-0000000001 (stores: [retries])" in shown


def test_the_changelog_of_the_store_is_told_to_the_group() -> None:
    (told,) = describe(topology(plain(Service())), "app").subtopologies
    (changelog,) = told.state_changelog_topics
    assert changelog.name == CHANGELOG
    assert {each.key: each.value for each in changelog.topic_configs}["cleanup.policy"] == "compact"


def test_values_of_an_unknown_type_need_a_serde() -> None:
    builder = StreamsBuilder()
    lengths = builder.stream("in", key=string(), value=string()).map_values(len)
    lengths.map_values(abs, retry=Retry("retries"))
    with pytest.raises(StreamsError, match="the value of store retries has no serde"):
        task_of(builder.build())


def test_a_value_that_the_serde_cannot_write_stops_the_task() -> None:
    wrong: Any = retry(value=integer())
    task = task_of(topology(plain(Service(a=1)), wrong))
    add(task, 0, ("a", "x"))
    with pytest.raises(SerializationError, match="store retries cannot write key str"):
        task.process(0)


@vectorised
def _columns(values: Any) -> Any:
    raise NotImplementedError(values)


@pytest.mark.parametrize(
    ("mapper", "options", "error", "words"),
    [
        (_columns, {}, TypeError, "vectorised"),
        (str.upper, {"dead_letters": "no topic"}, TopologyError, "dead letters of KSTREAM"),
    ],
)
def test_what_cannot_be_retried_is_refused(
    mapper: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    stream = StreamsBuilder().stream("in", key=string(), value=string())
    with pytest.raises(error, match=words):
        stream.map_values(mapper, retry=retry(**options))


def test_a_name_in_place_of_the_options_is_refused() -> None:
    stream: Any = StreamsBuilder().stream("in", key=string(), value=string())
    with pytest.raises(TypeError, match="retry must be a Retry, not str"):
        stream.map_values(str.upper, retry="retries")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay_initial": ms(0)}, "delay_initial must be at least 1 ms"),
        ({"delay_max": ms(9)}, "delay_max of 0:00:00.009000 is shorter than delay_initial"),
        ({"delay_multiplier": 0.5}, "delay_multiplier must be a number of at least 1, not 0.5"),
        ({"delay_multiplier": float("nan")}, "delay_multiplier must be"),
        ({"jitter": 1.5}, "jitter must be from 0 to 1, not 1.5"),
        ({"retries_max": -1}, "retries_max must not be negative"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        retry(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay_initial": 5}, "delay_initial must be a timedelta"),
        ({"retry_on": KeyboardInterrupt}, "retry_on has classes of exceptions, not"),
        ({"retry_on": (OSError, "other")}, "retry_on has classes of exceptions, not 'other'"),
        ({"retry_on": OSError()}, "retry_on must be a type or tuple"),
        ({"retries_max": "3"}, "retries_max must be an int"),
        ({"key": str}, "key must be a Serde"),
    ],
)
def test_options_of_another_type_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        retry(**options)
