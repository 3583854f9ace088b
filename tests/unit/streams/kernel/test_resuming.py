"""A task goes on where the last one stopped: partition times, stream time, and their form in a commit."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.streams import (
    Materialized,
    ProcessorContext,
    Record,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)
from millstream.streams.errors import InvalidStoreError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.kernel.offset_metadata import OffsetMetadata
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores
from millstream.streams.timestamps import use_partition_time


class ShowsStreamTime:
    def init(self, context: ProcessorContext) -> None:
        self.context = context

    def process(self, record: Record) -> None:
        self.context.forward(record.with_value(str(self.context.current_stream_time_ms())))


def task_of(*topics: str) -> StreamTask:
    builder = StreamsBuilder()
    for topic in topics:
        stream = builder.stream(topic, timestamps=use_partition_time)
        stream.process(ShowsStreamTime).to("out")
    config = StreamsConfig("app", string(), string())
    return StreamTask(builder.build(), 0, 0, in_memory_stores(), config)


def rows(first: int, *timestamps: int) -> RawBatch:
    count = len(timestamps)
    return RawBatch(
        [b"k"] * count, [b"v"] * count, list(timestamps), range(first, first + count)
    )  # fmt: skip


def results(task: StreamTask, raw: RawBatch) -> list[tuple[bytes | None, int]]:
    """Stream time and timestamp of each row."""
    task.add("in", raw)
    out = task.process(0).sinks["out"]
    return list(zip(out.values, out.timestamps, strict=True))


def test_the_time_of_a_partition_is_part_of_the_commit() -> None:
    task = task_of("in")
    assert task.prepare_commit().partition_times == {}
    results(task, rows(0, 50, 20))
    assert task.prepare_commit().partition_times == {"in": 50}


def test_the_time_that_is_committed_is_that_of_the_records_taken() -> None:
    """Records are read in batches; 90 is read and not taken yet."""
    task = task_of("in")
    task.add("in", rows(0, 50, 90))
    task.process(0, records_max=1)
    assert task.prepare_commit().partition_times == {"in": 50}


def test_a_new_task_goes_on_with_the_times_of_the_old_one() -> None:
    task = task_of("in")
    assert results(task, rows(0, -1 + 51)) == [(b"50", 50)]
    times = task.prepare_commit().partition_times

    task = task_of("in")
    task.resume(times)
    assert task.current.stream_time == 50
    assert results(task, rows(1, -1, 20)) == [(b"50", 50), (b"50", 20)]


def test_after_a_rollback_the_times_are_those_of_the_last_commit() -> None:
    task = task_of("in")
    results(task, rows(0, 10))
    task.prepare_commit()
    task.commit()
    first = results(task, rows(1, -1, 70, -1))
    task.rollback()
    assert task.current.stream_time == 10
    assert results(task, rows(1, -1, 70, -1)) == first == [(b"10", 10), (b"70", 70), (b"70", 70)]


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        (OffsetMetadata(), "Av//////////"),
        (OffsetMetadata(0), "AgAAAAAAAAAA"),
        (OffsetMetadata(1_234_567_890_123), "AgAAAR9x+wTL"),
        (
            OffsetMetadata(0, {"KSTREAM-AGGREGATE-0000000002": 35}),
            "AgAAAAAAAAAAAAAAAQAAABxLU1RSRUFNLUFHR1JFR0FURS0wMDAwMDAwMDAyAAAAAAAAACM=",
        ),
        (
            OffsetMetadata(-1, {"KSTREAM-AGGREGATE-0000000002": 35, "k2": -1}),
            "Av//////////AAAAAgAAABxLU1RSRUFNLUFHR1JFR0FURS0wMDAwMDAwMDAyAAAAAAAAACMAAAACazL//////////w==",
        ),
    ],
)
def test_the_metadata_of_an_offset_is_kafka_streams_own(metadata, text: str) -> None:
    """Written by its TopicPartitionMetadata, 4.3.1."""
    assert metadata.encode() == text
    assert OffsetMetadata.decode(text) == metadata


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("AQAAAAAAAAAF", 5),
        ("", -1),
        ("batch 17", -1),
        ("CQAAAAAAAAAF", -1),
        ("AgAA", -1),
        ("AgAAAAAAAAAAAAAAAQAAABw=", -1),
    ],
)
def test_metadata_of_version_1_is_read_and_any_other_text_says_nothing(text: str, time: int) -> None:  # fmt: skip
    assert OffsetMetadata.decode(text) == OffsetMetadata(time)


def counts_by_window(cache_bytes: int) -> StreamTask:
    builder = StreamsBuilder()
    windows = TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(days=1))
    grouped = builder.stream("in", timestamps=use_partition_time).group_by_key()
    grouped.windowed_by(windows).count(materialized=Materialized("counts"))
    config = StreamsConfig("app", string(), string(), cache_max_bytes=cache_bytes)
    return StreamTask(builder.build(), 0, 0, in_memory_stores(), config)


@pytest.mark.parametrize("cache_bytes", [0, 1_000_000])
def test_a_window_that_was_restored_is_found_though_the_commit_knew_of_none_so_new(
    cache_bytes: int,
) -> None:
    """At least once, a changelog may be ahead of the commit whose times the task takes over."""
    task = counts_by_window(cache_bytes)
    task.add("in", rows(0, 5_000))
    task.process(0)
    early = task.prepare_commit()
    task.commit()
    task.add("in", rows(1, 15_000, 16_000))
    changelog = task.process(0).changelogs or task.prepare_commit().output.changelogs
    [logged] = changelog.values()

    task = counts_by_window(cache_bytes)
    task.state.restore(
        logged.topic,
        RawBatch(logged.keys, logged.values, logged.timestamps, range(len(logged))),
    )
    task.resume(early.partition_times, early.store_times)
    task.add("in", rows(1, 15_000, 16_000))
    task.process(0)
    task.prepare_commit()
    assert task.stores["counts"].row_at("k", 10_000) == (4, 16_000)


@pytest.mark.parametrize("cache_bytes", [0, 1_000_000])
def test_a_closed_store_refuses_a_window_newer_than_all_it_has(cache_bytes: int) -> None:
    task = counts_by_window(cache_bytes)
    task.add("in", rows(0, 5_000, 6_000))
    task.process(0)
    store = task.stores["counts"]
    assert store.row_at("k", 10_000) is None
    task.close()
    with pytest.raises(InvalidStoreError, match="store counts is closed"):
        store.row_at("k", 10_000)
