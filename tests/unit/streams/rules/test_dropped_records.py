"""What is left out is told: how many records, where the first stood, its time and stream time, why, and what would have kept them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millstream.errors import MessageTooLarge
from millstream.streams import (
    ContextualProcessor,
    DroppedRecords,
    DropReason,
    JoinWindows,
    Materialized,
    OnError,
    OutgoingRecord,
    PunctuationType,
    Retry,
    SessionWindows,
    SlidingWindows,
    StoreSupplier,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)
from millstream.streams.dropped_records import together
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import integer, string
from millstream.streams.state import in_memory_stores
from millstream.streams.timestamps import log_and_skip
from tests.unit.streams.rules.rule_world import driver_of, ms, pair, pipe, write


def told(builder: StreamsBuilder, inputs: str, **settings: Any) -> list[str]:
    """The lines that an application logs."""
    return [each.text("0_0") for each in dropped(builder, inputs, **settings)]


def dropped(builder: StreamsBuilder, inputs: str, **settings: Any) -> tuple[DroppedRecords, ...]:
    with driver_of(builder, **settings) as driver:
        for token in inputs.split():
            pipe(driver, token)
        assert sum(each.updates for each in driver.dropped) == driver.dropped_records
        return driver.dropped


def counted(windows: TimeWindows | SlidingWindows | SessionWindows) -> StreamsBuilder:
    builder = StreamsBuilder()
    grouped: Any = builder.stream("S").group_by_key()
    write(grouped.windowed_by(windows).count())
    return builder


WAITS = "where a task reads several topics, max_task_idle_ms has it wait for the one that is behind"


def test_records_that_are_late_for_their_windows_are_told_with_the_grace_that_keeps_them() -> None:
    inputs = "S:a@100 S:b@85 S:c@1 S:d@95"
    assert told(counted(TimeWindows.tumbling(ms(10), grace=ms(2))), inputs) == [
        (
            "task [0_0] KSTREAM-AGGREGATE-0000000002 has left out 2 records of topic S. The first: S-0, offset 1, timestamp 85, "
            "stream time 100: its window [80, 90) closed at 92, after 2 ms of grace. "
            f"A grace of 91 ms would have kept all of them; {WAITS}"
        )
    ]
    assert len(told(counted(TimeWindows.tumbling(ms(10), grace=ms(90))), inputs)) == 1
    assert told(counted(TimeWindows.tumbling(ms(10), grace=ms(91))), inputs) == []


def test_a_record_that_is_late_for_several_windows_is_one_record_and_several_updates() -> None:
    """At 62 the windows from 45, 50 and 55 to 65, 70 and 75 are closed, that from 60 to 80 is open."""
    windows = TimeWindows.hopping(ms(20), advance=ms(5))
    (late,) = dropped(counted(windows), "S:a@76 S:b@62")
    assert (late.reason, late.records, late.updates) == (DropReason.LATE_FOR_WINDOW, 1, 3)
    assert late.late is not None
    assert (late.late.window, late.late.needed_ms) == ((45, 65), 12)
    assert "has left out 1 record (3 updates of windows) of topic S." in late.text("0_0")


def test_sliding_windows_say_the_same() -> None:
    inputs = "S:a@100 S:b@85 S:c@1"
    assert told(counted(SlidingWindows.of(ms(10), grace=ms(2))), inputs) == [
        (
            "task [0_0] KSTREAM-AGGREGATE-0000000002 has left out 2 records of topic S. The first: S-0, offset 1, timestamp 85, "
            "stream time 100: its window [75, 86) closed at 88, after 2 ms of grace. "
            f"A grace of 90 ms would have kept all of them; {WAITS}"
        )
    ]
    assert len(told(counted(SlidingWindows.of(ms(10), grace=ms(89))), inputs)) == 1
    assert told(counted(SlidingWindows.of(ms(10), grace=ms(90))), inputs) == []


def test_sessions_say_the_same() -> None:
    inputs = "S:a@100 S:b@85 S:c@1"
    assert told(counted(SessionWindows.of(ms(10), grace=ms(2))), inputs) == [
        (
            "task [0_0] KSTREAM-AGGREGATE-0000000002 has left out 2 records of topic S. The first: S-0, offset 1, timestamp 85, "
            "stream time 100: its session [85, 85] closed at 97, after the gap and 2 ms of grace. "
            f"A grace of 89 ms would have kept all of them; {WAITS}"
        )
    ]
    assert len(told(counted(SessionWindows.of(ms(10), grace=ms(88))), inputs)) == 1
    assert told(counted(SessionWindows.of(ms(10), grace=ms(89))), inputs) == []


NO_KEY = "it has no key. Set a key before this node, with select_key() say, or leave such records out yourself, with filter()"


def test_records_without_keys_are_told_with_their_place() -> None:
    assert told(counted(TimeWindows.tumbling(ms(10))), "S:a@7 S:-=b@3 S:-=c@9") == [
        (
            "task [0_0] KSTREAM-AGGREGATE-0000000002 has left out 2 records of topic S. The first: S-0, offset 1, timestamp 3, "
            f"stream time 7: {NO_KEY}"
        )
    ]


def test_stream_time_is_that_of_the_record_also_where_records_go_in_batches() -> None:
    task = StreamTask(
        counted(TimeWindows.tumbling(ms(10))).build(),
        0,
        0,
        in_memory_stores(),
        StreamsConfig("app", default_key=string(), default_value=string()),
    )
    task.add("S", RawBatch([b"k", None, b"k"], [b"v"] * 3, [7, 3, 500], [40, 42, 43]))
    task.process(0)
    (found,) = task.dropped.take()
    assert (found.offset, found.timestamp_ms, found.stream_time_ms) == (42, 3, 7)
    assert task.dropped.take() == ()
    assert task.dropped.by_topic == {"S": 1}


def without_keys_or_values(builder: StreamsBuilder) -> None:
    stream: Any = builder.stream("S")
    write(stream.group_by_key().reduce(pair))


def joined_with_a_stream(builder: StreamsBuilder) -> None:
    stream: Any = builder.stream("S")
    write(stream.join(builder.stream("R"), pair, windows=JoinWindows.of(ms(5))))


def joined_with_a_table(builder: StreamsBuilder) -> None:
    stream: Any = builder.stream("S")
    write(stream.join(builder.table("T"), pair))


@pytest.mark.parametrize(
    "build", [without_keys_or_values, joined_with_a_stream, joined_with_a_table]
)
def test_records_without_values_are_told_where_they_are_left_out(build) -> None:
    builder = StreamsBuilder()
    build(builder)
    (found,) = dropped(builder, "S:a@7 S:k=-@3")
    assert found.reason is DropReason.NULL_KEY_OR_VALUE
    assert (found.place, found.timestamp_ms, found.stream_time_ms) == ("S-0, offset 1", 3, 7)
    assert found.why == "it has no key, or no value"


def test_a_stream_that_is_joined_with_itself_tells_once() -> None:
    builder = StreamsBuilder(optimization="all")
    stream: Any = builder.stream("S")
    write(stream.join(stream, pair, windows=JoinWindows.of(ms(5))))
    (found,) = dropped(builder, "S:a@7 S:k=-@3")
    assert (found.reason, found.records) == (DropReason.NULL_KEY_OR_VALUE, 1)


def test_rows_of_a_table_without_keys_are_told() -> None:
    builder = StreamsBuilder()
    write(builder.table("S"))
    (line,) = told(builder, "S:a@7 S:-=b@8")
    assert line == (
        "task [0_0] KTABLE-SOURCE-0000000001 has left out 1 record of topic S. The first: S-0, offset 1, timestamp 8, "
        f"stream time 8: {NO_KEY}"
    ).replace("KTABLE-SOURCE-0000000001", line.split()[2])


def test_rows_without_foreign_keys_are_told() -> None:
    builder = StreamsBuilder()
    left: Any = builder.table("L")
    write(
        left.join(
            builder.table("R"), pair, foreign_key=lambda value: value if value != "none" else None
        )
    )
    (found,) = dropped(builder, "L:x@5 L:none@6")
    assert (found.reason, found.place, found.records) == (
        DropReason.NULL_FOREIGN_KEY,
        "L-0, offset 1",
        1,
    )
    assert found.advice == "A left_join() keeps rows without a foreign key"


def test_negative_timestamps_are_told_with_the_record_they_are_of() -> None:
    builder = StreamsBuilder()
    builder.stream("S", timestamps=log_and_skip).to("out")
    task = StreamTask(
        builder.build(),
        0,
        3,
        in_memory_stores(),
        StreamsConfig("app", default_key=string(), default_value=string()),
    )
    task.add("S", RawBatch([b"k"] * 3, [b"v"] * 3, [9, -1, -5], [10, 11, 12]))
    task.process(0)
    (found,) = task.dropped.take()
    assert found.text("0_3") == (
        "task [0_3] KSTREAM-SOURCE-0000000000 has left out 2 records of topic S. The first: S-3, offset 11, timestamp -1, "
        "stream time -1: its timestamp is negative. Have the timestamp extractor of the source give such records a time"
    )


def test_unreadable_records_are_told_with_the_error() -> None:
    builder = StreamsBuilder()
    builder.stream("S", value=integer()).to("out", value=integer())
    (line,) = told(builder, "S:abc@4", on_deserialization_error=OnError.CONTINUE)
    assert line.startswith(
        "task [0_0] KSTREAM-SOURCE-0000000000 has left out 1 record of topic S. The first: S-0, offset 0, timestamp 4, "
        "stream time -1: the serdes cannot read it: "
    )
    assert line.endswith(
        "on_deserialization_error has it go on: dead_letter_topic keeps such records, OnError.FAIL stops at the first"
    )


def test_records_whose_processing_fails_are_told_with_the_error() -> None:
    builder = StreamsBuilder()
    builder.stream("S").map_values(int).map_values(str).to("out")
    assert told(builder, "S:1@4 S:x@5", on_processing_error=OnError.CONTINUE) == [
        (
            "task [0_0] KSTREAM-MAPVALUES-0000000001 has left out 1 record of topic S. The first: S-0, offset 1, timestamp 5, "
            "stream time 5: processing it has failed: ValueError(\"invalid literal for int() with base 10: 'x'\"). "
            "on_processing_error has it go on: dead_letter_topic keeps such records, OnError.FAIL stops at the first"
        )
    ]


class _Broken(ContextualProcessor[Any, Any, Any, Any]):
    def init(self, context: Any) -> None:
        super().init(context)
        context.schedule(timedelta(milliseconds=10), PunctuationType.STREAM_TIME, self._punctuate)

    def process(self, record: Any) -> None:
        self.context.forward(record)

    def _punctuate(self, _time: int) -> None:
        raise ValueError("no")


def test_failed_punctuations_are_told() -> None:
    builder = StreamsBuilder()
    builder.stream("S").process(_Broken).to("out")
    (line,) = told(builder, "S:a@4", on_processing_error=OnError.CONTINUE)
    assert line == (
        "task [0_0] KSTREAM-PROCESSOR-0000000001 has left out 1 record. The first: a punctuation, timestamp 4, stream time 4: "
        "a punctuation has failed: ValueError('no'). on_processing_error has it go on: OnError.FAIL stops there"
    )


def test_records_that_the_broker_refuses_are_told() -> None:
    builder = StreamsBuilder()
    builder.stream("S").to("out")
    config = StreamsConfig("app", string(), string(), on_production_error=OnError.CONTINUE)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    refused = OutgoingRecord("out", b"k", b"v", 7, ())
    task.failures.handle_production_failure(refused, MessageTooLarge("too large"))
    (found,) = task.dropped.take()
    assert found.text("0_0") == (
        "task [0_0] sink of out has left out 1 record. The first: an output, timestamp 7, stream time -1: the broker has refused it: "
        "too large. on_production_error has it go on: dead_letter_topic keeps such records, OnError.FAIL stops at the first"
    )


def test_records_without_a_partition_are_told() -> None:
    builder = StreamsBuilder()
    builder.stream("S").to("out", partitioner=lambda *_: ())
    (found,) = dropped(builder, "S:a@4")
    assert (found.reason, found.place) == (DropReason.NO_PARTITION, "S-0, offset 0")


def test_records_that_a_store_of_a_join_no_longer_takes_are_told_with_the_retention_they_need() -> (
    None
):
    """The store of the left side keeps 10 ms, in segments of at least a minute."""
    builder = StreamsBuilder()
    joined_with_a_stream(builder)
    (found,) = dropped(builder, "S:a@500000 S:b@5")
    assert found.reason is DropReason.EXPIRED_IN_STORE
    assert (found.place, found.timestamp_ms, found.stream_time_ms) == ("S-0, offset 1", 5, 500_000)
    assert found.why == f"store {found.node} keeps nothing before 480000, and it is of 5"
    assert found.late is not None
    assert found.late.allowed_ms == 10
    assert found.advice == (
        f"A retention (of a versioned table: a history) of {found.late.needed_ms} ms would have kept all of them"
    )


def test_versions_that_are_older_than_the_history_are_told() -> None:
    builder = StreamsBuilder()
    write(
        builder.table(
            "T", materialized=Materialized(supplier=StoreSupplier("rows", history=ms(100)))
        )
    )
    (found,) = dropped(builder, "T:a@1000 T:b@2 T:c@899 T:d@900")
    assert (found.node, found.reason, found.records) == ("rows", DropReason.EXPIRED_IN_STORE, 2)
    assert (found.place, found.timestamp_ms, found.stream_time_ms) == ("T-0, offset 1", 2, 1000)
    assert found.why == "store rows keeps nothing before 900, and it is of 2"
    assert found.late is not None
    assert (found.late.allowed_ms, found.late.needed_ms) == (100, 998)


def test_versions_that_are_not_the_newest_are_counted_and_ask_for_nothing() -> None:
    builder = StreamsBuilder()
    history = Materialized(supplier=StoreSupplier("rows", history=ms(100)))
    left: Any = builder.table("L", materialized=history)
    write(left.join(builder.table("R"), pair))
    (found,) = dropped(builder, "L:a@50 L:b@20")
    assert (found.reason, found.place) == (DropReason.NOT_NEWEST, "L-0, offset 1")
    assert found.text("0_0").endswith("the table has a newer version of its row")


def test_rows_whose_retries_are_used_up_are_told() -> None:
    def fail(_value: str) -> str:
        raise ValueError("away")

    builder = StreamsBuilder()
    stream: Any = builder.stream("S")
    stream.map_values(fail, retry=Retry("waiting", retries_max=0, dead_letters="letters")).to("out")
    (found,) = dropped(builder, "S:a@4")
    assert (found.reason, found.place, found.error) == (
        DropReason.GIVEN_UP,
        "S-0, offset 0",
        "ValueError('away')",
    )


def test_what_was_dropped_in_several_partitions_is_put_together_by_place_and_reason() -> None:
    first = DroppedRecords("n", "t", 0, DropReason.NULL_KEY, 2, 2, 5, 1, 1)
    again = DroppedRecords("n", "t", 0, DropReason.NULL_KEY, 3, 3, 9, 2, 2)
    other = DroppedRecords("n", "t", 1, DropReason.NULL_KEY, 1, 1, 0, 0, 0)
    both, alone = together([first, other, again])
    assert (both.records, both.updates, both.offset) == (5, 5, 5)
    assert alone == other
