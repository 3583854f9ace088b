"""The record cache: what is held back between commits, and what goes on at a flush."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.streams import (
    Materialized,
    OnError,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.streams.errors import ProcessorStateError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import long, string, time_windowed
from millstream.streams.serdes.change import Change
from millstream.streams.serdes.change import changes as change_serde
from millstream.streams.state import TimestampedWindowStore, in_memory_stores

CACHED = StreamsConfig(
    "app", default_key=string(), default_value=string(), cache_max_bytes=1_000_000
)
CHANGELOG = "app-counts-changelog"
Row = tuple[str, str | None, int]


def raw(rows: list[Row], first_offset: int = 0) -> RawBatch:
    return RawBatch(
        [key.encode() for key, _, _ in rows],
        [None if value is None else value.encode() for _, value, _ in rows],
        [at for _, _, at in rows],
        range(first_offset, first_offset + len(rows)),
    )


def counts() -> Topology:
    builder = StreamsBuilder()
    table = builder.stream("in").group_by_key().count(materialized=Materialized("counts"))
    table.to_stream().to("out", value=long())
    return builder.build()


def mirrored() -> Topology:
    builder = StreamsBuilder()
    builder.table("in", materialized=Materialized("rows")).to_stream().to("out")
    return builder.build()


def flushed(
    topology: Topology, rows: list[Row], config: StreamsConfig = CACHED
) -> tuple[list[tuple[bytes | None, bytes | None, int]], StreamTask]:
    """What goes out with the commit after these rows, and the task."""
    task = StreamTask(topology, 0, 0, in_memory_stores(), config)
    task.add("in", raw(rows))
    assert not task.process(0).sinks, "nothing goes out before the commit"
    sink = task.prepare_commit().output.sinks.get("out")
    return (
        [] if sink is None else list(zip(sink.keys, sink.values, sink.timestamps, strict=True)),
        task,
    )


def unreadable(_data: bytes) -> str:
    raise AssertionError("nobody looks at it")


def test_what_leaves_the_cache_for_a_sink_goes_as_the_bytes_that_were_written() -> None:
    written_only = replace(string(), decode=unreadable)
    builder = StreamsBuilder()
    kept = Materialized("rows", key=string(), value=written_only)
    grouped = builder.stream("in").group_by_key()
    table = grouped.aggregate(str, lambda _key, value, _all: value, materialized=kept)
    table.to_stream().to("out", value=written_only)
    out, task = flushed(builder.build(), [("a", "x", 1), ("b", "y", 2), ("a", "z", 3)])
    assert out == [(b"b", b"y", 2), (b"a", b"z", 3)]
    task.commit()


def test_a_key_goes_out_once_with_its_last_value_in_the_order_of_the_latest_writes() -> None:
    out, _ = flushed(counts(), [("a", "x", 1), ("b", "x", 2), ("a", "x", 3), ("c", "x", 4)])
    assert out == [
        (b"b", (1).to_bytes(8), 2),
        (b"a", (2).to_bytes(8), 3),
        (b"c", (1).to_bytes(8), 4),
    ]


def test_the_changelog_is_told_of_the_same_updates() -> None:
    task = StreamTask(counts(), 0, 0, in_memory_stores(), CACHED)
    task.add("in", raw([("a", "x", 1), ("a", "x", 3)]))
    assert not task.process(0).changelogs
    log = task.prepare_commit().output.changelogs[CHANGELOG]
    assert (log.keys, log.values, log.timestamps) == ([b"a"], [(2).to_bytes(8)], [3])


def test_a_row_that_came_and_went_leaves_no_trace() -> None:
    assert flushed(mirrored(), [("a", "x", 1), ("a", None, 2)])[0] == []


def test_a_row_that_was_there_before_is_deleted() -> None:
    out, task = flushed(mirrored(), [("a", "x", 1)])
    task.commit()
    task.add("in", raw([("a", "y", 2), ("a", None, 3)], first_offset=1))
    task.process(0)
    sink = task.prepare_commit().output.sinks["out"]
    assert out == [(b"a", b"x", 1)]
    assert (sink.keys, sink.values, sink.timestamps) == ([b"a"], [None], [3])


def test_the_old_value_is_the_one_that_was_flushed_last() -> None:
    """A table grouped again subtracts old values: what nobody saw must not be subtracted."""
    builder = StreamsBuilder()
    table = builder.table("in", materialized=Materialized("rows"))
    table.group_by(lambda _key, value: ("all", value)).count(materialized=Materialized("counts"))
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CACHED)
    repartition = "app-counts-repartition"
    changes = []
    for start, values in ((0, ["red", "blue"]), (2, ["green", "white"])):
        rows: list[Row] = [("a", value, start) for value in values]
        task.add("in", raw(rows, first_offset=start))
        task.process(0)
        changes += task.prepare_commit().output.sinks[repartition].values
        task.commit()
    serde = change_serde(string())
    assert [serde.decode(data) for data in changes if data is not None] == [
        Change("blue", None),
        Change("white", "blue"),
    ]


def outcome(
    topology: Topology, rows: list[Row], config: StreamsConfig, step: int = 1_000
) -> tuple[dict[bytes | None, bytes | None], int]:
    """The last value of each key that went out, and how many records that took."""
    task = StreamTask(topology, 0, 0, in_memory_stores(), config)
    last: dict[bytes | None, bytes | None] = {}
    written = 0
    for start in range(0, len(rows), step):
        task.add("in", raw(rows[start : start + step], first_offset=start))
        for output in (task.process(0), task.prepare_commit().output):
            sink = output.sinks.get("out")
            if sink is not None:
                last.update(zip(sink.keys, sink.values, strict=True))
                written += len(sink)
        task.commit()
    return last, written


def test_a_full_cache_goes_on_before_the_commit() -> None:
    rows: list[Row] = [(f"key-{number}", "x", number) for number in range(100)]
    small = replace(CACHED, cache_max_bytes=1_000, batch_records_max=1)
    task = StreamTask(counts(), 0, 0, in_memory_stores(), small)
    task.add("in", raw(rows))
    early = len(task.process(0).sinks["out"])
    late = len(task.prepare_commit().output.sinks["out"])
    assert early > 0
    assert early + late == 100


def test_a_row_behind_one_that_made_room_is_dropped_at_its_own_stream_time() -> None:
    """Rows that go one by one came one after the other, whatever went on between two of them."""
    one_by_one = replace(CACHED, cache_max_bytes=1, on_processing_error=OnError.CONTINUE)
    task = StreamTask(counts(), 0, 0, in_memory_stores(), one_by_one)
    rows = RawBatch([b"a", b"b", None, b"c"], [b"x"] * 4, [10, 20, 30, 100], range(4))
    task.add("in", rows)
    task.process(0)
    (left_out,) = task.dropped.take()
    assert (left_out.timestamp_ms, left_out.stream_time_ms) == (30, 30)


def test_a_rolled_back_batch_leaves_nothing_in_the_cache() -> None:
    task = StreamTask(counts(), 0, 0, in_memory_stores(), CACHED)
    task.add("in", raw([("a", "x", 1)]))
    task.process(0)
    task.rollback()
    assert not task.prepare_commit().output.sinks


def test_without_caching_a_table_sends_every_update() -> None:
    builder = StreamsBuilder()
    materialized = Materialized("counts", caching=False)
    table = builder.stream("in").group_by_key().count(materialized=materialized)
    table.to_stream().to("out", value=long())
    assert outcome(builder.build(), [("a", "x", 1), ("a", "x", 2)], CACHED)[1] == 2


def windowed() -> Topology:
    builder = StreamsBuilder()
    windows = TimeWindows.tumbling(timedelta(milliseconds=10), grace=timedelta(seconds=1))
    table = builder.stream("in").group_by_key().windowed_by(windows).count()
    table.to_stream().to("out", key=time_windowed(string(), 10), value=long())
    return builder.build()


@pytest.mark.parametrize("topology", [counts, mirrored, windowed])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), st.integers(0, 40)),
        max_size=30,
    ),
    step=st.sampled_from([1, 7, 1_000]),
)
@settings(max_examples=60, deadline=None)
def test_the_cache_changes_no_final_table(topology, rows: list[Row], step: int) -> None:
    built = topology()
    with_cache, fewer = outcome(built, rows, CACHED, step)
    without, all_updates = outcome(built, rows, replace(CACHED, cache_max_bytes=0), step)
    gone = {key for key, value in without.items() if value is None}
    assert {k: v for k, v in with_cache.items() if v is not None} == {
        k: v for k, v in without.items() if v is not None
    }
    assert set(with_cache) <= set(without)
    assert set(without) - set(with_cache) <= gone
    assert fewer <= all_updates


def test_a_row_that_its_store_has_let_go_is_found_while_the_cache_has_it() -> None:
    """The store keeps windows of the last 20 ms; both rows were asked for in Kafka Streams 4.3.1, cached and not."""
    builder = StreamsBuilder()
    windows = TimeWindows.tumbling(timedelta(milliseconds=10), grace=timedelta(milliseconds=10))
    builder.stream("in").group_by_key().windowed_by(windows).count(materialized=Materialized("w"))
    topology = builder.build()
    seen = {}
    for name, config in (("cached", CACHED), ("not", replace(CACHED, cache_max_bytes=0))):
        task = StreamTask(topology, 0, 0, in_memory_stores(), config)
        task.add("in", raw([("a", "x", 1), ("a", "x", 200)]))
        task.process(0)
        task.prepare_commit()
        task.commit()
        store = task.stores["w"]
        assert isinstance(store, TimestampedWindowStore)
        seen[name] = [(window.start_ms, row[0]) for window, row in store.fetch_all()]
    assert seen == {"cached": [(0, 1), (200, 1)], "not": [(200, 1)]}


def test_what_fails_below_a_cached_table_is_an_error_of_its_state() -> None:
    """Kafka Streams: ProcessorStateException, with the cause of what failed."""
    builder = StreamsBuilder()
    table = builder.table("in", materialized=Materialized("rows"))
    table.to_stream().map_values(lambda value: value + 1).to("out")
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CACHED)
    task.add("in", raw([("a", "x", 1)]))
    task.process(0)
    with pytest.raises(ProcessorStateError, match="the cache of store rows") as raised:
        task.prepare_commit()
    assert isinstance(raised.value.__cause__, TypeError)


def test_nothing_is_left_behind_at_a_commit_whatever_the_order_of_the_stores() -> None:
    """Kafka Streams flushes twice, and can lose what the second time leaves."""
    task = StreamTask(counts(), 0, 0, in_memory_stores(), CACHED)
    task.add("in", raw([("a", "x", 1)]))
    task.process(0)
    caches = [each.cache for each in task.stores.values() if each.cache is not None]
    assert any(cache.is_dirty for cache in caches)
    task.prepare_commit()
    assert not any(cache.is_dirty for cache in caches)
