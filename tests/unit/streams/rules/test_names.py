"""Names of nodes, stores and topics, and the text that describes a topology.

The names are those that Kafka Streams 4.3.1 gives the same topologies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.streams import (
    JoinWindows,
    KStream,
    KTable,
    Materialized,
    Record,
    StreamJoined,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
)
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import long, string
from tests.unit.streams.rules.rule_world import before_dot, driver_of, ms, pair, pipe, read

Any_stream = KStream[Any, Any]
WITHIN_5 = JoinWindows.of(ms(5))


class Forgets:
    def process(self, record: Record) -> None:
        pass

    def transform(self, key: Any, value: Any) -> Any:
        return None


def add(one: Any, other: Any) -> Any:
    return one + other


def changed(stream: Any_stream) -> Any_stream:
    return stream.map(lambda key, value: (key, value))


def built(make: Callable[[StreamsBuilder], object]) -> Topology:
    builder = StreamsBuilder()
    make(builder)
    return builder.build()


def test_every_name_takes_a_number_those_given_by_the_user_too() -> None:
    def make(builder: StreamsBuilder) -> None:
        named = builder.stream("L", name="src").filter(lambda key, value: True, name="f")
        named.map_values(str.upper).to("out")

    names = ["src", "f", "KSTREAM-MAPVALUES-0000000002", "KSTREAM-SINK-0000000003"]
    assert list(built(make).nodes) == names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            None,
            ["KSTREAM-SINK-0000000004", "KSTREAM-FILTER-0000000005", "KSTREAM-SOURCE-0000000006"],
        ),
        ("grp", ["grp-repartition-sink", "grp-repartition-filter", "grp-repartition-source"]),
    ],
)
def test_a_repartition_takes_numbers_for_sink_filter_and_source(name, expected) -> None:
    """Numbers 4 to 6 are gone behind it, whether they are seen (the names of helpers) or not."""

    def make(builder: StreamsBuilder) -> None:
        rekeyed = builder.stream("L").select_key(lambda key, value: value)
        rekeyed.group_by_key(name=name).count().to_stream().to("out", value=long())

    nodes = built(make).nodes
    assert set(expected) < set(nodes)
    assert {"KSTREAM-AGGREGATE-0000000003", "KTABLE-TOSTREAM-0000000007"} < set(nodes)


@pytest.mark.parametrize(
    ("joined", "expected"),
    [
        (
            None,
            [
                "KSTREAM-WINDOWED-0000000002",
                "KSTREAM-WINDOWED-0000000003",
                "KSTREAM-JOINTHIS-0000000004",
                "KSTREAM-JOINOTHER-0000000005",
                "KSTREAM-MERGE-0000000006",
            ],
        ),
        (
            StreamJoined(name="jn", store_name="st"),
            ["jn-this-windowed", "jn-other-windowed", "jn-this-join", "jn-other-join", "jn-merge"],
        ),
    ],
)
def test_a_named_join_takes_as_many_numbers_as_any(joined, expected: list[str]) -> None:
    def make(builder: StreamsBuilder) -> None:
        left, right = builder.stream("L"), builder.stream("R")
        left.join(right, pair, windows=WITHIN_5, joined=joined).peek(lambda key, value: None)

    nodes = list(built(make).nodes)
    assert nodes[-1] == "KSTREAM-PEEK-0000000007"
    assert set(expected) <= set(nodes)


@pytest.mark.parametrize(
    ("materialized", "store", "node"),
    [
        (None, "KSTREAM-AGGREGATE-STATE-STORE-0000000001", "KSTREAM-AGGREGATE-0000000002"),
        (
            Materialized(key=string(), value=long()),
            "KSTREAM-AGGREGATE-STATE-STORE-0000000002",
            "KSTREAM-AGGREGATE-0000000003",
        ),
        (Materialized("mine"), "mine", "KSTREAM-AGGREGATE-0000000001"),
    ],
)
def test_a_materialized_without_a_name_takes_one_number_more(materialized, store, node) -> None:
    topology = built(lambda b: b.stream("L").group_by_key().count(materialized=materialized))
    assert list(topology.stores) == [store]
    assert node in topology.nodes


def test_the_store_of_a_table_is_named_after_its_topic() -> None:
    topology = built(lambda b: b.table("tab").join(b.table("other"), pair))
    assert list(topology.stores) == ["tab-STATE-STORE-0000000000", "other-STATE-STORE-0000000003"]


def _true(_key: object, _value: object) -> bool:
    return True


def _streams(method: str) -> Callable[[Any_stream, Any_stream], object]:
    def make(left: Any, right: Any) -> object:
        return getattr(left, method)(right, pair, windows=WITHIN_5)

    return make


@pytest.mark.parametrize(
    ("make", "prefixes"),
    [
        (lambda s, _: s.filter(_true), "KSTREAM-FILTER"),
        (lambda s, _: s.select_key(pair), "KSTREAM-KEY-SELECT"),
        (lambda s, _: s.map(pair), "KSTREAM-MAP"),
        (lambda s, _: s.map_values(str), "KSTREAM-MAPVALUES"),
        (lambda s, _: s.flat_map(pair), "KSTREAM-FLATMAP"),
        (lambda s, _: s.flat_map_values(str), "KSTREAM-FLATMAPVALUES"),
        (lambda s, _: s.peek(pair), "KSTREAM-PEEK"),
        (lambda s, _: s.foreach(pair), "KSTREAM-FOREACH"),
        (lambda s, _: s.print(), "KSTREAM-PRINTER"),
        (lambda s, _: s.split().branch(_true).no_default_branch(), "KSTREAM-BRANCH"),
        (lambda s, other: s.merge(other), "KSTREAM-MERGE"),
        (lambda s, _: s.process(Forgets), "KSTREAM-PROCESSOR"),
        (lambda s, _: s.process_values(Forgets), "KSTREAM-PROCESSVALUES"),
        (lambda s, _: s.to("out"), "KSTREAM-SINK"),
        (lambda s, _: s.to_table(), "KSTREAM-TOTABLE"),
        (
            _streams("join"),
            "KSTREAM-WINDOWED KSTREAM-JOINTHIS KSTREAM-JOINOTHER KSTREAM-MERGE",
        ),
        (
            _streams("left_join"),
            "KSTREAM-WINDOWED KSTREAM-JOINTHIS KSTREAM-OUTEROTHER KSTREAM-MERGE",
        ),
        (
            _streams("outer_join"),
            "KSTREAM-WINDOWED KSTREAM-OUTERTHIS KSTREAM-OUTEROTHER KSTREAM-MERGE",
        ),
        (lambda s, _: s.group_by_key().reduce(add), "KSTREAM-REDUCE"),
        (lambda s, _: s.group_by_key().count(), "KSTREAM-AGGREGATE"),
        (
            lambda s, _: s.group_by_key().windowed_by(TimeWindows.tumbling(ms(5))).count(),
            "KSTREAM-AGGREGATE",
        ),
        (
            lambda s, _: s.group_by_key().cogroup(lambda k, v, a: a).aggregate(lambda: 0),
            "COGROUPKSTREAM-AGGREGATE COGROUPKSTREAM-MERGE",
        ),
    ],
)
def test_prefixes_of_streams(make, prefixes: str) -> None:
    topology = built(lambda b: make(b.stream("L"), b.stream("R")))
    kinds = {name.rpartition("-")[0] for name in topology.nodes} - {"KSTREAM-SOURCE"}
    assert kinds == set(prefixes.split())


@pytest.mark.parametrize(
    ("make", "prefixes"),
    [
        (lambda t, _: t.filter(_true), "KTABLE-FILTER"),
        (lambda t, _: t.map_values(str), "KTABLE-MAPVALUES"),
        (lambda t, _: t.suppress(Suppressed.until_time_limit(ms(5))), "KTABLE-SUPPRESS"),
        (lambda t, _: t.to_stream(), "KTABLE-TOSTREAM"),
        (lambda t, _: t.transform_values(Forgets), "KTABLE-TRANSFORMVALUES"),
        (lambda t, o: t.join(o, pair), "KTABLE-JOINTHIS KTABLE-JOINOTHER KTABLE-MERGE"),
        (
            lambda t, _: t.group_by(pair).reduce(add, add),
            "KTABLE-SELECT KSTREAM-SINK KTABLE-REDUCE",
        ),
        (lambda t, _: t.group_by(pair).count(), "KTABLE-SELECT KSTREAM-SINK KTABLE-AGGREGATE"),
        (
            lambda t, o: t.join(o, pair, foreign_key=before_dot),
            (
                "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION KTABLE-SINK KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR "
                "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR KTABLE-FK-JOIN-OUTPUT"
            ),
        ),
    ],
)
def test_prefixes_of_tables(make, prefixes: str) -> None:
    topology = built(lambda b: make(b.table("L"), b.table("R")))
    kinds = {name.rpartition("-")[0] for name in topology.nodes}
    assert kinds - {"KSTREAM-SOURCE", "KTABLE-SOURCE"} == set(prefixes.split())


def test_a_look_up_is_a_join_or_a_left_join() -> None:
    def make(builder: StreamsBuilder) -> None:
        stream, table = builder.stream("L"), builder.table("R")
        stream.join(table, pair)
        stream.left_join(table, pair)

    names = list(built(make).nodes)
    assert names[-2:] == ["KSTREAM-JOIN-0000000004", "KSTREAM-LEFTJOIN-0000000005"]


@pytest.mark.parametrize(
    ("make", "topics"),
    [
        (
            lambda s, _: s.select_key(pair).group_by_key().count(),
            ["KSTREAM-AGGREGATE-STATE-STORE-0000000005-repartition"],
        ),
        (
            lambda s, _: changed(s).group_by_key().count(materialized=Materialized("kv")),
            ["kv-repartition"],
        ),
        (lambda s, _: changed(s).group_by_key(name="grp").count(), ["grp-repartition"]),
        (lambda s, t: changed(s).join(t, pair), ["KSTREAM-MAP-0000000004-repartition"]),
        (lambda s, t: changed(s).join(t, pair, name="jn"), ["jn-repartition"]),
        (
            lambda s, _: changed(s).join(changed(s), pair, windows=WITHIN_5),
            ["KSTREAM-MAP-0000000004-repartition", "KSTREAM-MAP-0000000005-repartition"],
        ),
        (
            lambda s, _: changed(s).join(
                changed(s), pair, windows=WITHIN_5, joined=StreamJoined(name="jn")
            ),
            ["jn-left-repartition", "jn-right-repartition"],
        ),
        (lambda s, _: s.repartition(), ["KSTREAM-REPARTITION-0000000004-repartition"]),
        (lambda s, _: s.repartition(name="rp"), ["rp-repartition"]),
        (lambda s, _: changed(s).to_table(), ["KSTREAM-TOTABLE-0000000005-repartition"]),
        (lambda s, _: changed(s).to_table(name="tn"), ["tn-repartition"]),
        (
            lambda _, t: t.group_by(pair).count(),
            ["KTABLE-AGGREGATE-STATE-STORE-0000000005-repartition"],
        ),
        (lambda _, t: t.group_by(pair, name="gn").count(), ["gn-repartition"]),
    ],
)
def test_repartition_topics_are_named_after_the_user_the_store_or_the_node_before(make, topics) -> None:  # fmt: skip
    """A stream of number 0 and a table of numbers 1 to 3 come first."""
    topology = built(lambda b: make(b.stream("L"), b.table("T")))
    assert list(topology.internal_topics) == topics


def test_internal_topics_carry_the_applications_id() -> None:
    topology = built(lambda b: changed(b.stream("L")).group_by_key(name="grp").count())
    assert topology.source_topics(topology.sub_topologies[1], "app") == ("app-grp-repartition",)
    changelogs = topology.topics_of(topology.sub_topologies[1], "app").changelogs
    assert list(changelogs) == ["app-KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog"]


def test_topics_of_a_foreign_key_join_end_in_topic() -> None:
    topology = built(lambda b: b.table("L").join(b.table("R"), pair, foreign_key=before_dot))
    assert [topic.rpartition("-")[2] for topic in topology.internal_topics] == ["topic", "topic"]


def test_one_name_for_two_joins_that_repartition_is_refused() -> None:
    builder = StreamsBuilder()
    stream = changed(builder.stream("L"))
    first, second = builder.table("T"), builder.table("U")
    with pytest.raises(TopologyError, match="jn"):  # noqa: PT012 - Kafka Streams too finds it only when it builds
        stream.join(first, pair, name="jn")
        stream.join(second, pair, name="jn")
        builder.build()


def test_a_grouping_with_a_name_has_one_repartition_topic_for_all_its_aggregations() -> None:
    def make(builder: StreamsBuilder) -> None:
        grouped = changed(builder.stream("L")).group_by_key(name="grp")
        grouped.count()
        grouped.reduce(lambda one, other: other)

    topology = built(make)
    assert list(topology.internal_topics) == ["grp-repartition"]
    assert topology.children["grp-repartition-source"] == (
        "KSTREAM-AGGREGATE-0000000003",
        "KSTREAM-REDUCE-0000000008",
    )


def _has(letter: str) -> Callable[[object, str], bool]:
    return lambda _key, value: letter in value


def test_branches_are_named_by_position_or_by_name_behind_the_splitters() -> None:
    builder = StreamsBuilder()
    split = builder.stream("L").split().branch(_has("a")).branch(_has("b"), name="bee")
    assert list(split.default_branch()) == [
        "KSTREAM-BRANCH-00000000011",
        "KSTREAM-BRANCH-0000000001bee",
        "KSTREAM-BRANCH-00000000010",
    ]


def test_a_name_given_to_split_is_the_prefix() -> None:
    split = StreamsBuilder().stream("L").split(name="n-")
    branches = split.branch(_has("a")).branch(_has("b"), name="bee").no_default_branch()
    assert list(branches) == ["n-1", "n-bee"]


def test_a_record_goes_to_the_first_branch_that_takes_it_or_nowhere() -> None:
    builder = StreamsBuilder()
    branches = builder.stream("L").split(name="n-").branch(_has("a")).branch(_has("b"))
    for name, stream in branches.no_default_branch().items():
        stream.to(name)
    with driver_of(builder) as driver:
        for token in ("L:ab@1", "L:b@2", "L:c@3"):
            pipe(driver, token)
        assert (read(driver, "n-1"), read(driver, "n-2")) == (["k=ab@1"], ["k=b@2"])


def test_an_operator_that_is_added_shifts_the_names_behind_it() -> None:
    def counted(stream: Any_stream) -> object:
        return stream.group_by_key().count()

    before = built(lambda b: counted(b.stream("L")))
    after = built(lambda b: counted(b.stream("L").peek(pair)))
    assert list(before.stores) == ["KSTREAM-AGGREGATE-STATE-STORE-0000000001"]
    assert list(after.stores) == ["KSTREAM-AGGREGATE-STATE-STORE-0000000002"]


@pytest.mark.parametrize(
    "make",
    [
        lambda s: s.group_by_key().count(),
        lambda s: changed(s).group_by_key().count(materialized=Materialized(key=string())),
        lambda s: s.repartition(),
    ],
)
def test_explicit_names_refuse_what_would_shift(make) -> None:
    """KIP-1111, ensure.explicit.internal.resource.naming."""
    builder = StreamsBuilder(explicit_names=True)
    make(builder.stream("L"))
    with pytest.raises(TopologyError, match="name what makes"):
        builder.build()


def test_explicit_names_are_content_where_everything_is_named() -> None:
    builder = StreamsBuilder(explicit_names=True)
    grouped = changed(builder.stream("L")).group_by_key(name="grp")
    grouped.count(materialized=Materialized("counts"))
    assert list(builder.build().stores) == ["counts"]


DESCRIPTION = """\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [in])
      --> KSTREAM-MAP-0000000001
    Processor: KSTREAM-MAP-0000000001 (stores: [])
      --> KSTREAM-FILTER-0000000008, KSTREAM-FILTER-0000000013
      <-- KSTREAM-SOURCE-0000000000
    Processor: KSTREAM-FILTER-0000000008 (stores: [])
      --> KSTREAM-SINK-0000000007
      <-- KSTREAM-MAP-0000000001
    Processor: KSTREAM-FILTER-0000000013 (stores: [])
      --> KSTREAM-SINK-0000000012
      <-- KSTREAM-MAP-0000000001
    Sink: KSTREAM-SINK-0000000007 (topic: KSTREAM-AGGREGATE-STATE-STORE-0000000005-repartition)
      <-- KSTREAM-FILTER-0000000008
    Sink: KSTREAM-SINK-0000000012 (topic: KSTREAM-MAP-0000000001-repartition)
      <-- KSTREAM-FILTER-0000000013

  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000014 (topics: [KSTREAM-MAP-0000000001-repartition])
      --> KSTREAM-JOIN-0000000015
    Processor: KSTREAM-JOIN-0000000015 (stores: [tab-STATE-STORE-0000000002])
      --> b-
      <-- KSTREAM-SOURCE-0000000014
    Processor: b- (stores: [])
      --> b-0, b-2, b-yes
      <-- KSTREAM-JOIN-0000000015
    Source: KSTREAM-SOURCE-0000000003 (topics: [tab])
      --> KTABLE-SOURCE-0000000004
    Processor: b-0 (stores: [])
      --> KSTREAM-SINK-0000000020
      <-- b-
    Sink: KSTREAM-SINK-0000000020 (topic: rest)
      <-- b-0
    Processor: KTABLE-SOURCE-0000000004 (stores: [tab-STATE-STORE-0000000002])
      --> none
      <-- KSTREAM-SOURCE-0000000003
    Processor: b-2 (stores: [])
      --> none
      <-- b-
    Processor: b-yes (stores: [])
      --> none
      <-- b-

  Sub-topology: 2
    Source: KSTREAM-SOURCE-0000000009 (topics: [KSTREAM-AGGREGATE-STATE-STORE-0000000005-repartition])
      --> KSTREAM-AGGREGATE-0000000006
    Processor: KSTREAM-AGGREGATE-0000000006 (stores: [KSTREAM-AGGREGATE-STATE-STORE-0000000005])
      --> KTABLE-TOSTREAM-0000000010
      <-- KSTREAM-SOURCE-0000000009
    Processor: KTABLE-TOSTREAM-0000000010 (stores: [])
      --> KSTREAM-SINK-0000000011
      <-- KSTREAM-AGGREGATE-0000000006
    Sink: KSTREAM-SINK-0000000011 (topic: counts)
      <-- KTABLE-TOSTREAM-0000000010

"""


def test_a_topology_is_described_byte_for_byte_as_in_java() -> None:
    def make(builder: StreamsBuilder) -> None:
        stream = changed(builder.stream("in"))
        table: KTable[Any, Any] = builder.table("tab")
        counts = stream.group_by_key(key=string(), value=string()).count()
        counts.to_stream().to("counts", value=long())
        split = stream.join(table, pair).split(name="b-")
        branches = split.branch(_has("a"), name="yes").branch(_has("b"))
        branches.default_branch(then=lambda rest: rest.to("rest"))

    assert built(make).describe() == DESCRIPTION


def test_global_stores_say_that_they_make_no_tasks() -> None:
    text = built(lambda b: b.global_table("g")).describe()
    assert "Sub-topology: 0 for global store (will not generate tasks)\n" in text
