"""Execution plans: when rows go in batches, when one by one, and in which order nodes run.

Plans are made from a topology alone. Nothing here opens a store or calls a function of the user.
"""

from __future__ import annotations

from datetime import timedelta

from millstream.streams import (
    Materialized,
    Retry,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
)
from millstream.streams.topology import Topology
from millstream.streams.topology.execution_plan import ExecutionPlan, SourcePlan, plan_execution
from millstream.streams.vectorised import vectorised

SECOND = timedelta(seconds=1)


def never(*_: object) -> object:
    raise AssertionError("a plan calls nothing")


@vectorised
def whole_column(_column: object) -> object:
    raise AssertionError("a plan calls nothing")


class NeverRun:
    def process(self, record: object) -> None:
        raise AssertionError("a plan runs nothing")


def plan_of(builder: StreamsBuilder, **options) -> tuple[Topology, ExecutionPlan]:
    topology = builder.build()
    return topology, plan_execution(topology, topology.sub_topologies[0], **options)


def by_topic(topology: Topology, plan: ExecutionPlan) -> dict[str, SourcePlan]:
    return {topology.nodes[name].topics[0]: each for name, each in plan.sources.items()}


def only(builder: StreamsBuilder, **options) -> SourcePlan:
    (source,) = plan_of(builder, **options)[1].sources.values()
    return source


def test_a_chain_goes_in_batches_every_node_after_its_parents() -> None:
    builder = StreamsBuilder()
    builder.stream("in", name="in").filter(never, name="f").map_values(never, name="m").to(
        "out", name="out"
    )
    assert only(builder) == SourcePlan(("in", "f", "m", "out"), False, False)


def test_a_task_of_single_records_reads_whole_columns_unless_somebody_takes_arrays() -> None:
    builder = StreamsBuilder()
    builder.stream("in", name="in").map_values(never, name="m")
    assert only(builder, single=True) == SourcePlan(("in", "m"), True, True)
    builder = StreamsBuilder()
    builder.stream("in", name="in").map_values(whole_column, name="m")
    assert only(builder, single=True) == SourcePlan(("in", "m"), True, False)


def test_a_processor_is_given_records_one_by_one() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(NeverRun)
    assert only(builder).record_at_a_time


def test_one_place_that_the_user_sees_may_be_called_for_a_batch_two_may_not() -> None:
    builder = StreamsBuilder()
    builder.stream("in").peek(never)
    assert not only(builder).record_at_a_time
    builder = StreamsBuilder()
    builder.stream("in").peek(never).peek(never)
    assert only(builder).record_at_a_time


def test_two_nodes_that_touch_one_store_see_each_others_single_writes() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", materialized=Materialized("rows"))
    table.to_stream().join(table, never)
    assert only(builder).record_at_a_time


def test_paths_that_part_and_meet_are_merged_by_ordinal() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.map_values(never).merge(stream.filter(never)).to("out")
    assert not only(builder).record_at_a_time


def test_paths_that_part_where_one_row_may_be_several_are_not() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in").flat_map_values(never)
    stream.map_values(never).merge(stream.filter(never)).to("out")
    assert only(builder).record_at_a_time


def test_sinks_of_one_topic_are_a_meeting_of_paths() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in").flat_map_values(never)
    stream.to("out")
    stream.map_values(never).to("other")
    assert not only(builder).record_at_a_time
    builder = StreamsBuilder()
    stream = builder.stream("in").flat_map_values(never)
    stream.to("out")
    stream.map_values(never).to("out")
    assert only(builder).record_at_a_time


def two_sinks_of_several_rows() -> StreamsBuilder:
    builder = StreamsBuilder()
    stream = builder.stream("in").flat_map_values(never)
    stream.to("out")
    stream.map_values(never).to("other")
    return builder


def test_a_topic_of_dead_letters_is_a_meeting_of_all_sinks_that_may_write_them() -> None:
    for letters in ("letters", None):
        plan = only(two_sinks_of_several_rows(), sink_letters=frozenset({letters}))
        assert plan.record_at_a_time


def test_sinks_of_one_row_each_give_dead_letters_in_batches() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.to("out")
    stream.map_values(never).to("other")
    for letters in ("letters", None):
        assert not only(builder, sink_letters=frozenset({letters})).record_at_a_time


