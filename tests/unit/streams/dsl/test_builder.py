"""What the DSL refuses, and the names it gives."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.streams import Materialized, StreamsBuilder, TimeWindows
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import string


def test_a_function_with_the_wrong_number_of_parameters_is_refused_by_name() -> None:
    stream = StreamsBuilder().stream("in")
    with pytest.raises(TypeError, match=r"filter: predicate is called with \(key, value\)"):
        stream.filter(lambda value: True)
    with pytest.raises(TypeError, match=r"map_values: mapper is called with \(value\)"):
        stream.map_values(lambda key, value: value)


def test_two_nodes_of_one_name_are_refused() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.filter(lambda key, value: True, name="same")
    stream.filter(lambda key, value: True, name="same")
    with pytest.raises(TopologyError, match="a node named same exists already"):
        builder.build()


def test_a_name_that_no_topic_could_have_is_refused() -> None:
    with pytest.raises(TopologyError, match="not/allowed"):
        StreamsBuilder().stream("in").filter(lambda key, value: True, name="not/allowed")


def test_overlapping_sources_are_refused() -> None:
    builder = StreamsBuilder()
    builder.stream("a").to("x")
    builder.stream(["a", "b"]).to("y")
    with pytest.raises(TopologyError, match="overlapping but not equal"):
        builder.build()


def test_retention_below_window_and_grace_is_refused() -> None:
    windows = TimeWindows.tumbling(timedelta(seconds=10), grace=timedelta(seconds=10))
    grouped = StreamsBuilder().stream("in").group_by_key().windowed_by(windows)
    with pytest.raises(ValueError, match="raise its retention"):
        grouped.count(materialized=Materialized("short", retention=timedelta(seconds=15)))


def test_building_twice_gives_the_same_topology() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by(lambda key, value: value, key=string()).count().to_stream().to(
        "out"
    )
    assert builder.build().describe() == builder.build().describe()


def test_repartition_names_are_those_of_kafka_streams() -> None:
    """The worked example of a join, a count and a split."""
    builder = StreamsBuilder()
    stream = builder.stream("in").map(lambda key, value: (key, value))
    table = builder.table("tab")
    stream.group_by_key(key=string(), value=string()).count().to_stream().to("counts")
    split = stream.join(table, lambda left, right: left).split(name="b-")
    split.branch(lambda key, value: True, name="yes").branch(lambda key, value: True)
    split.default_branch(then=lambda rest: rest.to("rest"))
    described = builder.build().describe()
    assert (
        "Sink: KSTREAM-SINK-0000000007 (topic: "
        "KSTREAM-AGGREGATE-STATE-STORE-0000000005-repartition)" in described
    )
    assert (
        "Source: KSTREAM-SOURCE-0000000014 (topics: [KSTREAM-MAP-0000000001-repartition])"
        in described
    )
    assert "--> b-0, b-2, b-yes" in described
    assert "Sink: KSTREAM-SINK-0000000020 (topic: rest)" in described
