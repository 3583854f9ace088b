"""Records that CONTINUE leaves out go to the dead letter topic, with headers that tell why."""

from __future__ import annotations

from millstream.streams import StreamsBuilder, StreamsConfig, Topology
from millstream.streams.config import OnError
from millstream.streams.kernel import RawBatch, SinkBatch, StreamTask
from millstream.streams.serdes import integer, string
from millstream.streams.state import in_memory_stores

CONFIG = StreamsConfig(
    "app",
    default_key=string(),
    default_value=integer(),
    on_processing_error=OnError.CONTINUE,
    on_deserialization_error=OnError.CONTINUE,
    dead_letter_topic="dlq",
)
INPUT = RawBatch(
    [b"a", b"b", b"c"],
    [(4).to_bytes(4), (0).to_bytes(4), b"not four bytes"],
    [10, 20, 30],
    range(7, 10),
    [(), (("own", b"1"),), ()],
)


def quarters() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: 4 // value).to("out")
    return builder.build()


def written(topology: Topology, config: StreamsConfig) -> dict[str, SinkBatch]:
    task = StreamTask(topology, 0, 3, in_memory_stores(), config)
    task.add("in", INPUT)
    return task.process(0).sinks


def test_a_dead_letter_has_the_bytes_the_time_and_the_headers_of_its_record() -> None:
    sinks = written(quarters(), CONFIG)
    assert sinks["out"].keys == [b"a"]
    letters = sinks["dlq"]
    by_key = dict(zip(letters.keys, letters.values, strict=True))
    assert by_key == {b"b": (0).to_bytes(4), b"c": b"not four bytes"}
    row = letters.keys.index(b"b")
    assert letters.timestamps[row] == 20
    assert letters.headers[row][0] == ("own", b"1")


def test_headers_name_exception_message_stack_trace_and_place() -> None:
    letters = written(quarters(), CONFIG)["dlq"]
    headers = letters.headers[letters.keys.index(b"b")]
    told = {name: (content or b"").decode() for name, content in headers[1:]}
    assert list(told) == [
        "__streams.errors.exception",
        "__streams.errors.message",
        "__streams.errors.stacktrace",
        "__streams.errors.topic",
        "__streams.errors.partition",
        "__streams.errors.offset",
    ]
    assert told["__streams.errors.exception"] == "builtins.ZeroDivisionError"
    assert "4 // value" in told["__streams.errors.stacktrace"]
    place = (told["__streams.errors.topic"], told["__streams.errors.partition"])
    assert place == ("in", "3")
    assert told["__streams.errors.offset"] == "8"


def test_what_cannot_be_read_is_told_with_its_own_place() -> None:
    letters = written(quarters(), CONFIG)["dlq"]
    headers = dict(letters.headers[letters.keys.index(b"c")])
    assert headers["__streams.errors.offset"] == b"9"


def test_without_a_dead_letter_topic_records_are_dropped_alone() -> None:
    config = StreamsConfig(
        "app", string(), integer(), on_processing_error=OnError.CONTINUE,
        on_deserialization_error=OnError.CONTINUE,
    )  # fmt: skip
    assert set(written(quarters(), config)) == {"out"}
