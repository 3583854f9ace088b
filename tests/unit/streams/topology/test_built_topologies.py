"""What the builders make of the calls: nodes, order, sub-topologies, stores (seed group S2)."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.streams import (
    Materialized,
    OffsetReset,
    ProcessorContext,
    Record,
    RecordContext,
    StreamsBuilder,
    StreamsConfig,
    TopologyBuilder,
)
from millstream.streams.errors import TopologyError
from millstream.streams.kernel import RawBatch, StreamTask, TaskTopics
from millstream.streams.serdes import Serde, string
from millstream.streams.state import in_memory_stores
from millstream.streams.topology import SourceNode, StoreKind, StoreSpec, Topology
from tests.unit.streams.rules.rule_world import driver_of, pair, pipe, read, run, write

CONFIG = StreamsConfig("app", string(), string())
ROWS = StoreSpec("rows", StoreKind.KEY_VALUE, persistent=False, key=string(), value=string())


class Forwards:
    """Every record, with what was in the store for its key; then the record is in the store."""

    def init(self, context: ProcessorContext) -> None:
        self.context = context
        self.rows = context.store("rows")

    def process(self, record: Record) -> None:
        self.context.forward(record.with_value(pair(record.value, self.rows.get(record.key))))
        self.rows.put(record.key, record.value)


def with_store() -> TopologyBuilder:
    """Two processors of one store, one behind the other."""
    builder = TopologyBuilder()
    builder.add_source("source", "in")
    builder.add_processor("first", Forwards, "source")
    builder.add_processor("second", Forwards, "first")
    builder.add_sink("sink", "out", "second")
    return builder


def test_several_topics_make_one_source() -> None:
    builder = StreamsBuilder()
    write(builder.stream(["a", "b"]))
    topology = builder.build()
    assert topology.source_topics(topology.sub_topologies[0], "app") == ("a", "b")
    assert run(topology, "a:x@1 b:y@2") == "1:k=x@1 2:k=y@2"


def test_a_named_table_can_be_read_from_outside() -> None:
    builder = StreamsBuilder()
    builder.table("L", materialized=Materialized("rows"))
    with driver_of(builder) as driver:
        pipe(driver, "L:a@1")
        assert driver.key_value_store("rows").get("k") == "a"


def test_merged_streams_keep_the_order_of_each() -> None:
    builder = StreamsBuilder()
    write(builder.stream("L").merge(builder.stream("R")))
    assert run(builder, "L:1@5 R:2@1 L:3@2") == "1:k=1@5 2:k=2@1 3:k=3@2"


def test_a_node_below_two_parents_is_one_node() -> None:
    builder = TopologyBuilder()
    builder.add_source("a", "A").add_source("b", "B").add_sink("sink", "out", "a", "b")
    text = builder.build().describe()
    assert text.count("Sink: sink") == 1
    assert "      <-- a, b\n" in text


def test_children_are_in_the_order_in_which_they_were_added() -> None:
    builder = TopologyBuilder()
    builder.add_source("source", "in")
    for name in ("z", "a", "m"):
        builder.add_sink(name, f"out-{name}", "source")
    assert builder.build().children["source"] == ("z", "a", "m")


def test_sources_have_their_own_extractors_and_serdes() -> None:
    upper: Serde[str] = Serde("upper", str.encode, lambda data: data.decode().upper())
    builder = TopologyBuilder()
    builder.add_source("a", "A", timestamps=lambda record, _: 100, value=upper)
    builder.add_source("b", "B", timestamps=lambda record, _: 200)
    builder.add_sink("sink", "out", "a", "b")
    assert run(builder.build(), "A:x@1 B:y@2") == "1:k=X@100 2:k=y@200"


def test_a_source_says_where_to_begin_or_leaves_it_to_the_application() -> None:
    builder = StreamsBuilder()
    builder.stream("a", reset=OffsetReset.LATEST)
    builder.table("b", reset=OffsetReset.EARLIEST)
    builder.stream("c")
    sources = [n for n in builder.build().nodes.values() if isinstance(n, SourceNode)]
    assert [n.reset for n in sources] == [OffsetReset.LATEST, OffsetReset.EARLIEST, None]


def test_a_sinks_partitioner_chooses_the_partition() -> None:
    def by_length(topic: str, key: Any, value: Any, partitions: int) -> int:
        assert (topic, partitions) == ("out", 4)
        return len(value) % partitions

    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=by_length)
    config = StreamsConfig("app", string(), string(), partition_count=lambda topic: 4)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    task.add("in", RawBatch([b"k"] * 2, [b"a", b"abcde"], [1, 2], range(2)))
    assert task.process(0).sinks["out"].partitions == [1, 1]


def test_a_partitioner_may_choose_several_partitions_none_or_the_default_one() -> None:
    """KIP-837."""
    chosen = {"a": {0, 2}, "b": (), "c": None, "d": [3]}
    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda topic, key, value, count: chosen[value])
    config = StreamsConfig("app", string(), string(), partition_count=lambda topic: 4)
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), config)
    task.add("in", RawBatch([b"k"] * 4, [b"a", b"b", b"c", b"d"], [1, 2, 3, 4], range(4)))
    written = task.process(0).sinks["out"]
    assert list(zip(written.values, written.partitions, strict=True)) == [
        (b"a", 0),
        (b"a", 2),
        (b"c", None),
        (b"d", 3),
    ]


def test_a_record_may_name_its_topic_by_where_it_came_from_and_its_headers() -> None:
    seen: list[RecordContext] = []

    def by_origin(key: str, value: str, context: RecordContext) -> str:
        seen.append(context)
        return f"out-{dict(context.headers)['to'].decode()}"

    builder = StreamsBuilder()
    builder.stream(["L", "R"]).map_values(str.upper).to(by_origin)
    with driver_of(builder) as driver:
        driver.pipe_bytes("L", b"k", b"x", timestamp=5, headers=(("to", b"ann"),))
        driver.pipe_bytes("R", b"k", b"y", timestamp=3, headers=(("to", b"bob"),))
        assert [each.value for each in driver.read_bytes("out-ann")] == [b"X"]
        assert [each.value for each in driver.read_bytes("out-bob")] == [b"Y"]
    assert seen == [
        RecordContext("L", 0, 0, 5, (("to", b"ann"),)),
        RecordContext("R", 0, 0, 3, (("to", b"bob"),)),
    ]


def test_a_read_only_store_is_filled_from_its_topic_which_is_its_changelog() -> None:
    class Fill(Forwards):
        def process(self, record: Record) -> None:
            self.rows.put(record.key, record.value)

    class LookUp(Forwards):
        def process(self, record: Record) -> None:
            self.context.forward(record.with_value(pair(record.value, self.rows.get(record.key))))

    builder = TopologyBuilder()
    builder.add_read_only_state_store(ROWS, "fill-source", "rates", "fill", Fill)
    builder.add_source("source", "in").add_processor("look-up", LookUp, "source")
    builder.connect_processor_and_state_stores("look-up", "rows").add_sink("sink", "out", "look-up")
    topology = builder.build()
    assert run(topology, "rates:a@1 in:x@2 rates:b@3 in:y@4") == "2:k=x|a@2 4:k=y|b@4"
    (group,) = topology.sub_topologies
    assert topology.source_topics(group, "app") == ("rates", "in")
    assert topology.topics_of(group, "app").changelogs.keys() == {"rates"}


def test_each_task_has_processors_and_stores_of_its_own() -> None:
    made: list[Forwards] = []

    def supplier() -> Forwards:
        made.append(Forwards())
        return made[-1]

    builder = TopologyBuilder()
    builder.add_source("source", "in").add_processor("first", supplier, "source")
    builder.add_state_store(ROWS, "first")
    topology = builder.build()
    before = len(made)
    tasks = [StreamTask(topology, 0, number, in_memory_stores(), CONFIG) for number in range(2)]
    assert len({id(each) for each in made[before:]}) == 2
    tasks[0].add("in", RawBatch([b"k"], [b"a"], [1], [0]))
    tasks[0].process(0)
    assert [task.stores["rows"].get("k") for task in tasks] == ["a", None]


def test_a_store_may_be_connected_at_once_or_later() -> None:
    at_once = with_store().add_state_store(ROWS, "first", "second").build()
    later = with_store().add_state_store(ROWS)
    later.connect_processor_and_state_stores("first", "rows")
    later.connect_processor_and_state_stores("second", "rows")
    assert later.build().describe() == at_once.describe()


def test_processors_that_share_a_store_see_what_the_other_wrote() -> None:
    """Depth first: what the second puts is overwritten by the first, which puts after it has forwarded."""
    topology = with_store().add_state_store(ROWS, "first", "second").build()
    assert run(topology, "in:a@1 in:b@2") == "1:k=a|None|None@1 2:k=b|a|a@2"


def test_a_task_has_the_nodes_of_its_sub_topology_alone() -> None:
    builder = StreamsBuilder()
    builder.stream("a").to("out-a")
    builder.stream("b").to("out-b")
    topology = builder.build()
    tasks = [StreamTask(topology, group, 0, in_memory_stores(), CONFIG) for group in (0, 1)]
    assert [task.source_topics for task in tasks] == [("a",), ("b",)]
    assert [task.id for task in tasks] == ["0_0", "1_0"]


def test_a_store_without_logging_has_no_changelog() -> None:
    def changelogs(logging: bool) -> list[str]:
        builder = StreamsBuilder()
        kept = Materialized("rows", logging=logging)
        builder.stream("L").group_by_key().count(materialized=kept)
        topology = builder.build()
        return list(topology.topics_of(topology.sub_topologies[0], "app").changelogs)

    assert changelogs(logging=True) == ["app-rows-changelog"]
    assert changelogs(logging=False) == []


class Keeps:
    """Fills the global store of its topic."""

    def init(self, context: ProcessorContext) -> None:
        self.rows = context.store("rows")

    def process(self, record: Record) -> None:
        self.rows.put(record.key, record.value)


class Looks:
    def init(self, context: ProcessorContext) -> None:
        self.context = context
        self.rows = context.store("rows")

    def process(self, record: Record) -> None:
        self.context.forward(record.with_value(self.rows.get(record.key)))


def with_global_store() -> Topology:
    builder = StreamsBuilder()
    builder.add_global_store(
        StoreSpec(
            "rows",
            StoreKind.KEY_VALUE,
            persistent=False,
            key=string(),
            value=string(),
            logging=False,
        ),
        "global",
        Keeps,
    )
    for name in ("a", "b"):
        builder.stream(name).process(Looks).to("out")
    return builder.build()


def test_a_global_store_is_one_for_all_sub_topologies() -> None:
    with driver_of(with_global_store()) as driver:
        pipe(driver, "global:x@1")
        pipe(driver, "a:-@2")
        pipe(driver, "b:-@3")
        assert read(driver) == ["k=x@2", "k=x@3"]


def test_a_topology_without_global_stores_has_no_global_part() -> None:
    builder = StreamsBuilder()
    builder.stream("a").to("out")
    assert not any(group.is_global for group in builder.build().sub_topologies)
    assert [group.is_global for group in with_global_store().sub_topologies] == [True, False, False]


def test_a_global_store_has_no_changelog_but_its_topic() -> None:
    topology = with_global_store()
    topics = [topology.topics_of(group, "app") for group in topology.sub_topologies]
    assert [list(each.changelogs) for each in topics] == [["global"], [], []]
    assert topics[0].sources == ("global",)


@pytest.mark.parametrize("matching", [[], ["in-1"], ["in-1", "in-22"]])
def test_a_pattern_reads_the_topics_that_a_task_is_told_of(matching: list[str]) -> None:
    builder = StreamsBuilder()
    builder.stream(pattern=r"in-\d+").to("out")
    task = StreamTask(
        builder.build(),
        0,
        0,
        in_memory_stores(),
        CONFIG,
        topics=TaskTopics(matched=[*matching, "other"]),
    )
    assert list(task.source_topics) == matching


def test_a_task_reads_a_topic_that_comes_later_and_matches() -> None:
    builder = StreamsBuilder()
    builder.stream(pattern=r"in-\d+").to("out")
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)
    assert [task.inputs.maybe_read(topic) for topic in ("in-1", "other", "in-1")] == [
        True,
        False,
        True,
    ]
    assert task.source_topics == ("in-1",)


def test_a_topic_that_matches_two_patterns_is_refused_when_it_comes() -> None:
    """As Kafka Streams' threads do it; its test driver takes one of them, by the hash of the patterns."""
    builder = StreamsBuilder()
    builder.stream(pattern=r"in.*", name="first").to("out")
    builder.stream(pattern=r".*1", name="second").to("out")
    task = StreamTask(builder.build(), 0, 0, in_memory_stores(), CONFIG)
    assert task.inputs.maybe_read("in2")
    sentence = (
        "topic in1 matches pattern in.\\* of first and pattern .\\*1 of second: narrow one of them"
    )
    with pytest.raises(TopologyError, match=sentence):
        task.inputs.maybe_read("in1")
