"""What each optimization saves, and that a topology can be built again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.errors import ConfigError
from millstream.streams import JoinWindows, StreamsBuilder, StreamsConfig, Topology
from millstream.streams.serdes import string
from millstream.testing.streams.topology_test_driver import TopologyTestDriver


def two_counts_below_one_key_change(optimization: str) -> Topology:
    builder = StreamsBuilder(optimization=optimization)
    words = builder.stream("words", key=string(), value=string()).select_key(
        lambda _key, value: value[0], key=string()
    )
    words.group_by_key(key=string(), value=string()).count()
    words.filter(lambda _key, value: len(value) > 4).group_by_key().count()
    builder.build()
    return builder.build()


@pytest.mark.parametrize(("optimization", "topics"), [("none", 2), ("all", 1)])
def test_operators_below_one_key_change_share_a_repartition_topic(
    optimization: str, topics: int
) -> None:
    assert len(two_counts_below_one_key_change(optimization).internal_topics) == topics


def test_the_source_topic_of_a_table_is_its_changelog() -> None:
    builder = StreamsBuilder(optimization="reuse.ktable.source.topics")
    table = builder.table("rows", key=string(), value=string())
    table.join(table, lambda left, _right: left)
    topology = builder.build()
    (store,) = topology.stores
    assert topology.changelog_topic(store, "app") == "rows"
    assert not topology.stores[store].logging


def test_a_stream_joined_with_itself_has_one_store_and_the_same_results() -> None:
    def results(optimization: str) -> tuple[int, list[tuple[str | None, int]]]:
        builder = StreamsBuilder(optimization=optimization)
        stream = builder.stream("in", key=string(), value=string())
        windows = JoinWindows.of(timedelta(milliseconds=10), grace=timedelta(milliseconds=50))
        stream.join(stream, lambda left, right: left + right, windows=windows).to(
            "out", key=string(), value=string()
        )
        topology = builder.build()
        config = StreamsConfig("app", default_key=string(), default_value=string())
        with TopologyTestDriver(topology, config) as driver:
            records = driver.input_topic("in")
            for value, at in (("a", 10), ("b", 15), ("c", 12), ("d", 40)):
                records.pipe("k", value, at=at)
            rows = [(each.value, each.timestamp) for each in driver.output_topic("out").read()]
        return len(topology.stores), rows

    two_stores, expected = results("none")
    one_store, rows = results("single.store.self.join")
    assert (two_stores, one_store) == (2, 1)
    assert rows == expected
    assert ("ca", 12) in rows


def test_streams_of_one_topic_can_be_joined() -> None:
    builder = StreamsBuilder()
    left, right = builder.stream("in"), builder.stream("in")
    left.join(right, lambda one, _other: one, windows=JoinWindows.of(timedelta(seconds=1)))
    assert builder.build().copartition_groups("app") == (frozenset({"in"}),)


@pytest.mark.parametrize("setting", ["everything", "all,merge.repartition.topics", ""])
def test_an_unknown_optimization_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match=r"topology\.optimization"):
        StreamsBuilder(optimization=setting)
