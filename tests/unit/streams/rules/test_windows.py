"""Which windows a record belongs to, when it is late, and how long windows are kept."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millstream.streams import (
    EmitStrategy,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    TimeWindows,
    UnlimitedWindows,
)
from millstream.streams.errors import TopologyError
from millstream.streams.serdes import string
from tests.unit.streams.rules.rule_world import dropped, ms, run, write


def windowed(windows: Any, *merger: Any) -> StreamsBuilder:
    builder = StreamsBuilder()
    grouped: Any = builder.stream("L").group_by_key().windowed_by(windows)
    write(grouped.aggregate(lambda: "i", lambda key, value, total: f"{total}-{value}", *merger))
    return builder


def sessions(gap: int, grace: int = 0) -> StreamsBuilder:
    windows = SessionWindows.of(ms(gap), grace=ms(grace))
    return windowed(windows, lambda key, one, other: f"{one}|{other}")


def test_windows_begin_at_multiples_of_the_advance_and_contain_their_start_only() -> None:
    hopping = windowed(TimeWindows.hopping(ms(10), ms(4)))
    assert run(hopping, "L:a@3 L:b@9 L:c@13") == (
        "1:k@0/10=i-a@3 "
        "2:k@0/10=i-a-b@9 2:k@4/14=i-b@9 2:k@8/18=i-b@9 "
        "3:k@4/14=i-b-c@13 3:k@8/18=i-b-c@13 3:k@12/22=i-c@13"
    )


def test_an_unlimited_window_begins_where_it_is_told_to() -> None:
    assert list(UnlimitedWindows(5).starts(4)) == []
    assert list(UnlimitedWindows(5).starts(5)) == [5]


def test_each_window_of_a_late_record_is_judged_on_its_own() -> None:
    """At stream time 16 window [5, 15) is over and [10, 20) is not: c@8 is in two that are over."""
    hopping = TimeWindows.hopping(ms(10), ms(5))
    outputs = run(windowed(hopping), "L:a@3 L:b@16 L:c@8 L:d@4")
    assert outputs == "1:k@0/10=i-a@3 2:k@10/20=i-b@16 2:k@15/25=i-b@16"
    assert dropped(windowed(hopping), "L:a@3 L:b@16 L:c@8 L:d@4") == 3


def test_a_window_is_over_when_stream_time_reaches_its_end_and_grace() -> None:
    tumbling = TimeWindows.tumbling(ms(10), grace=ms(5))
    outputs = run(windowed(tumbling), "L:a@3 L:b@14 L:c@4 L:d@15 L:e@5")
    assert outputs == "1:k@0/10=i-a@3 2:k@10/20=i-b@14 3:k@0/10=i-a-c@4 4:k@10/20=i-b-d@15"


def test_sliding_windows_end_at_each_record_and_begin_behind_each_that_has_a_follower() -> None:
    sliding = SlidingWindows.of(ms(5), grace=ms(20))
    assert run(windowed(sliding), "L:a@10 L:b@13 L:c@16") == (
        "1:k@5/10=i-a@10 2:k@11/16=i-b@13 2:k@8/13=i-a-b@13 3:k@11/16=i-b-c@16 3:k@14/19=i-c@16"
    )


def test_a_record_out_of_order_makes_the_right_windows_of_its_neighbours() -> None:
    sliding = SlidingWindows.of(ms(5), grace=ms(20))
    assert run(windowed(sliding), "L:a@10 L:b@14 L:c@12") == (
        "1:k@5/10=i-a@10 "
        "2:k@11/16=i-b@14 2:k@9/14=i-a-b@14 "
        "3:k@11/16=i-b-c@14 3:k@9/14=i-a-b-c@14 3:k@7/12=i-a-c@12 3:k@13/18=i-b@14"
    )


def test_records_younger_than_the_difference_share_the_window_from_zero() -> None:
    sliding = SlidingWindows.of(ms(5), grace=ms(20))
    assert run(windowed(sliding), "L:a@2 L:b@4") == "1:k@0/5=i-a@2 2:k@3/8=i-b@4 2:k@0/5=i-a-b@4"


def test_a_sliding_window_is_late_only_after_its_end() -> None:
    """Its end is inclusive: at stream time 20 the window that ends at 20 still counts."""
    sliding = SlidingWindows.of(ms(5))
    assert run(windowed(sliding), "L:a@10 L:b@20 L:c@15 L:d@14") == (
        "1:k@5/10=i-a@10 2:k@15/20=i-b@20 3:k@15/20=i-b-c@20 3:k@16/21=i-b@20"
    )


def test_a_session_takes_in_records_up_to_the_gap_away() -> None:
    outputs = run(sessions(5), "L:a@10 L:b@15 L:c@21")
    assert outputs == "1:k@10/10=i-a@10 2:k@10/10=-@10 2:k@10/15=i|i-a-b@15 3:k@21/21=i-c@21"


def test_session_merge_forwards_tombstones_at_the_ends_of_what_it_absorbs() -> None:
    assert run(sessions(5, grace=20), "L:a@1 L:b@10 L:c@20 L:d@15") == (
        "1:k@1/1=i-a@1 2:k@10/10=i-b@10 3:k@20/20=i-c@20 "
        "4:k@10/10=-@10 4:k@20/20=-@20 4:k@10/20=i|i-b|i-c-d@20"
    )


def test_a_session_of_one_moment_is_updated_without_a_tombstone() -> None:
    assert run(sessions(5), "L:a@10 L:b@10") == "1:k@10/10=i-a@10 2:k@10/10=i|i-a-b@10"


def test_a_late_record_that_bridges_to_a_live_session_counts() -> None:
    """At stream time 125 what ends before 110 is late: x@106 alone is, as part of [106, 115] it is not."""
    assert run(sessions(10, grace=5), "L:k=a@115 L:o=b@125 L:k=x@106 L:z=late@106") == (
        "1:k@115/115=i-a@115 2:o@125/125=i-b@125 3:k@115/115=-@115 3:k@106/115=i|i-a-x@115"
    )


@pytest.mark.parametrize(
    "windows",
    [
        TimeWindows.tumbling(ms(10), grace=ms(5)),
        SessionWindows.of(ms(10), grace=ms(5)),
        SlidingWindows.of(ms(5), grace=ms(5)),
    ],
)
def test_a_retention_shorter_than_windows_need_is_refused(windows: Any) -> None:
    """They need 15 ms: size and grace, gap and grace, twice the difference and grace."""
    grouped: Any = StreamsBuilder().stream("L").group_by_key().windowed_by(windows)
    with pytest.raises((TopologyError, ValueError), match="retention"):
        grouped.count(materialized=Materialized("s", retention=ms(14)))
    grouped.count(materialized=Materialized("s", retention=ms(15)))


def closing(windows: TimeWindows, retention: timedelta | None = None) -> StreamsBuilder:
    builder = StreamsBuilder()
    grouped = builder.stream("L").group_by_key(key=string()).windowed_by(windows)
    closing = grouped.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    kept = Materialized("s", key=string(), value=string(), retention=retention)
    write(closing.reduce(lambda one, other: one + other, materialized=kept))
    return builder


def test_retention_counts_from_the_newest_window_so_that_a_jump_loses_windows() -> None:
    """Of 4.3.1's stores: a@0 is hidden before it could be given out; a longer retention helps."""
    tumbling = TimeWindows.tumbling(ms(10))
    assert run(closing(tumbling), "L:a=x@1 L:b=y@50") == ""
    assert run(closing(tumbling, retention=ms(60)), "L:a=x@1 L:b=y@50") == "2:a@0/10=x@1"


def test_the_persistent_store_of_closing_windows_shows_the_row_at_the_edge() -> None:
    """The window at 0 is exactly as old as the retention of 10 when the one at 10 comes."""
    outputs = run(closing(TimeWindows.tumbling(ms(10))), "L:a=x@1 L:b=y@11 L:b=z@12")
    assert outputs == "2:a@0/10=x@1"
