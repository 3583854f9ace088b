"""Sum, smallest, largest and mean, wherever `aggregate` takes functions."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from millstream.streams import (
    KStream,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Windowed,
)
from millstream.streams.aggregates import Mean, max_of, mean_of, mean_serde, min_of, sum_of
from millstream.streams.serdes import json, long, string
from millstream.streams.vectorised import vectorised
from millstream.testing.streams.topology_test_driver import TopologyTestDriver

CONFIG = StreamsConfig("app", default_key=string(), default_value=long())
MS = timedelta(milliseconds=1)


def updates(table, values, *, builder: StreamsBuilder, source: str = "in", value=None):
    """(key, value) of what a table gives out for values of key "k", one a millisecond."""
    seen: list[tuple[object, object]] = []
    table.to_stream().foreach(lambda key, row: seen.append((key, row)))
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        topic = driver.input_topic(source, key=string(), value=value or long())
        for at, given in enumerate(values):
            topic.pipe("k", given, at=at)
    return seen


@pytest.mark.parametrize(
    ("ready", "expected"),
    [
        (sum_of(), [5, 8, 16]),
        (min_of(), [5, 3, 3]),
        (max_of(), [5, 5, 8]),
        (mean_of(), [Mean(5.0, 1), Mean(8.0, 2), Mean(16.0, 3)]),
    ],
)
def test_a_ready_made_aggregation_stands_for_initializer_and_aggregator(ready, expected) -> None:
    builder = StreamsBuilder()
    table = builder.stream("in").group_by_key().aggregate(ready)
    assert [row for _, row in updates(table, [5, 3, 8], builder=builder)] == expected


def test_what_is_selected_is_aggregated_and_none_changes_nothing() -> None:
    builder = StreamsBuilder()
    orders = builder.stream("in", key=string(), value=json())
    table = orders.group_by_key().aggregate(sum_of(lambda order: order.get("cents")))
    given = [{"cents": 5}, {}, {"cents": 2}]
    assert [row for _, row in updates(table, given, builder=builder, value=json())] == [5, 5, 7]


def test_equal_ones_leave_the_first() -> None:
    builder = StreamsBuilder()
    words: KStream[str, str] = builder.stream("in", key=string(), value=string())
    table = words.group_by_key().aggregate(max_of(len, value=long()))
    given = ["on", "in", "off"]
    assert [row for _, row in updates(table, given, builder=builder, value=string())] == [2, 2, 3]


def test_the_smallest_of_whole_values_is_kept_with_their_own_serde() -> None:
    builder = StreamsBuilder()
    words: KStream[str, str] = builder.stream("in", key=string(), value=string())
    table = words.group_by_key().aggregate(min_of())
    given = ["m", "c", "x"]
    assert [row for _, row in updates(table, given, builder=builder, value=string())] == [
        "m",
        "c",
        "c",
    ]


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        (TimeWindows.tumbling(2 * MS), [((0, 2), 5), ((0, 2), 8), ((2, 4), 8)]),
        (
            SlidingWindows.of(1 * MS),
            [((0, 1), 5), ((1, 2), 3), ((0, 1), 8), ((2, 3), 8), ((1, 2), 11)],
        ),
        (
            SessionWindows.of(1 * MS),
            [((0, 0), 5), ((0, 0), None), ((0, 1), 8), ((0, 1), None), ((0, 2), 16)],
        ),
    ],
)
def test_windows_and_sessions_are_aggregated_too(windows, expected) -> None:
    builder = StreamsBuilder()
    table = builder.stream("in").group_by_key().windowed_by(windows).aggregate(sum_of())
    seen = updates(table, [5, 3, 8], builder=builder)
    found = [((key.start_ms, key.end_ms), row) for key, row in seen if isinstance(key, Windowed)]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_sessions_that_meet_are_merged() -> None:
    builder = StreamsBuilder()
    windows = SessionWindows.of(2 * MS, grace=9 * MS)
    table = builder.stream("in").group_by_key().windowed_by(windows).aggregate(min_of())
    seen: list[object] = []
    table.to_stream().foreach(lambda key, row: seen.append((key.start_ms, key.end_ms, row)))
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        topic = driver.input_topic("in", key=string(), value=long())
        for value, at in [(5, 0), (3, 4), (9, 2)]:
            topic.pipe("k", value, at=at)
    assert seen[-1] == (0, 4, 3)


def test_a_grouped_table_takes_old_values_off() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", key=string(), value=long())
    grouped = table.group_by(lambda key, value: ("all", value), key=string(), value=long())
    seen = updates(grouped.aggregate(mean_of()), [5, 3], builder=builder)
    assert seen[-1] == ("all", Mean(3.0, 1))


def test_a_grouped_table_refuses_what_cannot_be_taken_off() -> None:
    builder = StreamsBuilder()
    table = builder.table("in", key=string(), value=long())
    grouped = table.group_by(lambda key, value: ("all", value), key=string(), value=long())
    with pytest.raises(TypeError, match="min_of cannot take a row's old value off again"):
        grouped.aggregate(min_of())


def test_cogrouped_streams_share_one_aggregation() -> None:
    builder = StreamsBuilder()
    ones = builder.stream("in").group_by_key()
    twos = builder.stream("other").group_by_key()
    table = (
        ones.cogroup(sum_of()).cogroup(twos, sum_of(lambda value: 10 * value)).aggregate(sum_of())
    )
    seen: list[object] = []
    table.to_stream().foreach(lambda _key, row: seen.append(row))
    with TopologyTestDriver(builder.build(), CONFIG) as driver:
        for name, value in [("in", 1), ("other", 2), ("in", 3)]:
            driver.input_topic(name, key=string(), value=long()).pipe("k", value)
    assert seen == [1, 21, 24]


def test_names_and_description_are_those_of_aggregate() -> None:
    def described(*functions) -> str:
        builder = StreamsBuilder()
        builder.stream("in").group_by_key().aggregate(*functions).to_stream().to("out")
        return builder.build().describe()

    assert described(sum_of()) == described(int, lambda key, value, aggregate: aggregate)


def test_a_mean_is_sixteen_bytes_and_that_of_nothing_is_no_number() -> None:
    assert mean_serde().encode(Mean(1.5, 3)) == bytes.fromhex("3ff8000000000000 0000000000000003")
    assert mean_serde().decode(bytes.fromhex("3ff8000000000000 0000000000000003")).mean == 0.5
    assert math.isnan(Mean(0.0, 0).mean)


def test_a_selector_takes_the_value_of_one_record() -> None:
    with pytest.raises(TypeError, match="sum_of: select <lambda> is vectorised"):
        sum_of(vectorised(lambda values: values))
    with pytest.raises(
        TypeError, match="max_of: select is called with \\(value\\) but takes \\(key, value\\)"
    ):
        max_of(lambda key, value: value)
