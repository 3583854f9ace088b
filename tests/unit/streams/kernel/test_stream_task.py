"""The contract between a task and its runner."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from millstream.streams import StreamsBuilder, StreamsConfig, TimeWindows
from millstream.streams.config import OnError
from millstream.streams.errors import ProcessingError, SerializationError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import long, string, time_windowed
from millstream.streams.state import in_memory_stores, rocksdb_stores

CONFIG = StreamsConfig("app", default_key=string(), default_value=string())
CHANGELOG = "app-counts-changelog"


def raw(*rows: tuple[str | None, str | None, int], first_offset: int = 0) -> RawBatch:
    return RawBatch(
        [None if key is None else key.encode() for key, _, _ in rows],
        [None if value is None else value.encode() for _, value, _ in rows],
        [at for _, _, at in rows],
        range(first_offset, first_offset + len(rows)),
    )


def count_topology(change: Callable[[str], str] = str):
    from millstream.streams import Materialized

    builder = StreamsBuilder()
    stream = builder.stream("in").map_values(change)
    counts = stream.group_by_key().count(materialized=Materialized("counts"))
    counts.to_stream().to("out", value=long())
    return builder.build()


def counts(batch) -> list[tuple[bytes | None, int]]:
    return [
        (key, int.from_bytes(value)) for key, value in zip(batch.keys, batch.values, strict=True)
    ]


def test_outputs_changelog_and_offsets_of_a_batch_belong_together() -> None:
    task = StreamTask(count_topology(), 0, 3, in_memory_stores(), CONFIG)
    task.add("in", raw(("a", "x", 1), ("b", "x", 2), ("a", "x", 3), first_offset=40))
    output = task.process(0)
    assert task.id == "0_3"
    assert counts(output.sinks["out"]) == [(b"a", 1), (b"b", 1), (b"a", 2)]
    assert counts(output.changelogs[CHANGELOG]) == [(b"a", 1), (b"b", 1), (b"a", 2)]
    assert task.prepare_commit().offsets == {"in": 43}


def test_records_are_queued_in_the_task_of_their_partition_alone() -> None:
    first, second = (
        StreamTask(count_topology(), 0, partition, in_memory_stores(), CONFIG)
        for partition in (0, 1)
    )
    first.add("in", raw(("a", "x", 1), ("b", "x", 2)))
    second.add("in", raw(("a", "x", 1)))
    assert (first.process(0).processed, second.process(0).processed) == (2, 1)
    assert (first.process(0).processed, second.process(0).processed) == (0, 0)


def test_a_task_that_fails_leaves_what_another_one_commits_alone(tmp_path: Path) -> None:
    """Both in the stores of one directory."""
    topology = count_topology(failing_on_bad)

    def task(partition: int) -> StreamTask:
        return StreamTask(topology, 0, partition, rocksdb_stores(tmp_path), CONFIG)

    failing, fine = task(0), task(1)
    for each, value in ((failing, "bad"), (fine, "x")):
        each.add("in", raw(("a", "x", 1), ("a", value, 2)))
    with pytest.raises(ProcessingError):
        failing.process(0)
    assert counts(fine.process(0).sinks["out"]) == [(b"a", 1), (b"a", 2)]
    failing.rollback()
    fine.commit(marker="1")
    for each in (failing, fine):
        each.close()
    for partition, count in ((0, 1), (1, 3)):
        again = task(partition)
        again.add("in", raw(("a", "x", 3)))
        assert counts(again.process(0).sinks["out"]) == [(b"a", count)]
        again.close()


def failing_on_bad(value: str) -> str:
    if value == "bad":
        raise ValueError("a bad record")
    return value


def test_a_rolled_back_batch_counts_once_when_it_comes_again() -> None:
    task = StreamTask(count_topology(), 0, 0, in_memory_stores(), CONFIG)
    task.add("in", raw(("a", "x", 1)))
    task.process(0)
    task.commit(marker="1")
    task.add("in", raw(("a", "x", 2), first_offset=1))
    task.process(0)
    task.rollback()
    task.add("in", raw(("a", "x", 2), first_offset=1))
    assert counts(task.process(0).sinks["out"]) == [(b"a", 2)]


def test_a_task_on_rocksdb_goes_on_where_its_last_commit_was(tmp_path: Path) -> None:
    task = StreamTask(count_topology(), 0, 0, rocksdb_stores(tmp_path), CONFIG)
    task.add("in", raw(("a", "x", 1), ("a", "x", 2)))
    task.process(0)
    task.commit(marker="batch 1", changelog_offsets={CHANGELOG: 2})
    task.add("in", raw(("a", "x", 3), first_offset=2))
    task.process(0)
    task.close()

    again = StreamTask(count_topology(), 0, 0, rocksdb_stores(tmp_path), CONFIG)
    assert again.state.marker_of("counts") == "batch 1"
    assert again.state.restore_positions() == {CHANGELOG: 2}
    assert again.stores["counts"].get("a") == (2, 2)
    again.close()


def test_a_lost_store_is_rebuilt_from_its_changelog() -> None:
    task = StreamTask(count_topology(), 0, 0, in_memory_stores(), CONFIG)
    task.add("in", raw(("a", "x", 1), ("b", "x", 9), ("a", "x", 2)))
    log = task.process(0).changelogs[CHANGELOG]

    again = StreamTask(count_topology(), 0, 0, in_memory_stores(), CONFIG)
    assert again.state.restore_positions() == {CHANGELOG: None}
    again.state.restore(CHANGELOG, RawBatch(log.keys, log.values, log.timestamps, range(len(log))))
    assert dict(again.stores["counts"].all()) == {"a": (2, 2), "b": (1, 9)}
    assert again.state.restore_positions() == {CHANGELOG: 3}


def test_late_records_stay_late_after_a_restart(tmp_path: Path) -> None:
    builder = StreamsBuilder()
    windows = TimeWindows.tumbling(timedelta(milliseconds=10))
    table = builder.stream("in").group_by_key().windowed_by(windows).count()
    table.to_stream().to("out", key=time_windowed(string(), 10), value=long())
    topology = builder.build()
    task = StreamTask(topology, 0, 0, rocksdb_stores(tmp_path), CONFIG)
    task.add("in", raw(("a", "x", 25)))
    task.process(0)
    task.commit()
    task.close()
    again = StreamTask(topology, 0, 0, rocksdb_stores(tmp_path), CONFIG)
    again.add("in", raw(("a", "x", 5), first_offset=1))
    assert "out" not in again.process(0).sinks
    assert again.dropped.total == 1
    again.close()


def test_the_topic_with_the_smallest_head_timestamp_goes_first() -> None:
    builder = StreamsBuilder()
    builder.stream("left").merge(builder.stream("right")).to("out")
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)
    task.add("left", raw(("l", "1", 1), ("l", "2", 7), ("l", "3", 3)))
    task.add("right", raw(("r", "4", 4), ("r", "5", 5)))
    values = task.process(0).sinks["out"].values
    assert values == [b"1", b"4", b"5", b"2", b"3"]


def test_processing_stops_after_the_records_asked_for() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)
    task.add("in", raw(("a", "1", 1), ("a", "2", 2), ("a", "3", 3)))
    output = task.process(0, records_max=2)
    assert output.processed == 2
    assert task.prepare_commit().offsets == {"in": 2}


def test_an_unreadable_record_stops_the_task_when_its_turn_comes() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=long()).to("out", value=long())
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)
    good = (7).to_bytes(8, "big")
    task.add("in", RawBatch([b"a", b"a"], [good, b"short"], [1, 2], [5, 6]))
    with pytest.raises(SerializationError, match="in-0 offset 6 cannot be read"):
        task.process(0)


def test_skipped_records_move_the_offset_and_are_counted() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value=long()).to("out", value=long())
    config = StreamsConfig("app", default_key=string(), on_deserialization_error=OnError.CONTINUE)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    good = (7).to_bytes(8, "big")
    task.add("in", RawBatch([b"a", b"b"], [good, b"short"], [1, 2], [5, 6]))
    assert task.process(0).sinks["out"].values == [good]
    assert task.prepare_commit().offsets == {"in": 7}
    assert task.dropped.total == 1


def test_a_failing_function_is_reported_with_node_topic_partition_and_offset() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: 1 // (len(value) - 1), name="divide").to("out")
    config = StreamsConfig("app", default_key=string(), default_value=string(), batch_records_max=1)
    task = StreamTask(builder.build(), 0, 2, in_memory_stores(), config)
    task.add("in", raw(("a", "x", 1), first_offset=9))
    with pytest.raises(ProcessingError, match="node divide failed on in-2 offset 9"):
        task.process(0)


def test_windowed_keys_are_partitioned_by_their_inner_key() -> None:
    builder = StreamsBuilder()
    windows = TimeWindows.tumbling(timedelta(milliseconds=10))
    table = builder.stream("in").group_by_key().windowed_by(windows).count()
    table.to_stream().to("out", key=time_windowed(string(), 10), value=long())
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)
    task.add("in", raw(("a", "x", 25)))
    assert task.process(0).sinks["out"].partition_keys == [b"a"]
