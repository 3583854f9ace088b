"""Handlers of errors: what they are told, what their answers do. Expected values are those of Kafka Streams 4.3.1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from millstream.errors import RequestTimedOut
from millstream.streams import (
    ErrorContext,
    OnError,
    OutgoingRecord,
    ProcessorContext,
    PunctuationType,
    Record,
    Response,
    SerializationOrigin,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    dead_letter,
)
from millstream.streams.errors import ProcessingError, SerializationError, StreamsError
from millstream.streams.handlers import Answer, Headers
from millstream.streams.kernel import StreamTask
from millstream.streams.serdes import Serde, integer, string
from millstream.streams.state import in_memory_stores
from millstream.streams.topology import StoreSpec
from millstream.streams.topology.stores import StoreKind
from millstream.testing import TopologyTestDriver

OWN: Headers = (("h", b"1"),)
LETTER = OutgoingRecord("letters", b"k", b"v", 5)


def _picky(value: str) -> bytes:
    if value.startswith("bad"):
        raise ValueError("cannot")
    return value.encode()


PICKY: Serde[str] = Serde("picky", encode=_picky, decode=bytes.decode)


class Asked:
    """A handler that answers what it was made with, and remembers what it was told."""

    def __init__(self, answer: object) -> None:
        self._answer = answer
        self.told: list[tuple[object, ...]] = []

    def __call__(self, *told: object) -> Answer:
        self.told.append(told)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer  # type: ignore[return-value]  # some tests answer nonsense

    @property
    def context(self) -> ErrorContext:
        place = self.told[-1][0]
        assert isinstance(place, ErrorContext)
        return place


class Shouter:
    """Changes value and time, then forwards; punctuations fail from 100 on, and forward from 200 on."""

    def init(self, context: ProcessorContext) -> None:
        self._context = context
        context.schedule(timedelta(milliseconds=10), PunctuationType.STREAM_TIME, self._on_time)

    def process(self, record: Record) -> None:
        if record.value == "boom":
            raise RuntimeError("boom")
        self._context.forward(record.with_value(record.value + "!").with_timestamp(77))

    def _on_time(self, time_ms: int) -> None:
        if time_ms >= 200:
            self._context.forward(Record("pk", "bad", time_ms))
        elif time_ms >= 100:
            raise RuntimeError("punctuation")


def shouting() -> Topology:
    def refuse_bad(value: str) -> str:
        if value.startswith("bad"):
            raise LookupError("bad value")
        return value

    builder = StreamsBuilder()
    shouted = builder.stream("in", name="src").process(Shouter, name="proc")
    shouted.map_values(refuse_bad, name="map").to("out", name="snk")
    return builder.build()


def config(**handlers: object) -> StreamsConfig:
    return StreamsConfig("app", string(), string(), **handlers)  # type: ignore[arg-type]  # handlers by name


@contextmanager
def running(topology: Topology, settings: StreamsConfig) -> Iterator[Callable[..., list[object]]]:
    """A function that pipes one value and gives what came out of `out` and `letters`."""
    with TopologyTestDriver(topology, settings) as driver:

        def pipe(value: str, at: int = 1) -> list[object]:
            driver.pipe_bytes("in", b"k", value.encode(), timestamp=at, headers=OWN)
            rows = [*driver.read_bytes("out"), *driver.read_bytes("letters")]
            return [each.value for each in rows]

        yield pipe


def test_a_processing_handler_is_told_place_node_task_bytes_and_record() -> None:
    handler = Asked(OnError.CONTINUE)
    with running(shouting(), config(on_processing_error=handler)) as pipe:
        assert pipe("a") == [b"a!"]
        assert pipe("bad", at=3) == []
    context, record, error = handler.told[0]
    assert context == ErrorContext("in", 0, 1, OWN, "map", "0_0", 77, b"k", b"bad")
    assert record == Record("k", "bad!", 77, OWN)
    assert isinstance(error, LookupError)


def test_what_was_forwarded_before_the_failure_is_not_undone() -> None:
    class ForwardsThenFails:
        def init(self, context: ProcessorContext) -> None:
            self._context = context

        def process(self, record: Record) -> None:
            self._context.forward(record)
            raise RuntimeError("after")

    builder = StreamsBuilder()
    builder.stream("in").process(ForwardsThenFails).to("out")
    with running(builder.build(), config(on_processing_error=OnError.CONTINUE)) as pipe:
        assert pipe("a") == [b"a"]


def test_a_failing_punctuation_has_no_record_and_no_place() -> None:
    handler = Asked(OnError.CONTINUE)
    with running(shouting(), config(on_processing_error=handler)) as pipe:
        assert pipe("a", at=100) == [b"a!"]
    assert handler.told[0][:2] == (ErrorContext(None, -1, -1, (), "proc", "0_0", 100), None)


def test_a_record_of_a_punctuation_has_no_place() -> None:
    handler = Asked(OnError.CONTINUE)
    with running(shouting(), config(on_processing_error=handler)) as pipe:
        pipe("a", at=205)
    assert handler.told[0][0] == ErrorContext(None, -1, -1, (), "map", "0_0", 205)
    assert handler.told[0][1] == Record("pk", "bad", 205)


def test_a_punctuation_leaves_a_dead_letter_without_topic() -> None:
    settings = config(on_processing_error=OnError.CONTINUE, dead_letter_topic="letters")
    with TopologyTestDriver(shouting(), settings) as driver:
        driver.pipe_bytes("in", b"k", b"a", timestamp=100)
        (letter,) = driver.read_bytes("letters")
    assert (letter.key, letter.value, letter.timestamp) == (None, None, 100)
    headers = dict(letter.headers)
    assert headers["__streams.errors.topic"] is None
    assert headers["__streams.errors.partition"] == b"-1"
    assert headers["__streams.errors.offset"] == b"-1"


@pytest.mark.parametrize("action", [OnError.CONTINUE, OnError.FAIL])
def test_dead_letters_of_a_handler_are_written_whatever_it_decides(action: OnError) -> None:
    settings = config(on_processing_error=Asked(Response(action, (LETTER,))))
    with running(shouting(), settings) as pipe:
        if action is OnError.FAIL:
            with pytest.raises(ProcessingError, match="node map failed on in-0 offset 0"):
                pipe("bad")
            assert pipe("a") == [b"a!", b"v"]
        else:
            assert pipe("bad") == [b"v"]


def test_the_built_in_fail_writes_a_dead_letter_too() -> None:
    settings = config(dead_letter_topic="letters")
    with running(shouting(), settings) as pipe:
        with pytest.raises(ProcessingError):
            pipe("boom")
        assert pipe("a") == [b"a!", b"boom"]


def test_a_handler_of_ones_own_makes_the_standard_dead_letter_itself() -> None:
    def handler(context: ErrorContext, _record: Record | None, error: Exception) -> Response:
        return Response(OnError.CONTINUE, (dead_letter("letters", context, error),))

    with running(shouting(), config(on_processing_error=handler)) as pipe:
        assert pipe("boom") == [b"boom"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "the processing handler answered None"),
        (RuntimeError("broke"), "the processing handler itself failed: RuntimeError\\('broke'\\)"),
        (Response(OnError.CONTINUE, (OutgoingRecord("letters", 1, None, 0),)), "key int and value"),
    ],
)
def test_a_handler_that_fails_stops_the_task(answer: object, said: str) -> None:
    with (
        running(shouting(), config(on_processing_error=Asked(answer))) as pipe,
        pytest.raises(StreamsError, match=said),
    ):
        pipe("boom")


def test_retry_of_a_processing_handler_means_fail() -> None:
    with (
        running(shouting(), config(on_processing_error=Asked(OnError.RETRY))) as pipe,
        pytest.raises(ProcessingError),
    ):
        pipe("boom")


def test_no_other_handler_is_asked_after_fail() -> None:
    handler = Asked(OnError.FAIL)
    with running(shouting(), config(on_processing_error=handler)) as pipe:
        with pytest.raises(ProcessingError):
            pipe("bad")
        assert len(handler.told) == 1


# Deserialization.


def reading_numbers() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in", value=integer(), name="src").to("out", value=integer())
    return builder.build()


def test_a_deserialization_handler_is_told_the_bytes() -> None:
    handler = Asked(OnError.CONTINUE)
    with running(reading_numbers(), config(on_deserialization_error=handler)) as pipe:
        assert pipe("abc", at=4) == []
        assert pipe("1234") == [b"1234"]
    context, record, error = handler.told[0]
    assert context == ErrorContext("in", 0, 0, OWN, "src", "0_0", 4, b"k", b"abc")
    assert record == Record(b"k", b"abc", 4, OWN)
    assert isinstance(error, ValueError)


def test_after_fail_the_driver_goes_on_with_the_next_record() -> None:
    with running(reading_numbers(), config()) as pipe:
        with pytest.raises(SerializationError, match="in-0 offset 0 cannot be read"):
            pipe("abc")
        assert pipe("1234") == [b"1234"]


# Production.


def picky_sink(*, of_source: bool = False) -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in", name="src")
    above = stream if of_source else stream.map_values(lambda value: value, name="map")
    above.to("out", value=PICKY, name="snk")
    return builder.build()


def test_a_production_handler_is_told_which_half_cannot_be_written() -> None:
    handler = Asked(OnError.CONTINUE)
    with running(picky_sink(), config(on_production_error=handler)) as pipe:
        assert pipe("bad") == []
        assert pipe("good") == [b"good"]
    context, record, error, origin = handler.told[0]
    assert context == ErrorContext("in", 0, 0, OWN, "snk", "0_0", 1, b"k", b"bad")
    assert record == OutgoingRecord("out", "k", "bad", 1, OWN)
    assert isinstance(error, ValueError)
    assert origin is SerializationOrigin.VALUE


def test_a_key_that_cannot_be_written_is_told_as_key() -> None:
    builder = StreamsBuilder()
    builder.stream("in").select_key(lambda _, value: value).to("out", key=PICKY)
    handler = Asked(OnError.CONTINUE)
    with running(builder.build(), config(on_production_error=handler)) as pipe:
        assert pipe("bad") == []
    assert handler.told[0][3] is SerializationOrigin.KEY


@pytest.mark.parametrize("action", [OnError.FAIL, OnError.RETRY])
def test_what_the_production_handler_refuses_goes_to_the_processing_handler_above(
    action: OnError,
) -> None:
    processing = Asked(OnError.CONTINUE)
    handlers = config(on_production_error=Asked(action), on_processing_error=processing)
    with running(picky_sink(), handlers) as pipe:
        assert pipe("bad") == []
    assert processing.context.node == "map"
    assert isinstance(processing.told[0][2], SerializationError)


def test_a_sink_right_below_a_source_stops_the_task() -> None:
    processing = Asked(OnError.CONTINUE)
    with (
        running(picky_sink(of_source=True), config(on_processing_error=processing)) as pipe,
        pytest.raises(SerializationError, match="sink snk cannot write the value to out"),
    ):
        pipe("bad")
    assert not processing.told


def test_a_value_of_the_wrong_type_is_no_matter_for_the_production_handler() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(len).to("out", name="snk")
    handler = Asked(OnError.CONTINUE)
    with (
        running(builder.build(), config(on_production_error=handler)) as pipe,
        pytest.raises(SerializationError, match="sink snk cannot write the value"),
    ):
        pipe("a")
    assert not handler.told


def test_a_failing_sink_keeps_the_record_from_the_other_children() -> None:
    def no_topic(*_row: object) -> str:
        raise RuntimeError("extractor")

    builder = StreamsBuilder()
    stream = builder.stream("in").map_values(lambda value: value, name="map")
    stream.to(no_topic, name="snk")
    stream.to("out")
    handler = Asked(OnError.CONTINUE)
    with running(builder.build(), config(on_processing_error=handler)) as pipe:
        assert pipe("a") == []
    assert handler.context.node == "map"
    assert isinstance(handler.told[0][2], RuntimeError)


def test_in_a_batch_the_rows_that_cannot_be_written_are_left_out() -> None:
    from millstream.streams.kernel import RawBatch

    settings = config(on_production_error=OnError.CONTINUE, dead_letter_topic="letters")
    task = StreamTask(picky_sink(), 0, 0, in_memory_stores(), settings)
    task.add("in", RawBatch([b"k"] * 3, [b"a", b"bad", b"c"], [1, 2, 3], range(3)))
    sinks = task.process(0).sinks
    assert sinks["out"].values == [b"a", b"c"]
    assert sinks["out"].timestamps == [1, 3]
    assert sinks["letters"].values == [b"bad"]
    assert task.dropped.total == 1


# Errors of the broker, as a runner reports them.

REFUSED = OutgoingRecord("out", b"k", b"v", 7, OWN)


def task_with(**handlers: object) -> StreamTask:
    return StreamTask(picky_sink(), 0, 0, in_memory_stores(), config(**handlers))


def test_the_default_production_handler_retries_what_may_pass_and_fails_otherwise() -> None:
    task = task_with()
    assert (
        task.failures.handle_production_failure(REFUSED, RequestTimedOut("slow")) is OnError.RETRY
    )
    with pytest.raises(StreamsError, match="topic out refused a record: no"):
        task.failures.handle_production_failure(REFUSED, ValueError("no"))


def test_retry_for_an_error_that_will_not_pass_means_fail() -> None:
    task = task_with(on_production_error=Asked(OnError.RETRY))
    with pytest.raises(StreamsError):
        task.failures.handle_production_failure(REFUSED, ValueError())


def test_a_record_left_out_is_counted_and_its_dead_letter_is_in_the_next_output() -> None:
    handler = Asked(Response(OnError.CONTINUE, (LETTER,)))
    task = task_with(on_production_error=handler)
    assert (
        task.failures.handle_production_failure(REFUSED, ValueError("too large"))
        is OnError.CONTINUE
    )
    assert task.dropped.total == 1
    assert task.prepare_commit().output.sinks["letters"].values == [b"v"]
    assert handler.told[0][1] == REFUSED
    assert handler.told[0][3] is None


# Global stores.


class Fills:
    def init(self, context: ProcessorContext) -> None:
        self._store = context.store("global")

    def process(self, record: Record) -> None:
        if record.value == "bad":
            raise RuntimeError("bad")
        self._store.put(record.key, record.value)


def with_global_store() -> Topology:
    builder = StreamsBuilder()
    store = StoreSpec("global", StoreKind.KEY_VALUE, key=string(), value=string())
    builder.add_global_store(store, "in", Fills)
    return builder.build()


def test_processors_of_global_stores_are_asked_about_only_where_enabled() -> None:
    handler = Asked(Response(OnError.CONTINUE, (LETTER,)))
    with (
        running(with_global_store(), config(on_processing_error=handler)) as pipe,
        pytest.raises(ProcessingError),
    ):
        pipe("bad")
    assert not handler.told
    enabled = config(on_processing_error=handler, handle_global_errors=True)
    with running(with_global_store(), enabled) as pipe:
        assert pipe("bad") == []  # who fills global stores writes no dead letters
    assert handler.context.task_id == "-1_-1"