def given_up_to(letters: str, topic: str, *, several: bool) -> StreamsBuilder:
    """Records that a function fails for go to `letters`, and some of the others to `topic`."""
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream = stream.flat_map_values(never) if several else stream
    answered = stream.map_values(never, retry=Retry("retries", dead_letters=letters))
    answered.to("out")
    answered.filter(never).to(topic)
    return builder


def test_records_that_are_given_up_meet_those_of_sinks_in_their_topic() -> None:
    assert only(given_up_to("letters", "letters", several=True)).record_at_a_time
    assert not only(given_up_to("letters", "others", several=True)).record_at_a_time
    assert not only(given_up_to("letters", "letters", several=False)).record_at_a_time


def test_branches_have_their_children_in_the_order_of_the_predicates() -> None:
    builder = StreamsBuilder()
    split = builder.stream("in", name="in").split(name="by-")
    split.branch(never, name="b")
    split.branch(never, name="a")
    _, plan = plan_of(builder)
    (branches,) = (each.children for each in plan.nodes.values() if len(each.children) == 2)
    assert branches == ("by-b", "by-a")


def held_counts(builder: StreamsBuilder):
    counts = builder.stream("in").group_by_key().count()
    return counts.suppress(Suppressed.until_time_limit(SECOND)).to_stream()


def test_rows_that_were_held_back_go_in_batches_unless_somebody_below_asks_where_they_come_from() -> (
    None
):
    builder = StreamsBuilder()
    held_counts(builder).to("out")
    assert not only(builder).record_at_a_time
    builder = StreamsBuilder()
    held_counts(builder).to(never)
    assert only(builder).record_at_a_time


def cached(builder: StreamsBuilder) -> ExecutionPlan:
    rows = Materialized("rows", caching=True)
    table = builder.stream("in", name="in").group_by_key().count(name="c", materialized=rows)
    table.map_values(never, name="m").to_stream(name="s").to("out", name="out")
    return plan_of(builder, cached_stores=frozenset({"rows"}))[1]


def test_rows_stop_at_a_cached_table_and_go_on_from_its_cache() -> None:
    plan = cached(StreamsBuilder())
    assert plan.nodes["c"].is_cached
    assert plan.nodes["c"].writes_cache
    assert plan.sources["in"].order == ("in", "c")
    assert {name: each.order for name, each in plan.tables.items()} == {"c": ("c", "m", "s", "out")}
    assert not plan.keeps_origins


def test_a_store_without_a_cache_holds_nothing_back() -> None:
    builder = StreamsBuilder()
    rows = Materialized("rows", caching=True)
    builder.stream("in", name="in").group_by_key().count(name="c", materialized=rows)
    plan = plan_of(builder)[1]
    assert not plan.tables
    assert not plan.nodes["c"].writes_cache


def test_origins_are_kept_where_a_processor_or_a_sink_may_ask_for_them() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    assert not plan_of(builder)[1].keeps_origins
    builder.stream("other").to(never)
    assert plan_of(builder)[1].sources
    topology = builder.build()
    assert [plan_execution(topology, group).keeps_origins for group in topology.sub_topologies] == [
        False,
        True,
    ]


def sessions_joined_by_one_of_two_sources(first: str, second: str) -> StreamsBuilder:
    """Both are counted in sessions; records of `asks` look up the sessions, too."""
    builder = StreamsBuilder()
    streams = {topic: builder.stream(topic) for topic in (first, second)}
    both = streams["asks"].merge(streams["adds"])
    table = both.group_by_key().windowed_by(SessionWindows.of(SECOND)).count(name="sessions")
    streams["asks"].join(table, never)
    return builder


def test_what_one_source_sees_of_single_writes_all_of_them_write_in_turn() -> None:
    for topics in (("asks", "adds"), ("adds", "asks")):
        topology, plan = plan_of(sessions_joined_by_one_of_two_sources(*topics))
        sources = by_topic(topology, plan)
        in_turn = [name for name, each in plan.nodes.items() if each.writes_in_turn]
        assert in_turn == ["sessions"]
        assert sources["asks"].record_at_a_time
        assert sources["adds"].record_at_a_time


def test_sessions_that_no_other_node_looks_into_are_written_with_the_batch() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().windowed_by(SessionWindows.of(SECOND)).count()
    topology, plan = plan_of(builder)
    assert not any(each.writes_in_turn for each in plan.nodes.values())
    assert not by_topic(topology, plan)["in"].record_at_a_time
