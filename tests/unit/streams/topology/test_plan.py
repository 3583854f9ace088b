"""From a topology to tasks and internal topics."""

from __future__ import annotations

import pytest

from millstream.cli.demo.topology import flights_topology
from millstream.errors import ConfigError
from millstream.streams import StreamsBuilder
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import string
from millstream.streams.topology import Topology
from millstream.streams.topology.plan import SubTopologyPlan, plan_topology

REPARTITION = "app-KSTREAM-AGGREGATE-STATE-STORE-0000000010-repartition"


def test_the_demo_has_two_sub_topologies_writer_first() -> None:
    plan = plan_topology(flights_topology(), "app", {"flights": 4, "airlines": 4})
    assert plan.sub_topologies == (
        SubTopologyPlan(0, {"airlines": 4, "flights": 4}),
        SubTopologyPlan(1, {REPARTITION: 4}, frozenset([REPARTITION])),
    )


def test_internal_topics_have_the_partitions_of_their_tasks() -> None:
    plan = plan_topology(flights_topology(), "app", {"flights": 4, "airlines": 4})
    assert {t.name: t.partitions for t in plan.internal_topics} == {
        REPARTITION: 4,
        "app-KSTREAM-AGGREGATE-STATE-STORE-0000000010-changelog": 4,
        "app-KSTREAM-AGGREGATE-STATE-STORE-0000000018-changelog": 4,
        "app-airlines-STATE-STORE-0000000000-changelog": 4,
    }
    by_name = {t.name: t.settings for t in plan.internal_topics}
    assert by_name[REPARTITION]["cleanup.policy"] == "delete"


def test_an_existing_repartition_topic_keeps_its_partitions() -> None:
    plan = plan_topology(flights_topology(), "app", {"flights": 4, "airlines": 4, REPARTITION: 3})
    assert [each.tasks for each in plan.sub_topologies] == [4, 3]


def test_a_missing_source_topic_is_named() -> None:
    with pytest.raises(TopologyError, match=r"source topic airlines does not exist: create it"):
        plan_topology(flights_topology(), "app", {"flights": 4})


def test_global_stores_have_no_tasks_and_no_internal_topics() -> None:
    plan = plan_topology(with_global_table(), "app", {"in": 3, "names": 1})
    assert [(each.sources, each.tasks) for each in plan.sub_topologies] == [(("in",), 3)]
    assert plan.internal_topics == ()


def test_a_missing_topic_of_a_global_table_is_named() -> None:
    with pytest.raises(TopologyError, match=r"source topic names does not exist: create it"):
        plan_topology(with_global_table(), "app", {"in": 3})


def with_global_table() -> Topology:
    builder = StreamsBuilder()
    names = builder.global_table("names", key=string(), value=string())
    stream = builder.stream("in", key=string(), value=string())
    stream.join(names, str.join, on=lambda key, _: key).to("out")
    return builder.build()


def test_a_pattern_reads_what_it_matches_but_nobodys_internal_topics() -> None:
    builder = StreamsBuilder()
    builder.stream(pattern="a.*", key=string(), value=string()).group_by_key().count()
    existing = {
        "a1": 1,
        "a2": 3,
        "b": 9,
        "audit": 5,
        "app-KSTREAM-AGGREGATE-STATE-STORE-0000000001-changelog": 3,
    }
    (plan,) = plan_topology(builder.build(), "app", existing, hidden=["audit"]).sub_topologies
    assert plan.partitions == {"a1": 1, "a2": 3}
    assert plan.topics_of_tasks == {0: ("a1", "a2"), 1: ("a2",), 2: ("a2",)}


def test_a_pattern_that_matches_nothing_has_no_tasks_and_no_changelogs_yet() -> None:
    builder = StreamsBuilder()
    builder.stream(pattern="a.*", key=string(), value=string()).group_by_key().count()
    plan = plan_topology(builder.build(), "app", {"b": 9})
    assert [each.tasks for each in plan.sub_topologies] == [0]
    assert plan.internal_topics == ()


def test_a_changelog_outlives_the_widest_topic_of_a_pattern_and_is_too_narrow_for_a_wider_one() -> (
    None
):
    builder = StreamsBuilder()
    builder.stream(pattern="a.*", key=string(), value=string()).group_by_key().count()
    existing = {"a1": 2, "app-KSTREAM-AGGREGATE-STATE-STORE-0000000001-changelog": 3}
    plan = plan_topology(builder.build(), "app", existing)
    assert [each.tasks for each in plan.sub_topologies] == [2]
    assert plan.missing_topics(existing) == ()
    wider = {**existing, "a2": 4}
    with pytest.raises(ConfigError, match=r"has 3 partitions, the topology needs 4: .*has come"):
        plan_topology(builder.build(), "app", wider).missing_topics(wider)


def test_a_topic_that_two_patterns_match_is_refused() -> None:
    builder = StreamsBuilder()
    for pattern in ("a.*", ".*z"):
        builder.stream(pattern=pattern, key=string(), value=string()).to("out")
    with pytest.raises(
        TopologyError, match=r"topic abz matches pattern a\.\* .*narrow one of them"
    ):
        plan_topology(builder.build(), "app", {"abz": 1})


def test_a_chain_of_repartitions_runs_in_its_order() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=string(), value=string())
    for _ in range(3):
        stream = stream.repartition(partitions=5)
    stream.to("out")
    plan = plan_topology(builder.build(), "app", {"in": 2})
    assert [each.tasks for each in plan.sub_topologies] == [2, 5, 5, 5]


def test_sub_topologies_of_a_foreign_key_join_feed_each_other_and_one_is_first() -> None:
    builder = StreamsBuilder()
    left, right = (
        builder.table(topic, key=string(), value=string()) for topic in ("left", "right")
    )
    joined = left.join(right, lambda a, b: a + b, foreign_key=lambda value: value)
    joined.to_stream().group_by(lambda _, value: value).count().to_stream().to("out")
    plan = plan_topology(builder.build(), "app", {"left": 3, "right": 2})
    assert plan.is_circular
    assert {each.id: each.tasks for each in plan.sub_topologies} == {0: 3, 1: 2, 2: 3}
    assert plan.sub_topologies[0].id == 0


def test_writers_that_come_before_readers_are_no_circle() -> None:
    plan = plan_topology(flights_topology(), "app", {"flights": 4, "airlines": 4})
    assert not plan.is_circular
