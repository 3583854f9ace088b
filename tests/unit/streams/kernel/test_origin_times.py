"""The origin times of what a task writes to a repartition topic: those that it has reached, never smaller ones."""

from __future__ import annotations

import numpy as np
import pytest

from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.kernel import RawBatch, StreamTask, TaskTopics
from millstream.streams.kernel.columns.batch import SinkBatch
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores
from millstream.streams.topology import Topology
from millstream.streams.topology.alignment import aligned_topics

R = "app-r-repartition"


def task_of(topology: Topology, **settings: int) -> StreamTask:
    config = StreamsConfig("app", string(), string(), **settings)  # type: ignore[arg-type]  # numbers all
    topics = TaskTopics(aligned=aligned_topics(topology, "app").of(0))
    return StreamTask(topology, 0, 0, in_memory_stores(), config, topics=topics)


def records(*rows: tuple[str, int], first: int = 0) -> RawBatch:
    """`rows`: keys, which are values as well, and timestamps."""
    keys: list[bytes | None] = [key.encode() for key, _ in rows]
    offsets = range(first, first + len(rows))
    return RawBatch(keys, list(keys), [time for _, time in rows], list(offsets))


def written(batch: SinkBatch) -> list[tuple[str, int]]:
    assert batch.origin_times is not None
    assert batch.origin_times.dtype == np.int64
    keys = [(key or b"").decode() for key in batch.keys]
    return list(zip(keys, batch.origin_times.tolist(), strict=True))


@pytest.mark.parametrize("batch_records_max", [1, 1_000])
def test_they_are_the_largest_timestamps_so_far(batch_records_max: int) -> None:
    builder = StreamsBuilder()
    builder.stream("in").filter(lambda key, _: key != "left out").repartition(name="r").to("out")
    task = task_of(builder.build(), batch_records_max=batch_records_max)
    task.add("in", records(("a", 50), ("left out", 90), ("b", 60)))
    assert written(task.process(0).sinks[R]) == [("a", 50), ("b", 90)]
    task.add("in", records(("c", 70), ("d", 91), first=3))
    assert written(task.process(0).sinks[R]) == [("c", 90), ("d", 91)]
    assert task.prepare_commit().origin_time == 91


def test_they_go_on_where_the_task_before_has_left_off() -> None:
    builder = StreamsBuilder()
    builder.stream("in").repartition(name="r").to("out")
    task = task_of(builder.build())
    task.resume({"in": 40}, origin_time=45)
    task.add("in", records(("a", 30)))
    assert written(task.process(0).sinks[R]) == [("a", 45)]


@pytest.mark.parametrize("cache_max_bytes", [0, 250, 1_000, 1_000_000])
def test_what_a_cache_gives_out_has_the_time_that_the_task_has_reached_by_then(
    cache_max_bytes: int,
) -> None:
    builder = StreamsBuilder()
    table = builder.table("in")
    table.group_by(lambda key, value: (key, value), name="r").count().to_stream().to("out")
    task = task_of(builder.build(), cache_max_bytes=cache_max_bytes)
    rows = [(f"key-{number % 7}", 100 + number) for number in range(40)]
    found: list[tuple[str, int]] = []
    for first in range(0, 40, 10):
        task.add("in", records(*rows[first : first + 10], first=first))
        output = task.process(0).sinks
        found += written(output[R]) if R in output else []
    last = task.prepare_commit().output.sinks
    found += written(last[R]) if R in last else []
    times = [time for _, time in found]
    assert times == sorted(times)
    assert set(times) <= set(range(100, 140))
    assert times[-1] == 139
