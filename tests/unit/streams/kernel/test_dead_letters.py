"""Records that CONTINUE leaves out go to the dead letter topic, with headers that tell why."""

from __future__ import annotations

import pyarrow as pa

from millstream.streams import StreamsBuilder, StreamsConfig, Topology
from millstream.streams.config import OnError
from millstream.streams.handlers import ErrorContext, OutgoingRecord, Response
from millstream.streams.kernel import RawBatch, SinkBatch, StreamTask
from millstream.streams.serdes import Serde, integer, string
from millstream.streams.state import in_memory_stores
from millstream.streams.vectorised import vectorised

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


# Of what sinks cannot write. A batch gives what single records give.


def refuse(value: str) -> bytes:
    if "!" in value:
        raise ValueError(value)
    return value.encode()


PICKY = Serde("picky", refuse, bytes.decode)


def leaving_out(letters: str | None) -> StreamsConfig:
    return StreamsConfig(
        "app", string(), string(), on_production_error=OnError.CONTINUE, dead_letter_topic=letters
    )


def told_of_unwritable(
    topology: Topology, letters: str, *rows: bytes, config: StreamsConfig | None = None
) -> list[str]:
    """By record of the topic of dead letters what its serde said, or its value where it is none."""
    config = config or leaving_out(letters)
    task = StreamTask(topology, 0, 0, in_memory_stores(), config)
    task.add("in", RawBatch([b"k"] * len(rows), list(rows), [1] * len(rows), range(len(rows))))
    written = task.process(0).sinks[letters]
    messages = (dict(headers).get("__streams.errors.message") for headers in written.headers)
    return [
        (message or value or b"").decode()
        for message, value in zip(messages, written.values, strict=True)
    ]


def two_sinks_of_several_rows() -> Topology:
    builder = StreamsBuilder()
    stream = builder.stream("in").flat_map_values(lambda value: [value + "1!", value + "2!"])
    stream.map_values(lambda value: value + "a").to("a", value=PICKY)
    stream.map_values(lambda value: value + "b").to("b", value=PICKY)
    return builder.build()


def test_dead_letters_of_two_sinks_below_several_rows_stand_row_by_row() -> None:
    assert told_of_unwritable(two_sinks_of_several_rows(), "dlq", b"x", b"y") == [
        "x1!a", "x1!b", "x2!a", "x2!b", "y1!a", "y1!b", "y2!a", "y2!b",
    ]  # fmt: skip


def test_dead_letters_of_a_handler_stand_row_by_row_in_the_topic_that_it_names() -> None:
    def keep(context: ErrorContext, record: OutgoingRecord, *_: object) -> Response:
        letter = OutgoingRecord("kept", b"k", str(record.value).encode(), context.timestamp)
        return Response(OnError.CONTINUE, (letter,))

    config = StreamsConfig("app", string(), string(), on_production_error=keep)
    topology = two_sinks_of_several_rows()
    assert told_of_unwritable(topology, "kept", b"x", config=config) == [
        "x1!a", "x1!b", "x2!a", "x2!b",
    ]  # fmt: skip


def test_records_go_in_batches_where_those_that_cannot_be_written_have_no_topic() -> None:
    lengths = []

    @vectorised
    def count(column: pa.Array) -> pa.Array:
        lengths.append(len(column))
        return column

    builder = StreamsBuilder()
    stream = builder.stream("in").map_values(count).flat_map_values(lambda value: [value, value])
    stream.to("a", value=PICKY)
    stream.to("b", value=PICKY)
    for letters in (None, "dlq"):
        task = StreamTask(builder.build(), 0, 0, in_memory_stores(), leaving_out(letters))
        task.add("in", RawBatch([b"k"] * 2, [b"x", b"y!"], [1, 2], range(2)))
        assert list(task.process(0).sinks["b"].values) == [b"x", b"x"]
    assert lengths == [2, 1, 1]


def test_dead_letters_of_a_sink_behind_a_merge_stand_where_depth_first_writes_them() -> None:
    """The row goes through a and the merge to both before it goes through b."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    a = stream.map_values(lambda value: value + "a!")
    b = stream.map_values(lambda value: value + "b!")
    b.filter(lambda _key, _value: True).to("b", value=PICKY)
    a.merge(b).to("both", value=PICKY)
    assert told_of_unwritable(builder.build(), "dlq", b"x", b"y") == [
        "xa!", "xb!", "xb!", "ya!", "yb!", "yb!",
    ]  # fmt: skip


def test_a_dead_letter_in_the_topic_of_its_sink_stands_between_its_rows() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in").flat_map_values(lambda value: [value + "1", "!", value + "2"])
    stream.to("out", value=PICKY)
    assert told_of_unwritable(builder.build(), "out", b"x") == ["x1", "!", "x2"]


def test_dead_letters_of_a_sink_of_several_topics_stand_row_by_row() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in").flat_map_values(lambda value: [value + "1!", "2!", value + "3!"])
    stream.to(lambda _key, value, _context: value[:1], value=PICKY)
    assert told_of_unwritable(builder.build(), "dlq", b"x") == ["x1!", "2!", "x3!"]


def test_a_dead_letter_tells_of_its_own_record_alone() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(str).to("out", value=PICKY)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), leaving_out("dlq"))
    task.add("in", RawBatch([b"k"] * 2, [b"first!", b"second!"], [1, 2], range(2)))
    first, second = (dict(headers) for headers in task.process(0).sinks["dlq"].headers)
    assert b"first!" in first["__streams.errors.stacktrace"]
    assert b"first!" not in second["__streams.errors.stacktrace"]
