"""Whether a task waits for topics that have nothing queued, as in Kafka Streams' PartitionGroup 4.3.1."""

from __future__ import annotations

from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.kernel import RawBatch, StreamTask, TaskTopics
from millstream.streams.serdes import string
from millstream.streams.state import in_memory_stores


def task_of(idle_ms: int) -> StreamTask:
    """Reads topics a and b; a record of a at 10 is queued."""
    builder = StreamsBuilder()
    builder.stream("a").merge(builder.stream("b")).to("out")
    config = StreamsConfig("app", string(), string(), max_task_idle_ms=idle_ms)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    task.add("a", record(0, at=10))
    return task


def record(offset: int, at: int) -> RawBatch:
    return RawBatch([b"k"], [b"v"], [at], [offset])


def enforced(task: StreamTask) -> float:
    return sum(
        n for name, n in task.metrics.values().items() if name.name == "enforced-processing-total"
    )


def test_minus_one_never_waits() -> None:
    assert task_of(-1).is_ready({"a": 0, "b": 7}, 0)


def test_zero_waits_for_records_that_are_known_to_be_there() -> None:
    task = task_of(0)
    assert not task.is_ready({"a": 0, "b": 1}, 0)
    task.add("b", record(0, at=5))
    assert task.is_ready({"a": 0, "b": 0}, 0)
    assert enforced(task) == 0


def test_zero_waits_until_it_is_known_what_is_there() -> None:
    assert not task_of(0).is_ready({"a": 0}, 1_000_000)


def test_zero_does_not_wait_for_producers() -> None:
    task = task_of(0)
    assert task.is_ready({"a": 0, "b": 0}, 0)
    assert enforced(task) == 1


def test_more_than_zero_waits_so_long_by_the_wall_clock_for_an_empty_topic() -> None:
    task = task_of(100)
    assert not task.is_ready({"a": 0, "b": 0}, 1_000)
    assert not task.is_ready({"a": 0, "b": 0}, 1_099)
    assert task.is_ready({"a": 0, "b": 0}, 1_100)
    assert task.is_ready({"a": 0, "b": 0}, 1_101)
    assert enforced(task) == 2


def test_the_wait_begins_anew_when_a_topic_had_something() -> None:
    task = task_of(100)
    assert not task.is_ready({"a": 0, "b": 0}, 1_000)
    assert not task.is_ready({"a": 0, "b": 3}, 1_050)
    assert not task.is_ready({"a": 0, "b": 0}, 1_060)
    assert not task.is_ready({"a": 0, "b": 0}, 1_159)
    assert task.is_ready({"a": 0, "b": 0}, 1_160)


def test_process_stops_where_the_task_is_not_ready() -> None:
    task = task_of(100)
    assert task.process(1_000, lags={"a": 0, "b": 0}).processed == 0
    assert task.idling.waits_until_ms == 1_100
    task.add("a", record(1, at=30))
    task.add("b", record(0, at=20))
    assert task.process(1_001, lags={"a": 0, "b": 0}).processed == 2, "10 and 20, not 30"
    assert (task.inputs.queued, task.idling.waits_until_ms) == ({"a": 1, "b": 0}, 1_101)
    assert task.process(1_101, lags={"a": 0, "b": 0}).processed == 1


def test_a_wait_for_records_that_are_there_is_not_by_the_clock() -> None:
    task = task_of(100)
    assert task.process(1_000, lags={"a": 0, "b": 1}).processed == 0
    assert task.idling.waits_until_ms is None


def test_a_topic_that_lacks_the_partition_is_not_waited_for() -> None:
    builder = StreamsBuilder()
    builder.stream("a").merge(builder.stream("b")).to("out")
    config = StreamsConfig("app", string(), string(), max_task_idle_ms=100)
    task = StreamTask(
        builder.build(), 0, 7, in_memory_stores(), config, topics=TaskTopics(named=["a"])
    )
    task.add("a", record(0, at=10))
    assert task.source_topics == ("a",)
    assert task.process(1_000, lags={"a": 0}).processed == 1
