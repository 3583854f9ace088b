"""A function of the user that raises stops the task with node, topic, partition, offset, and the user's own traceback.

One case for each place in which a function is called; values that do not encode or decode belong here as well.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from datetime import timedelta

import pytest

from millstream.streams import (
    JoinWindows,
    Materialized,
    ProcessorContext,
    PunctuationType,
    Record,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
)
from millstream.streams.aggregates import max_of
from millstream.streams.errors import ProcessingError, SerializationError, StreamsError
from millstream.streams.kernel import RawBatch, StreamTask
from millstream.streams.serdes import json, long, string
from millstream.streams.state import in_memory_stores
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

TEXT = StreamsConfig("app", default_key=string(), default_value=string())
SECOND = timedelta(seconds=1)


class Mistake(Exception):
    """Made by a user."""


def fails(*_arguments: object) -> object:
    raise Mistake("it is mine")


def both(left: object, right: object) -> object:
    return left


class Fails:
    def process(self, record: Record) -> None:
        fails(record)


class FailsToTransform:
    def transform(self, key: object, value: object) -> object:
        return fails(key, value)


class FailsOnTime:
    def init(self, context: ProcessorContext) -> None:
        context.schedule(SECOND, PunctuationType.STREAM_TIME, fails)

    def process(self, record: Record) -> None:
        """Only time passes."""


class ForwardsToNobody:
    def init(self, context: ProcessorContext) -> None:
        self.context = context

    def process(self, record: Record) -> None:
        self.context.forward(record, "nobody")


class UsesAnUnknownStore(ForwardsToNobody):
    def process(self, record: Record) -> None:
        self.context.store("rows")


def pair(key: object, value: object) -> tuple[object, object]:
    return key, value


def last(key: object, value: object, aggregate: object) -> object:
    return value


def error_of(calls: Callable[[StreamsBuilder], object]) -> StreamsError:
    """What two records `in: a=x` after one of `t` lead to."""
    builder = StreamsBuilder()
    calls(builder)
    topology = builder.build()
    read = {topic for node in topology.nodes.values() for topic in getattr(node, "topics", ())}
    with TopologyTestDriver(topology, TEXT) as driver:
        try:
            for topic in sorted(read & {"t", "in"}, reverse=True):
                driver.pipe_bytes(topic, b"a", b"x", timestamp=3)
            driver.pipe_bytes("in", b"a", b"x", timestamp=3)
        except StreamsError as error:
            return error
    raise AssertionError("nothing failed")


AGGREGATE = "KSTREAM-AGGREGATE-0000000002"
FAILING: dict[str, tuple[Callable[[StreamsBuilder], object], str, str]] = {
    "predicate": (
        lambda b: b.stream("in").filter(fails),
        "KSTREAM-FILTER-0000000001",
        "in-0 offset 0",
    ),
    "mapper": (lambda b: b.stream("in").map(fails), "KSTREAM-MAP-0000000001", "in-0 offset 0"),
    "value mapper": (
        lambda b: b.stream("in").map_values(fails),
        "KSTREAM-MAPVALUES-0000000001",
        "in-0 offset 0",
    ),
    "flat mapper": (
        lambda b: b.stream("in").flat_map(fails),
        "KSTREAM-FLATMAP-0000000001",
        "in-0 offset 0",
    ),
    "generator": (
        lambda b: b.stream("in").flat_map_values(lambda value: (fails() for _ in value)),
        "KSTREAM-FLATMAPVALUES-0000000001",
        "in-0 offset 0",
    ),
    "key mapper": (
        lambda b: b.stream("in").select_key(fails),
        "KSTREAM-KEY-SELECT-0000000001",
        "in-0 offset 0",
    ),
    "peek": (lambda b: b.stream("in").peek(fails), "KSTREAM-PEEK-0000000001", "in-0 offset 0"),
    "foreach": (
        lambda b: b.stream("in").foreach(fails),
        "KSTREAM-FOREACH-0000000001",
        "in-0 offset 0",
    ),
    "print": (
        lambda b: b.stream("in").print(write=fails),
        "KSTREAM-PRINTER-0000000001",
        "in-0 offset 0",
    ),
    "branch": (
        lambda b: b.stream("in").split().branch(fails),
        "KSTREAM-BRANCH-0000000001",
        "in-0 offset 0",
    ),
    "reducer": (
        lambda b: b.stream("in").group_by_key().reduce(fails),
        "KSTREAM-REDUCE-0000000002",
        "in-0 offset 1",
    ),
    "initializer": (
        lambda b: b.stream("in").group_by_key().aggregate(fails, last),
        AGGREGATE,
        "in-0 offset 0",
    ),
    "aggregator": (
        lambda b: b.stream("in").group_by_key().aggregate(str, fails),
        AGGREGATE,
        "in-0 offset 0",
    ),
    "aggregator of windows": (
        lambda b: (
            b.stream("in")
            .group_by_key()
            .windowed_by(TimeWindows.tumbling(SECOND))
            .aggregate(str, fails)
        ),
        AGGREGATE,
        "in-0 offset 0",
    ),
    "aggregator of sliding windows": (
        lambda b: (
            b.stream("in")
            .group_by_key()
            .windowed_by(SlidingWindows.of(SECOND))
            .aggregate(str, fails)
        ),
        AGGREGATE,
        "in-0 offset 0",
    ),
    "merger of sessions": (
        lambda b: (
            b.stream("in")
            .group_by_key()
            .windowed_by(SessionWindows.of(SECOND))
            .aggregate(str, last, fails)
        ),
        AGGREGATE,
        "in-0 offset 1",
    ),
    "cogrouped aggregator": (
        lambda b: b.stream("in").group_by_key().cogroup(fails).aggregate(str),
        "COGROUPKSTREAM-AGGREGATE-0000000002",
        "in-0 offset 0",
    ),
    "joiner of streams": (
        lambda b: b.stream("in").join(b.stream("in"), fails, windows=JoinWindows.of(SECOND)),
        "KSTREAM-JOINOTHER-0000000005",
        "in-0 offset 0",
    ),
    "joiner with a table": (
        lambda b: b.stream("in").join(b.table("t"), fails),
        "KSTREAM-JOIN-0000000004",
        "in-0 offset 0",
    ),
    "key of a global table": (
        lambda b: b.stream("in").join(b.global_table("t"), both, on=fails),
        "KSTREAM-LEFTJOIN-0000000004",
        "in-0 offset 0",
    ),
    "joiner of tables": (
        lambda b: b.table("in").join(b.table("t"), fails),
        "KTABLE-JOINTHIS-0000000007",
        "in-0 offset 0",
    ),
    "foreign key": (
        lambda b: b.table("in").join(b.table("t"), both, foreign_key=fails),
        "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000007",
        "in-0 offset 0",
    ),
    "joiner on a foreign key": (
        lambda b: b.table("in").left_join(
            b.table("t"), fails, foreign_key=lambda value: value, name="f"
        ),
        "f-subscription-response-resolver",
        "app-f-subscription-response-topic-0 offset 0",
    ),
    "predicate of a table": (
        lambda b: b.table("in").filter(fails),
        "KTABLE-FILTER-0000000003",
        "in-0 offset 0",
    ),
    "transformer": (
        lambda b: b.table("in").transform_values(FailsToTransform),
        "KTABLE-TRANSFORMVALUES-0000000003",
        "in-0 offset 0",
    ),
    "regrouping": (
        lambda b: b.table("in").group_by(fails).count(),
        "KTABLE-SELECT-0000000003",
        "in-0 offset 0",
    ),
    "adder": (
        lambda b: b.table("in").group_by(pair, name="g").aggregate(str, fails, fails, name="sum"),
        "sum",
        "app-g-repartition-0 offset 0",
    ),
    "processor": (
        lambda b: b.stream("in").process(Fails),
        "KSTREAM-PROCESSOR-0000000001",
        "in-0 offset 0",
    ),
}


@pytest.mark.parametrize("case", FAILING)
def test_node_and_record_are_named_and_the_users_traceback_is_there(case: str) -> None:
    calls, node, place = FAILING[case]
    error = error_of(calls)
    assert type(error) is ProcessingError
    assert str(error) == f"node {node} failed on {place}: Mistake('it is mine')"
    assert isinstance(error.__cause__, Mistake)
    frames = traceback.extract_tb(error.__cause__.__traceback__)
    assert frames[-1].name == "fails"


RESULTS: dict[str, tuple[Callable[[StreamsBuilder], object], str]] = {
    "no pair": (
        lambda b: b.stream("in").map(lambda key, value: value),
        (
            "node KSTREAM-MAP-0000000001 failed on in-0 offset 0: "
            "TypeError(\"the mapper must return a pair (key, value), not 'x'\")"
        ),
    ),
    "text that could be unpacked like a pair": (
        lambda b: b.stream("in").map(lambda key, value: 2 * value),
        (
            "node KSTREAM-MAP-0000000001 failed on in-0 offset 0: "
            "TypeError(\"the mapper must return a pair (key, value), not 'xx'\")"
        ),
    ),
    "texts that could be unpacked like pairs": (
        lambda b: b.stream("in").flat_map(lambda key, value: [2 * value]),
        (
            "node KSTREAM-FLATMAP-0000000001 failed on in-0 offset 0: "
            "TypeError(\"the mapper must return an iterable of pairs (key, value), not one of 'xx'\")"
        ),
    ),
    "text of a table that could be unpacked like a pair": (
        lambda b: b.table("in").group_by(lambda key, value: 2 * value).count(),
        (
            "node KTABLE-SELECT-0000000003 failed on in-0 offset 0: "
            "TypeError(\"the mapper must return a pair (key, value), not 'xx'\")"
        ),
    ),
    "nothing to iterate over": (
        lambda b: b.stream("in").flat_map_values(lambda value: None),
        (
            "node KSTREAM-FLATMAPVALUES-0000000001 failed on in-0 offset 0: "
            "TypeError('the mapper must return an iterable of values, not None')"
        ),
    ),
    "nothing to take pairs from": (
        lambda b: b.stream("in").flat_map(lambda key, value: None),
        (
            "node KSTREAM-FLATMAP-0000000001 failed on in-0 offset 0: "
            "TypeError('the mapper must return an iterable of pairs (key, value), not None')"
        ),
    ),
    "no pairs": (
        lambda b: b.stream("in").flat_map(lambda key, value: [value]),
        (
            "node KSTREAM-FLATMAP-0000000001 failed on in-0 offset 0: "
            "TypeError(\"the mapper must return an iterable of pairs (key, value), not one of 'x'\")"
        ),
    ),
    "no pair of a table": (
        lambda b: b.table("in").group_by(lambda key, value: 5).count(),
        (
            "node KTABLE-SELECT-0000000003 failed on in-0 offset 0: "
            "TypeError('the mapper must return a pair (key, value), not 5')"
        ),
    ),
    "unknown child": (
        lambda b: b.stream("in").process(ForwardsToNobody),
        "KSTREAM-PROCESSOR-0000000001 has no child nobody to forward to",
    ),
    "unknown store": (
        lambda b: b.stream("in").process(UsesAnUnknownStore),
        "KSTREAM-PROCESSOR-0000000001 is not connected with store rows: name it when the processor is added",
    ),
    "punctuation": (
        lambda b: b.stream("in").process(FailsOnTime),
        "punctuation of KSTREAM-PROCESSOR-0000000001 at 3 failed: Mistake('it is mine')",
    ),
    "topic extractor": (
        lambda b: b.stream("in").to(fails),
        "the topic extractor of sink KSTREAM-SINK-0000000001 failed on in-0 offset 0: Mistake('it is mine')",
    ),
    "no topic": (
        lambda b: b.stream("in").to(lambda key, value, context: None),
        (
            "the topic extractor of sink KSTREAM-SINK-0000000001 failed on in-0 offset 0: "
            "TypeError('a topic is a str, not None')"
        ),
    ),
    "partitioner": (
        lambda b: b.stream("in").to("out", partitioner=fails),
        "the partitioner of sink KSTREAM-SINK-0000000001 failed on in-0 offset 0: Mistake('it is mine')",
    ),
    "no partition": (
        lambda b: b.stream("in").to("out", partitioner=lambda topic, key, value, number: 0.5),
        (
            "the partitioner of sink KSTREAM-SINK-0000000001 failed on in-0 offset 0: "
            "TypeError('a partition is an int, several, or None for the default, not 0.5')"
        ),
    ),
    "negative partition": (
        lambda b: b.stream("in").to("out", partitioner=lambda topic, key, value, number: -1),
        (
            "the partitioner of sink KSTREAM-SINK-0000000001 failed on in-0 offset 0: "
            "ValueError('there is no partition -1')"
        ),
    ),
    "timestamp extractor": (
        lambda b: b.stream("in", timestamps=lambda record, partition_time: None),
        "of source KSTREAM-SOURCE-0000000000 failed on in-0 offset 0: ",
    ),
}


@pytest.mark.parametrize("case", RESULTS)
def test_what_a_function_did_wrong_is_said(case: str) -> None:
    calls, sentence = RESULTS[case]
    assert sentence in str(error_of(calls))


SERDES: dict[str, tuple[Callable[[StreamsBuilder], object], str]] = {
    "unreadable number": (
        lambda b: b.stream("in", value=long()).to("out"),
        "in-0 offset 0 cannot be read with serdes string for the key and long for the value: a long is 8 bytes, not 1",
    ),
    "unreadable JSON": (
        lambda b: b.stream("in", value=json()).to("out"),
        "in-0 offset 0 cannot be read with serdes string for the key and json for the value: ",
    ),
    "value for a store": (
        lambda b: b.stream("in").map_values(len).to_table(materialized=Materialized("rows")),
        "store rows cannot write key str with serde string and value int with serde string: give the right serdes",
    ),
    "aggregate for a store": (
        lambda b: b.stream("in").group_by_key().aggregate(int, last, value=long(), name="sum"),
        "store KSTREAM-AGGREGATE-STATE-STORE-0000000001 cannot write key str with serde string and value str with serde long: ",
    ),
}


@pytest.mark.parametrize("case", SERDES)
def test_values_that_their_serde_cannot_read_or_write_are_named(case: str) -> None:
    calls, sentence = SERDES[case]
    error = error_of(calls)
    assert type(error) is SerializationError
    assert str(error).startswith(sentence)
    assert error.__cause__ is not None


class FailsToStart(ForwardsToNobody):
    def init(self, context: ProcessorContext) -> None:
        fails(context)


def test_a_processor_that_fails_to_start_is_named() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(FailsToStart, name="mine")
    with pytest.raises(ProcessingError) as failed:
        TopologyTestDriver(builder.build(), TEXT)
    assert str(failed.value) == "init of mine failed: Mistake('it is mine')"
    assert isinstance(failed.value.__cause__, Mistake)


def test_a_record_goes_to_every_partition_its_partitioner_names_and_is_dropped_if_there_is_none() -> (
    None
):
    """KIP-837; None is for the default partitioner."""
    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda topic, key, value, number: PARTITIONS[value])
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), FOUR_PARTITIONS)
    values = [b"many", b"none", b"default", b"one"]
    task.add("in", RawBatch([b"a"] * 4, values, [0, 1, 2, 3], range(4)))
    written = task.process(0).sinks["out"]
    assert list(zip(written.values, written.partitions, written.timestamps, strict=True)) == [
        (b"many", 0, 0),
        (b"many", 2, 0),
        (b"default", None, 2),
        (b"one", 3, 3),
    ]
    assert task.dropped.total == 1


PARTITIONS = {"many": {2, 0}, "none": (), "default": None, "one": 3}
FOUR_PARTITIONS = StreamsConfig(
    "app", default_key=string(), default_value=string(), partition_count=lambda topic: 4
)


def test_a_partition_that_the_topic_has_not_is_refused() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda topic, key, value, number: number)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), FOUR_PARTITIONS)
    task.add("in", RawBatch([b"a"], [b"x"], [0], range(1)))
    with pytest.raises(ProcessingError, match="there is no partition 4"):
        task.process(0)


def no_c(value: str) -> str:
    return fails() if value == "c" else value


def no_c_first(value: str, _other: object) -> str:
    return no_c(value)


def no_c_last(*values: str) -> str:
    return no_c(values[-1])


IN_A_BATCH: dict[str, Callable[[StreamsBuilder], object]] = {
    "mapper": lambda b: b.stream("in").map_values(no_c).to("out"),
    "aggregator": lambda b: (
        b.stream("in").group_by_key().aggregate(str, lambda key, value, _: no_c(value))
    ),
    "reducer": lambda b: b.stream("in").group_by_key().reduce(no_c_last),
    "selector of a ready-made aggregate": lambda b: (
        b.stream("in").group_by_key().aggregate(max_of(no_c))
    ),
    "aggregator of windows": lambda b: (
        b.stream("in")
        .group_by_key()
        .windowed_by(TimeWindows.tumbling(SECOND))
        .aggregate(str, lambda key, value, _: no_c(value))
    ),
    "aggregator of sliding windows": lambda b: (
        b.stream("in")
        .group_by_key()
        .windowed_by(SlidingWindows.of(SECOND))
        .aggregate(str, lambda key, value, _: no_c(value))
    ),
    "aggregator of sessions": lambda b: (
        b.stream("in")
        .group_by_key()
        .windowed_by(SessionWindows.of(SECOND))
        .aggregate(str, lambda key, value, _: no_c(value), lambda key, one, _: one)
    ),
    "predicate of a stored table": lambda b: b.table("in").filter(
        lambda _, value: no_c(value) != "", materialized=Materialized("s")
    ),
    "mapper of a stored table": lambda b: b.table("in").map_values(
        no_c, materialized=Materialized("s")
    ),
    "joiner with a table": lambda b: b.stream("in").left_join(b.table("t"), no_c_first),
    "joiner of tables": lambda b: b.table("in").left_join(b.table("t"), no_c_first),
    "joiner of streams": lambda b: b.stream("in").outer_join(
        b.stream("t"), no_c_first, windows=A_SECOND
    ),
    "joiner of a stream with itself": lambda b: (stream := b.stream("in")).join(
        stream, no_c_first, windows=A_SECOND
    ),
}
A_SECOND = JoinWindows.of(SECOND, grace=SECOND)


@pytest.mark.parametrize("case", IN_A_BATCH)
def test_the_record_of_a_batch_is_named(case: str) -> None:
    builder = StreamsBuilder()
    IN_A_BATCH[case](builder)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), TEXT)
    if "t" in task.source_topics:
        task.add("t", RawBatch([b"k"], [b"partner"], [0], range(1)))
    task.add("in", RawBatch([b"k"] * 4, [b"a", b"b", b"c", b"d"], [0] * 4, range(5, 9)))
    with pytest.raises(ProcessingError, match=r" failed on in-0 offset 7: Mistake\('it is mine'\)"):
        task.process(0)


def test_the_change_of_a_batch_is_named_where_a_table_is_aggregated() -> None:
    builder = StreamsBuilder()
    rows = builder.table("in").group_by(lambda key, value: (key, value), name="regrouped")
    rows.aggregate(str, lambda key, value, _: no_c(value), lambda key, value, _: "")
    topology = builder.build()
    select, aggregate = (
        StreamTask(topology, group, 0, in_memory_stores(), TEXT) for group in (0, 1)
    )
    select.add("in", RawBatch([b"k"] * 4, [b"a", b"b", b"c", b"d"], [0] * 4, range(4)))
    ((topic, changes),) = select.process(0).sinks.items()
    aggregate.add(topic, RawBatch(changes.keys, changes.values, changes.timestamps, range(5, 9)))
    with pytest.raises(ProcessingError, match=r" failed on app-regrouped-repartition-0 offset 7: "):
        aggregate.process(0)
