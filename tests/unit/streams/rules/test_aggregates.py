"""What aggregations leave out, delete, and do with changes of tables."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.streams import SessionWindows, SlidingWindows, StreamsBuilder, TimeWindows
from millstream.streams.errors import StreamsError
from tests.unit.streams.rules.rule_world import (
    NUMBER,
    before_dot,
    driver_of,
    dropped,
    ms,
    run,
    write,
)

NULLS = "L:a@1 L:-@2 L:-=z@3 L:b@4"


def joined(_key: object, value: object, aggregate: str) -> str:
    return f"{aggregate}-{value}"


def merged(_key: object, one: str, other: str) -> str:
    return f"{one}|{other}"


def windowed(windows: Any, *merger: Any) -> StreamsBuilder:
    builder = StreamsBuilder()
    grouped: Any = builder.stream("L").group_by_key().windowed_by(windows)
    write(grouped.aggregate(lambda: "i", joined, *merger))
    return builder


def counted() -> StreamsBuilder:
    builder = StreamsBuilder()
    write(builder.stream("L").group_by_key().count())
    return builder


def reduced() -> StreamsBuilder:
    builder = StreamsBuilder()
    write(builder.stream("L").group_by_key().reduce(lambda one, other: one + other))
    return builder


@pytest.mark.parametrize(
    ("builder", "expected", "left_out"),
    [
        (counted, "1:k=1@1 4:k=2@4", 2),
        (reduced, "1:k=a@1 4:k=ab@4", 2),
        (
            lambda: windowed(SlidingWindows.of(ms(10))),
            "1:k@0/10=i-a@1 4:k@2/12=i-b@4 4:k@0/10=i-a-b@4",
            2,
        ),
    ],
)
def test_plain_and_sliding_aggregates_leave_out_null_keys_and_null_values(builder, expected, left_out) -> None:  # fmt: skip
    assert run(builder(), NULLS) == expected
    assert dropped(builder(), NULLS) == left_out


@pytest.mark.parametrize(
    ("builder", "expected"),
    [
        (
            lambda: windowed(TimeWindows.tumbling(ms(10))),
            "1:k@0/10=i-a@1 2:k@0/10=i-a-None@2 4:k@0/10=i-a-None-b@4",
        ),
        (
            lambda: windowed(SessionWindows.of(ms(5)), merged),
            "1:k@1/1=i-a@1 2:k@1/1=-@1 2:k@1/2=i|i-a-None@2 4:k@1/2=-@2 4:k@1/4=i|i|i-a-None-b@4",
        ),
    ],
)
def test_time_windows_and_sessions_leave_out_null_keys_alone(builder, expected) -> None:
    assert run(builder(), NULLS) == expected
    assert dropped(builder(), NULLS) == 1


def test_an_aggregate_of_none_deletes_the_row_and_the_next_record_starts_anew() -> None:
    """Its time too."""
    builder = StreamsBuilder()
    write(
        builder.stream("L", value=NUMBER)
        .group_by_key()
        .aggregate(
            lambda: 0, lambda key, value, total: None if value < 0 else total + value, value=NUMBER
        )
    )
    assert run(builder, "L:2@5 L:3@3 L:-1@4 L:4@2") == "1:k=2@5 2:k=5@5 3:k=-@5 4:k=4@2"


def test_the_first_value_of_a_reduction_is_kept_as_it_is() -> None:
    """The reducer, which gives None from 5 on, is not asked about the 9."""
    builder = StreamsBuilder()

    def below_five(one: int, other: int) -> int | None:
        return one + other if one + other < 5 else None

    write(builder.stream("L", value=NUMBER).group_by_key().reduce(below_five))
    assert run(builder, "L:9@1 L:1@2 L:3@3 L:2@4") == "1:k=9@1 2:k=-@2 3:k=3@3 4:k=-@4"


def test_the_test_driver_commits_after_each_record_so_that_a_cache_hides_nothing() -> None:
    assert run(counted(), "L:a@1 L:b@2 L:c@3", cache_max_bytes=100_000) == "1:k=1@1 2:k=2@2 3:k=3@3"


def regrouped(selector: Any = lambda key, value: (value[0], value)) -> StreamsBuilder:
    builder = StreamsBuilder()
    grouped = builder.table("L").group_by(selector)
    write(
        grouped.aggregate(
            lambda: "i",
            lambda key, value, total: f"{total}+{value}",
            lambda key, value, total: f"{total}-{value}",
        )
    )
    return builder


def test_a_change_within_a_group_is_one_update() -> None:
    """KIP-904: subtracted and added before anybody sees it."""
    assert run(regrouped(), "L:a1@1 L:a2@2") == "1:a=i+a1@1 2:a=i+a1-a1+a2@2"


def test_a_change_of_group_is_seen_as_removed_first_and_added_then() -> None:
    outputs = run(regrouped(), "L:a1@1 L:b1@2")
    assert outputs == "1:a=i+a1@1 2:a=i+a1-a1@2 2:b=i+b1@2"


def test_a_deleted_row_is_only_subtracted() -> None:
    assert run(regrouped(), "L:a1@1 L:-@2") == "1:a=i+a1@1 2:a=i+a1-a1@2"


def test_a_null_group_is_left_out_and_what_was_there_before_is_subtracted() -> None:
    by_dot = regrouped(lambda key, value: (before_dot(value), value))
    assert run(by_dot, "L:a.x@1 L:zz@2 L:b.y@3") == "1:a=i+a.x@1 2:a=i+a.x-a.x@2 3:b=i+b.y@3"


def test_a_null_value_is_left_out() -> None:
    assert run(regrouped(lambda key, value: (value[0], None)), "L:a1@1") == ""


def test_a_null_key_of_the_table_never_gets_there() -> None:
    """The table drops it: an aggregation would have to raise, it has no row to compare with."""
    assert run(regrouped(), "L:-=a1@1 L:a2@2") == "2:a=i+a2@2"


def test_a_selector_that_fails_names_the_node() -> None:
    with (
        driver_of(regrouped(lambda key, value: 1 // 0)) as driver,
        pytest.raises(StreamsError, match="KTABLE-SELECT-0000000003"),
    ):
        driver.input_topic("L").pipe("k", "a1", at=1)
