"""Which repartition topics are read in the order of origin time, and whose tasks stand before whose."""

from __future__ import annotations

from datetime import timedelta

from millstream.streams import JoinWindows, KStream, StreamsBuilder, StreamsConfig
from millstream.streams.config import TimeAcrossRepartitions
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.upstreams.progress import flow_of
from millstream.streams.serdes import string
from millstream.streams.topology.alignment import (
    NOTHING_ALIGNED,
    AlignedTopics,
    Alignment,
    aligned_topics,
)
from millstream.streams.topology.plan import plan_topology
from millstream.streams.topology.topology import Topology

ONE, TWO, THREE = (f"app-{name}-repartition" for name in ("one", "two", "three"))


def stream(builder: StreamsBuilder, topic: str) -> KStream[str, str]:
    return builder.stream(topic, key=string(), value=string())


def through(source: KStream[str, str], *names: str) -> KStream[str, str]:
    for name in names:
        source = source.repartition(name=name, key=string(), value=string())
    return source


def levels(*names: str) -> Topology:
    builder = StreamsBuilder()
    through(stream(builder, "in"), *names).to("out")
    return builder.build()


def test_without_repartition_topics_nothing_is_aligned() -> None:
    assert aligned_topics(levels(), "app") == Alignment()
    assert aligned_topics(levels(), "app").of(0) == NOTHING_ALIGNED
    assert aligned_topics(levels(), "app").upstream_of(0) == frozenset()


def test_a_level_reads_what_the_one_before_it_writes() -> None:
    alignment = aligned_topics(levels("one"), "app")
    assert alignment == Alignment({ONE: 0}, {1: frozenset([ONE])})
    assert alignment.of(0) == AlignedTopics(written=frozenset([ONE]), followed=frozenset([ONE]))
    assert alignment.of(1) == AlignedTopics(read=frozenset([ONE]))


def test_every_level_above_is_upstream() -> None:
    alignment = aligned_topics(levels("one", "two", "three"), "app")
    assert alignment.writers == {ONE: 0, TWO: 1, THREE: 2}
    assert [alignment.upstream_of(number) for number in range(4)] == [
        set(),
        {0},
        {0, 1},
        {0, 1, 2},
    ]


def test_streams_that_are_merged_behind_their_repartition_topics_are_both_upstream() -> None:
    builder = StreamsBuilder()
    once, twice = (
        through(stream(builder, "a"), "one"),
        through(stream(builder, "b"), "two", "three"),
    )
    once.merge(twice).to("out")
    alignment = aligned_topics(builder.build(), "app")
    merged = next(number for number, topics in alignment.read.items() if ONE in topics)
    assert alignment.read[merged] == {ONE, THREE}
    assert alignment.upstream_of(merged) == {
        alignment.writers[topic] for topic in (ONE, TWO, THREE)
    }


def test_both_sides_of_a_join_are_aligned_and_so_is_one_beside_a_topic_of_others() -> None:
    builder = StreamsBuilder()
    window = JoinWindows.of(timedelta(seconds=1))
    left, right = through(stream(builder, "a"), "one"), through(stream(builder, "b"), "two")
    left.join(right, str.__add__, windows=window).to("both")
    alignment = aligned_topics(builder.build(), "app")
    assert list(alignment.read.values()) == [{ONE, TWO}]

    builder = StreamsBuilder()
    through(stream(builder, "a"), "one").join(stream(builder, "b"), str.__add__, windows=window).to(
        "out"
    )
    topology = builder.build()
    alignment = aligned_topics(topology, "app")
    ((reader, topics),) = alignment.read.items()
    assert topics == {ONE}
    assert set(topology.source_topics(topology.sub_topologies[reader], "app")) == {ONE, "b"}


def test_subscriptions_and_answers_of_a_join_on_a_foreign_key_are_left_out() -> None:
    builder = StreamsBuilder()
    orders = builder.table("orders", key=string(), value=string())
    customers = builder.table("customers", key=string(), value=string())
    joined = orders.join(customers, str.__add__, foreign_key=lambda order: order)
    through(joined.to_stream(), "one").to("out")
    topology = builder.build()
    alignment = aligned_topics(topology, "app")
    assert alignment.writers.keys() == {ONE}, "what comes out of the circle is no part of it"
    cycle = {
        topic
        for group in topology.sub_topologies
        for topic in topology.topics_of(group, "app").repartition
    } - {ONE}
    assert alignment.circular.keys() == cycle
    assert len(cycle) == 2
    plan = plan_topology(topology, "app", {"orders": 1, "customers": 1})
    flow = flow_of(plan, alignment)
    (reader,) = alignment.read
    assert flow.feeders_of(reader) == {alignment.writers[ONE], *alignment.circular.values()}
    assert {*flow.looked_at} == {reader, *flow.feeders_of(reader)}


def test_sources_that_the_runner_fills_itself_are_not_aligned() -> None:
    """It knows of no task that writes them."""
    fed = levels("one").with_fed_sources({"in": 3})
    assert aligned_topics(fed, "app") == Alignment({ONE: 0}, {1: frozenset([ONE])})


def test_a_table_that_many_read_is_no_topic_of_tasks() -> None:
    builder = StreamsBuilder()
    names = builder.global_table("names", key=string(), value=string())
    joined = stream(builder, "in").join(names, str.__add__, on=lambda key, _: key)
    through(joined, "one").to("out")
    alignment = aligned_topics(builder.build(), "app")
    assert alignment.writers.keys() == {ONE}
    assert alignment.read == {2: {ONE}}, "the sub-topology between fills the global table"


def test_as_kafka_takes_them_nothing_is_aligned() -> None:
    def spec(order: TimeAcrossRepartitions | str) -> TaskSpec:
        config = StreamsConfig(application_id="app", time_across_repartitions=order)
        return TaskSpec(topology=levels("one"), sub_topology=1, config=config, state_directory="")

    assert spec("kafka").alignment == Alignment()
    assert spec("aligned").alignment == Alignment({ONE: 0}, {1: frozenset([ONE])})
    assert StreamsConfig("app").time_across_repartitions is TimeAcrossRepartitions.ALIGNED


def test_the_flow_has_the_tasks_of_the_plan() -> None:
    topology = levels("one", "two")
    plan = plan_topology(topology, "app", {"in": 2, ONE: 3, TWO: 1})
    flow = flow_of(plan, aligned_topics(topology, "app"))
    assert flow.tasks == {
        0: {0: ("in",), 1: ("in",)},
        1: {0: (ONE,), 1: (ONE,), 2: (ONE,)},
        2: {0: (TWO,)},
    }
    assert flow.looked_at == (0, 1, 2)
    assert flow.upstream_of(2) == {(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)}


def test_sub_topologies_that_have_no_part_in_it_are_not_looked_at() -> None:
    builder = StreamsBuilder()
    stream(builder, "other").to("copy")
    through(stream(builder, "in"), "one").to("out")
    topology = builder.build()
    plan = plan_topology(topology, "app", {"in": 1, "other": 1})
    flow = flow_of(plan, aligned_topics(topology, "app"))
    assert flow.looked_at == (1, 2)
