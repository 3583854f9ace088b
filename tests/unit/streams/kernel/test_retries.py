"""map_values and map_values_async with retry=: records whose function fails wait in a store, and are tried again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millstream.streams import (
    ContextualProcessor,
    OnError,
    PunctuationType,
    Record,
    Retry,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    WaitingRecord,
)
from millstream.streams.errors import (
    ProcessingError,
    SerializationError,
)
from millstream.streams.queries import KeyQuery, RangeQuery, StateQueryRequest
from millstream.streams.serdes import integer, string
from millstream.testing import TestRecord, TopologyTestDriver
from tests.unit.streams.kernel.retrying import (
    Build,
    Service,
    awaited,
    ms,
    plain,
    retry,
    topology,
)


class Driven:
    """A topology on the test driver."""

    def __init__(self, given: Topology, **settings: Any) -> None:
        self.driver = TopologyTestDriver(given, StreamsConfig("app", **settings))

    def pipe(self, *rows: tuple[str | None, str]) -> None:
        topic = self.driver.input_topic("in", key=string(), value=string())
        for key, value in rows:
            topic.pipe(key, value, at=7)

    def advance(self, time_ms: int) -> None:
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
    driven.advance(9)
    assert (driven.out(), service.calls) == ([], ["x"])
    driven.advance(1)
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
        driven.advance(1)
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
    driven.advance(10)
    assert driven.out() == []
    driven.pipe(("a", "a4"))
    driven.advance(20)
    assert driven.out() == ["A1", "A2", "A3", "A4"]


def test_a_record_behind_another_one_has_failures_and_delays_of_its_own(
    drive: Callable[..., Driven],
) -> None:
    service = Service(a=2)
    driven = drive(topology(plain(service)))
    driven.pipe(("a", "a1"), ("a", "a2"))
    driven.advance(10)
    service.failures["a"] = 0
    driven.advance(20)
    assert driven.out() == ["A1", "A2"]
    service.failures["a"] = 2
    driven.pipe(("a", "a3"), ("a", "a4"))
    service.failures["a"] = 0
    driven.advance(9)
    assert driven.out() == []
    driven.advance(1)
    assert driven.out() == ["A3", "A4"]


def test_a_retried_record_has_its_own_key_timestamp_and_headers(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    driven = drive(topology(build(Service(a=1))))
    topic = driven.driver.input_topic("in", key=string(), value=string())
    topic.pipe("a", "x", at=123, headers=(("own", b"1"), ("none", None)))
    driven.pipe(("b", "y"))
    driven.advance(10)
    assert driven.records("out")[1] == TestRecord("a", "X", 123, (("own", b"1"), ("none", None)))


def test_a_value_that_is_none_is_given_to_the_function_again(drive: Callable[..., Driven]) -> None:
    failures = [ConnectionError()]

    def text(value: str | None) -> str:
        if failures:
            raise failures.pop()
        return str(value)

    driven = drive(topology(lambda stream, options: stream.map_values(text, retry=options)))
    driven.driver.input_topic("in", key=string(), value=string()).pipe("a", None)
    driven.advance(10)
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
    driven.advance(10)
    assert driven.driver.unread("dead") == 0
    driven.advance(20)
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
    driven.advance(1_000)
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
    driven.advance(5)
    driven.advance(2)
    (letter,) = driven.records("dead")
    assert (letter.key, letter.value, letter.timestamp) == ("5", "tick", 5)
    assert ("__streams.errors.topic", None) in letter.headers


def test_without_a_topic_for_dead_letters_the_task_stops_and_the_error_names_the_record(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    driven = drive(topology(build(Service(a=2)), retry(retries_max=1)))
    driven.pipe(("b", "b1"), ("a", "a1"))
    with pytest.raises(ProcessingError, match=r"node .* failed on in-0 offset 1: ConnectionError"):
        driven.advance(10)


def test_without_a_topic_for_dead_letters_the_handler_may_leave_the_record_out(
    build: Callable[[Service], Build], drive: Callable[..., Driven]
) -> None:
    driven = drive(
        topology(build(Service(a=2)), retry(retries_max=1)),
        on_processing_error=OnError.CONTINUE,
        dead_letter_topic="dlq",
    )
    driven.pipe(("a", "a1"), ("a", "a2"))
    driven.advance(10)
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
    driven.advance(10)
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
    driven.advance(10)
    assert driven.out() == ["N2"]
    (letter,) = driven.records("dead")
    assert (letter.key, letter.value) == (None, "n1")
    assert service.calls == []


def test_the_store_shows_who_waits_since_when_and_why(drive: Callable[..., Driven]) -> None:
    driven = drive(topology(plain(Service(a=9, ab=9, c=9))))
    driven.pipe(("c", "c1"), ("a", "a1"), ("ab", "b1"), ("a", "a2"))
    driven.advance(10)
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
        driven.advance(10)


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
    driven.advance(10)
    assert (seen, driven.out()) == (["asks"], ["X"])
