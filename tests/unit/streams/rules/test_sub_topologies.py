"""Sub-topologies, partition counts, copartitioning, settings of internal topics."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.streams import (
    Materialized,
    Record,
    SessionWindows,
    StoreSupplier,
    StreamsBuilder,
    TimeWindows,
    Topology,
    TopologyBuilder,
)
from millstream.streams.topology import SourceNode, StoreKind, StoreSpec
from tests.unit.streams.rules.rule_world import before_dot, ms, pair

COUNTS = StoreSpec("kv", StoreKind.KEY_VALUE, persistent=False)


class Forgets:
    def process(self, record: Record) -> None:
        pass


def rekeyed(builder: StreamsBuilder, topic: str) -> Any:
    return builder.stream(topic).select_key(lambda key, value: value)


def groups(topology: Topology) -> list[list[str]]:
    """The topics that each sub-topology reads."""
    return [
        [
            topic
            for name in group.nodes
            if isinstance(node := topology.nodes[name], SourceNode)
            for topic in node.topics
        ]
        for group in topology.sub_topologies
    ]


def test_flows_that_share_nothing_are_sub_topologies_numbered_in_order() -> None:
    builder = StreamsBuilder()
    builder.stream("Z").to("out")
    builder.stream("A").to("out2")
    assert groups(builder.build()) == [["Z"], ["A"]]


def test_processors_that_share_a_store_are_one_sub_topology() -> None:
    builder = StreamsBuilder()
    builder.add_state_store(COUNTS)
    builder.stream("L").process(Forgets, stores=["kv"])
    builder.stream("M").to("out")
    builder.stream("R").process(Forgets, stores=["kv"])
    assert groups(builder.build()) == [["L", "R"], ["M"]]


def test_a_repartition_topic_parts_sub_topologies() -> None:
    builder = StreamsBuilder()
    rekeyed(builder, "L").group_by_key(name="grp").count()
    assert groups(builder.build()) == [["L"], ["grp-repartition"]]


def test_a_global_store_has_a_number_and_no_task() -> None:
    builder = StreamsBuilder()
    builder.stream("L").to("out")
    table = builder.global_table("G")
    builder.stream("R").join(table, pair, on=lambda key, value: key).to("out2")
    topology = builder.build()
    assert groups(topology) == [["L"], ["G"], ["R"]]
    assert [group.is_global for group in topology.sub_topologies] == [False, True, False]


def test_a_node_with_two_parents_unites_them() -> None:
    builder = TopologyBuilder()
    builder.add_source("a", "A").add_source("b", "B").add_sink("s", "out", "a", "b")
    assert groups(builder.build()) == [["A", "B"]]


def copartitioned(make: Any) -> list[list[str]]:
    builder = StreamsBuilder()
    make(builder)
    return [sorted(group) for group in builder.build().copartition_groups("app")]


def test_the_number_of_partitions_of_a_repartition_topic_may_be_given() -> None:
    """Where it is not, whoever creates the topics takes the largest count of the topics it comes from."""
    builder = StreamsBuilder()
    builder.stream("L").repartition(name="r", partitions=7).to("out")
    rekeyed(builder, "R").group_by_key(name="grp").count()
    topology = builder.build()
    assert dict(topology.internal_topics) == {"r-repartition": 7, "grp-repartition": None}
    assert topology.topics_of(topology.sub_topologies[1], "app").partitions == {
        "app-r-repartition": 7
    }


def test_topics_that_are_joined_by_key_have_equal_partition_counts() -> None:
    joined = copartitioned(lambda b: b.stream("L").join(b.table("T"), pair))
    assert joined == [["L", "T"]]


def test_groups_that_share_a_topic_are_one() -> None:
    def make(builder: StreamsBuilder) -> None:
        stream = builder.stream("L")
        stream.join(builder.table("T"), pair)
        stream.join(builder.table("U"), pair)
        builder.stream("M").join(builder.table("V"), pair)

    assert copartitioned(make) == [["L", "T", "U"], ["M", "V"]]


def test_a_repartition_topic_belongs_to_the_group_of_what_it_is_joined_with() -> None:
    joined = copartitioned(lambda b: rekeyed(b, "L").join(b.table("T"), pair, name="j"))
    assert joined == [["T", "app-j-repartition"]]


def test_a_global_table_needs_no_equal_counts() -> None:
    def make(builder: StreamsBuilder) -> None:
        table = builder.global_table("R")
        builder.stream("L").join(table, pair, on=lambda key, value: key)

    assert copartitioned(make) == []


def test_the_tables_of_a_foreign_key_join_need_no_equal_counts() -> None:
    """But the right one and the topic of the subscriptions to it do, and the left one and that of the answers."""
    groups = copartitioned(
        lambda b: b.table("L").join(b.table("R"), pair, foreign_key=before_dot, name="fk")
    )
    assert groups == [
        ["R", "app-fk-subscription-registration-topic"],
        ["L", "app-fk-subscription-response-topic"],
    ]


DAY_MS = 86_400_000


def test_repartition_topics_are_kept_until_they_are_read() -> None:
    builder = StreamsBuilder()
    rekeyed(builder, "L").group_by_key(name="grp").count()
    topology = builder.build()
    assert topology.topics_of(topology.sub_topologies[1], "app").repartition == {
        "app-grp-repartition": {
            "cleanup.policy": "delete",
            "message.timestamp.type": "CreateTime",
            "retention.ms": "-1",
            "segment.bytes": "52428800",
        }
    }


def key_value(builder: StreamsBuilder) -> None:
    builder.stream("L").group_by_key().count(materialized=Materialized("s"))


def window(builder: StreamsBuilder) -> None:
    windows = builder.stream("L").group_by_key().windowed_by(TimeWindows.tumbling(ms(10)))
    windows.count(materialized=Materialized("s"))


def session(builder: StreamsBuilder) -> None:
    windows = SessionWindows.of(ms(5), grace=ms(2))
    builder.stream("L").group_by_key().windowed_by(windows).count(materialized=Materialized("s"))


def versioned(builder: StreamsBuilder) -> None:
    builder.table("L", materialized=Materialized(supplier=StoreSupplier("s", history=ms(100))))


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (key_value, {"cleanup.policy": "compact"}),
        (window, {"cleanup.policy": "compact,delete", "retention.ms": str(DAY_MS + 10)}),
        (session, {"cleanup.policy": "compact,delete", "retention.ms": str(DAY_MS + 7)}),
        (versioned, {"cleanup.policy": "compact", "min.compaction.lag.ms": str(DAY_MS + 100)}),
    ],
)
def test_changelogs_are_kept_as_long_as_their_stores_and_a_day(make, settings) -> None:
    builder = StreamsBuilder()
    make(builder)
    topology = builder.build()
    changelogs = topology.topics_of(topology.sub_topologies[0], "app").changelogs
    assert changelogs == {"app-s-changelog": settings | {"message.timestamp.type": "CreateTime"}}
