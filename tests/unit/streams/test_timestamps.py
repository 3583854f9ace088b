"""D1: timestamp extractors."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.errors import StreamsError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores
from millstream.streams.timestamps import (
    ConsumedRecord,
    TimestampExtractor,
    log_and_skip,
    use_partition_time,
    wallclock,
)


def task_of(timestamps: TimestampExtractor, *, default: bool = False) -> StreamTask:
    builder = StreamsBuilder()
    builder.stream("in", timestamps=None if default else timestamps).to("out")
    config = StreamsConfig("app", string(), string())
    if default:
        config = StreamsConfig("app", string(), string(), default_timestamps=timestamps)
    return StreamTask(builder.build(), 0, 3, in_memory_stores(), config)


def rows(*timestamps: int, headers: Any = None) -> RawBatch:
    count = len(timestamps)
    return RawBatch([b"k"] * count, [b"v"] * count, list(timestamps), range(count), headers)


def times(task: StreamTask, raw: RawBatch, wall_clock_ms: int = 0) -> list[int]:
    task.add("in", raw)
    sinks = task.process(wall_clock_ms).sinks
    return list(sinks["out"].timestamps) if "out" in sinks else []


def test_by_default_a_record_without_a_timestamp_stops_the_task() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    task = StreamTask(
        builder.build(), 0, 3, in_memory_stores(), StreamsConfig("app", string(), string())
    )
    with pytest.raises(StreamsError, match=r"in-3 offset 1 has no valid timestamp \(-1\)"):
        times(task, rows(5, -1))


def test_log_and_skip_leaves_out_records_without_a_timestamp() -> None:
    task = task_of(log_and_skip)
    assert times(task, rows(5, -1, 7)) == [5, 7]
    assert task.dropped.total == 1


def test_use_partition_time_gives_the_largest_timestamp_of_the_partition_so_far() -> None:
    assert times(task_of(use_partition_time), rows(7, 3, -1, 9, -1)) == [7, 3, 7, 9, 9]


def test_use_partition_time_has_nothing_to_give_to_the_first_record() -> None:
    with pytest.raises(StreamsError, match="no record before it has one"):
        times(task_of(use_partition_time), rows(-1))


def test_wallclock_gives_the_time_of_the_task_not_of_the_record() -> None:
    task = task_of(wallclock)
    assert times(task, rows(7, -1), wall_clock_ms=1_000) == [1_000, 1_000]
    assert times(task, RawBatch([b"k"], [b"v"], [3], [2]), wall_clock_ms=1_005) == [1_005]


def test_the_applications_extractor_is_that_of_sources_without_one() -> None:
    assert times(task_of(wallclock, default=True), rows(7), wall_clock_ms=9) == [9]


def test_an_extractor_of_ones_own_sees_the_record_and_the_partition_time() -> None:
    seen: list[tuple[ConsumedRecord, int]] = []

    def noted(record: ConsumedRecord, partition_time: int) -> int:
        seen.append((record, partition_time))
        return 100 + record.offset

    assert times(task_of(noted), rows(7, 8, headers=[(), (("h", b"1"),)])) == [100, 101]
    record, partition_time = seen[1]
    assert (record.topic, record.partition, record.offset) == ("in", 3, 1)
    assert (record.key, record.value, record.headers) == ("k", "v", (("h", b"1"),))
    assert [time for _, time in seen] == [-1, 100]
    assert partition_time == 100


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda record, _: "12", "TypeError"),
        (lambda record, _: 1.5, "TypeError"),
        (lambda record, _: None, "TypeError"),
        (lambda record, _: record.value["at"], "TypeError"),
    ],
)
def test_what_is_no_integer_is_an_error_that_names_source_and_place(given: Any, told: str) -> None:
    with pytest.raises(
        StreamsError,
        match=rf"<lambda> of source KSTREAM-SOURCE-0000000000 failed on in-3 offset 0: {told}.*milliseconds",
    ):
        times(task_of(given), rows(7))


def test_an_extractor_may_be_an_object() -> None:
    class Shift:
        __hash__ = None  # type: ignore[assignment]  # as a dataclass that compares its fields

        def __call__(self, record: ConsumedRecord, partition_time: int) -> int:
            return record.timestamp + 5

    assert times(task_of(Shift()), rows(7)) == [12]
