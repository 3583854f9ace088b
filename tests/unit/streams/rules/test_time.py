"""Which record goes next, stream time, timestamps of inputs and outputs."""

from __future__ import annotations

import pytest

from millstream.streams import (
    EmitStrategy,
    JoinWindows,
    Materialized,
    SessionWindows,
    StoreSupplier,
    StreamsBuilder,
    StreamsConfig,
    Suppressed,
    TimeWindows,
)
from millstream.streams.config import OnError
from millstream.streams.errors import StreamsError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import integer, string
from millstream.streams.state import in_memory_stores
from millstream.streams.timestamps import log_and_skip
from tests.unit.streams.rules.rule_world import before_dot, dropped, ms, pair, run, write


def task_of(builder: StreamsBuilder, **settings: object) -> StreamTask:
    config = StreamsConfig("app", string(), string(), **settings)
    return StreamTask(builder.build(), 0, 0, in_memory_stores(), config)


def merged() -> StreamsBuilder:
    builder = StreamsBuilder()
    builder.stream("a").merge(builder.stream("b")).to("out")
    return builder


def batch(*rows: tuple[str, int]) -> RawBatch:
    values = [value.encode() for value, _ in rows]
    return RawBatch([b"k"] * len(rows), values, [at for _, at in rows], range(len(rows)))


def test_the_topic_whose_head_is_oldest_goes_next() -> None:
    task = task_of(merged())
    task.add("a", batch(("a1", 10), ("a2", 30)))
    task.add("b", batch(("b1", 20), ("b2", 40)))
    assert task.process(0).sinks["out"].values == [b"a1", b"b1", b"a2", b"b2"]


def test_within_a_topic_offsets_decide_not_timestamps() -> None:
    """A head that is young holds back older records behind it."""
    task = task_of(merged())
    task.add("a", batch(("a1", 50), ("a2", 1)))
    task.add("b", batch(("b1", 20), ("b2", 60)))
    assert task.process(0).sinks["out"].values == [b"b1", b"a1", b"a2", b"b2"]


def test_stream_time_is_the_largest_timestamp_so_far() -> None:
    task = task_of(merged())
    assert task.current.stream_time == -1
    task.add("a", batch(("a1", 50), ("a2", 1)))
    task.process(0)
    assert task.current.stream_time == 50


def test_each_operator_has_a_stream_time_of_its_own() -> None:
    """The window sees only what the filter lets through: for it a@3 is not late."""
    builder = StreamsBuilder()
    kept = builder.stream("S").filter(lambda key, value: value != "skip")
    write(kept.group_by_key().windowed_by(TimeWindows.tumbling(ms(10))).count())
    assert run(builder, "S:skip@100 S:a@3") == "2:k@0/10=1@3"


def test_a_negative_timestamp_drops_the_record_and_is_counted() -> None:
    builder = StreamsBuilder()
    write(builder.stream("S", timestamps=lambda record, _: int(record.value)))
    assert run(builder, "S:7@1 S:-3@2 S:9@3") == "1:k=7@7 3:k=9@9"
    assert dropped(builder, "S:7@1 S:-3@2 S:9@3") == 1


def test_a_dropped_record_moves_the_committed_offset() -> None:
    builder = StreamsBuilder()
    builder.stream("S", timestamps=log_and_skip).to("out")
    task = task_of(builder)
    task.add("S", batch(("a", 5), ("b", -1)))
    assert task.process(0).processed == 1
    assert task.prepare_commit().offsets == {"S": 2}


def test_an_unreadable_record_that_is_skipped_moves_the_committed_offset() -> None:
    builder = StreamsBuilder()
    builder.stream("S", value=integer()).to("out", value=integer())
    task = task_of(builder, on_deserialization_error=OnError.CONTINUE)
    task.add("S", RawBatch([b"k"] * 2, [bytes(4), b"not four"], [1, 2], range(2)))
    assert task.process(0).processed == 1
    assert task.prepare_commit().offsets == {"S": 2}
    assert task.dropped.total == 1


def test_by_default_a_negative_timestamp_stops_the_task() -> None:
    builder = StreamsBuilder()
    builder.stream("S").to("out")
    task = task_of(builder)
    task.add("S", batch(("a", -1)))
    with pytest.raises(StreamsError, match="S-0 offset 0 has no valid timestamp"):
        task.process(0)


def stateless(builder: StreamsBuilder) -> None:
    write(builder.stream("S").map(lambda key, value: (key, value.upper())))


def reduced(builder: StreamsBuilder) -> None:
    write(builder.stream("S").group_by_key().reduce(lambda one, other: one + other))


def windowed(builder: StreamsBuilder) -> None:
    windows = TimeWindows.tumbling(ms(10), grace=ms(20))
    grouped = builder.stream("S").group_by_key().windowed_by(windows)
    write(grouped.reduce(lambda one, other: one + other))


def sessions(builder: StreamsBuilder) -> None:
    windows = SessionWindows.of(ms(5), grace=ms(20))
    grouped = builder.stream("S").group_by_key().windowed_by(windows)
    write(grouped.reduce(lambda one, other: one + other))


def on_close(builder: StreamsBuilder) -> None:
    grouped = (
        builder.stream("S").group_by_key(key=string()).windowed_by(TimeWindows.tumbling(ms(10)))
    )
    closing = grouped.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    write(closing.reduce(lambda one, other: one + other))


def stream_stream(builder: StreamsBuilder) -> None:
    windows = JoinWindows.of(ms(10), grace=ms(20))
    write(builder.stream("S").join(builder.stream("R"), pair, windows=windows))


def unmatched(builder: StreamsBuilder) -> None:
    windows = JoinWindows.of(ms(10))
    write(builder.stream("S").left_join(builder.stream("R"), pair, windows=windows))


def stream_table(builder: StreamsBuilder) -> None:
    write(builder.stream("S").join(builder.table("R"), pair))


def waiting(builder: StreamsBuilder) -> None:
    history = Materialized(supplier=StoreSupplier("versions", history=ms(100)))
    table = builder.table("R", materialized=history)
    write(builder.stream("S").join(table, pair, grace=ms(0)))


def table_table(builder: StreamsBuilder) -> None:
    write(builder.table("S").join(builder.table("R"), pair))


def foreign_key(builder: StreamsBuilder) -> None:
    write(builder.table("S").join(builder.table("R"), pair, foreign_key=before_dot))


def table_operators(builder: StreamsBuilder) -> None:
    kept = builder.table("S").filter(lambda key, value: value == "a")
    write(kept.map_values(str.upper))


def suppressed(builder: StreamsBuilder) -> None:
    write(builder.table("S").suppress(Suppressed.until_time_limit(ms(5))))


@pytest.mark.parametrize(
    ("topology", "inputs", "expected"),
    [
        (stateless, "S:a@5 S:b@3", "1:k=A@5 2:k=B@3"),
        (reduced, "S:a@5 S:b@3 S:c@9", "1:k=a@5 2:k=ab@5 3:k=abc@9"),
        (windowed, "S:a@5 S:b@12 S:c@3", "1:k@0/10=a@5 2:k@10/20=b@12 3:k@0/10=ac@5"),
        (
            sessions,
            "S:a@5 S:b@9 S:c@3",
            "1:k@5/5=a@5 2:k@5/5=-@5 2:k@5/9=ab@9 3:k@5/9=-@9 3:k@3/9=abc@9",
        ),
        (on_close, "S:a@5 S:b@3 S:c@12 S:d@25", "3:k@0/10=ab@5 4:k@10/20=c@12"),
        (stream_stream, "S:a@5 R:b@9 R:c@1", "2:k=a|b@9 3:k=a|c@5"),
        (unmatched, "S:a@5 S:b@30", "2:k=a|None@5"),
        (stream_table, "R:x@20 S:a@5", "2:k=a|x@5"),
        (table_table, "R:x@20 S:a@5 S:b@30 R:y@4", "2:k=a|x@20 3:k=b|x@30 4:k=b|y@30"),
        (
            foreign_key,
            "R:a=1@20 S:k=a.1@5 R:a=2@9 S:k=a.2@7",
            "2:k=a.1|1@20 3:k=a.1|2@9 4:k=a.2|2@9",
        ),
        (table_operators, "S:a@20 S:b@5 S:a@7", "1:k=A@20 2:k=-@5 3:k=A@7"),
        (suppressed, "S:a@20 S:z=b@30", "2:k=a@20"),
    ],
)
def test_timestamps_of_outputs(topology, inputs: str, expected: str) -> None:
    builder = StreamsBuilder()
    topology(builder)
    assert run(builder, inputs) == expected


LAST = 2**63 - 1


@pytest.mark.parametrize(
    ("topology", "inputs", "expected"),
    [
        (windowed, f"S:a@5 S:b@{LAST}", f"1:k@0/10=a@5 2:k@{LAST - 7}/{LAST}=b@{LAST}"),
        (
            stream_stream,
            f"S:a@5 S:b@{LAST} R:c@{LAST - 3} R:d@5",
            f"3:k=b|c@{LAST}",
        ),
        (unmatched, f"S:a@5 R:b@{LAST}", "2:k=a|None@5"),
        (waiting, f"R:x@1 S:a@5 S:b@{LAST}", f"2:k=a|x@5 3:k=b|x@{LAST}"),
    ],
)
def test_a_record_of_the_last_time_there_is_stops_nothing(
    topology, inputs: str, expected: str
) -> None:
    """Windows end there. Kafka Streams' sums overflow: its joins find nothing, and its sessions throw."""
    builder = StreamsBuilder()
    topology(builder)
    assert run(builder, inputs) == expected
