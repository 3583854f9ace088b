"""Pictures of what a topology does: one test for each thing that a picture shows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from textwrap import dedent

import pytest

from millstream.streams import (
    JoinWindows,
    KStream,
    Materialized,
    SessionWindows,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
    UnlimitedWindows,
)
from millstream.streams.serdes import long, string
from millstream.testing import timeline


def topology(make: Callable[[KStream[str, str]], object]) -> Topology:
    builder = StreamsBuilder()
    make(builder.stream("in", key=string(), value=string()))
    return builder.build()


def ms(count: int) -> timedelta:
    return timedelta(milliseconds=count)


def drawn(text: str) -> str:
    return dedent(text).strip("\n")


def test_a_lane_for_each_topic_a_column_for_each_record() -> None:
    built = topology(lambda s: s.filter(lambda k, v: v != "b").to("out"))
    assert timeline(
        built, [("in", "k", "a", 1), ("in", "k", "b", 2), ("in", "k", None, 3)]
    ) == drawn(
        """
        time │ 1    2    3
        ─────┼──────────────
          in │ k=a  k=b  k=∅
        ─────┼──────────────
         out │ k=a       k=∅
        """
    )


def test_records_out_of_order_are_marked() -> None:
    built = topology(lambda s: s.to("out"))
    assert "│ 5    ←3   5\n" in timeline(built, [("in", "k", "a", at) for at in (5, 3, 5)])


def test_dropped_records_are_marked_and_results_with_another_time_have_it() -> None:
    built = topology(lambda s: s.group_by_key().count().to_stream().to("out", value=long()))
    inputs = [("in", "k", "a", 5), ("in", None, "a", 6), ("in", "k", "a", 4)]
    assert timeline(built, inputs) == drawn(
        """
        time │ 5    6      ←4
        ─────┼───────────────────
          in │ k=a  ∅=a ✗  k=a
        ─────┼───────────────────
         out │ k=1         k=2 @5
        """
    )


def test_several_results_of_a_record_stand_one_below_the_other() -> None:
    built = topology(lambda s: s.flat_map_values(str.split).to("out", value=string()))
    assert timeline(built, [("in", "k", "a b", 1)]) == drawn(
        """
        time │ 1
        ─────┼──────
          in │ k=a b
        ─────┼──────
         out │ k=a
             │ k=b
        """
    )


def test_stores_are_lanes_and_the_wall_clock_is_a_column() -> None:
    built = topology(lambda s: s.group_by_key().count(materialized=Materialized("counts")))
    inputs = [("in", "k", "a", 1), ms(500), ("in", "j", "a", 2)]
    assert timeline(built, inputs, stores=["counts"]) == drawn(
        """
          time │ 1    clock +500  2
        ───────┼─────────────────────
            in │ k=a              j=a
        ───────┼─────────────────────
        counts │ k=1  k=1         j=1
               │                  k=1
        """
    )


def test_what_is_too_wide_goes_on_below() -> None:
    built = topology(lambda s: s.to("out"))
    picture = timeline(built, [("in", "k", "a" * 20, at) for at in range(3)], width=60)
    assert max(map(len, picture.splitlines())) <= 60
    assert picture.count("time │") == 2


def test_windows_are_spans_of_event_time() -> None:
    windows = TimeWindows.tumbling(ms(10))
    built = topology(
        lambda s: s.group_by_key().windowed_by(windows).count().to_stream().to("out", value=long())
    )
    inputs = [("in", "k", "a", 1), ("in", "k", "b", 12), ("in", "k", "c", 5)]
    assert timeline(built, inputs, width=50) == drawn(
        """
                    0         10        20
                    ├─────────┼─────────┼
        in  k=a      ●
          out  k=1  [─────────)
        in  k=b                 ●
          out  k=1            [─────────)
        in  k=c          ✗
        """
    )


def test_sessions_end_inclusively_and_retractions_are_dotted() -> None:
    windows = SessionWindows.of(ms(5))
    built = topology(
        lambda s: s.group_by_key().windowed_by(windows).count().to_stream().to("out", value=long())
    )
    inputs = [("in", "k", "a", 0), ("in", "k", "b", 4), ("in", "k", "c", 8)]
    picture = timeline(built, inputs, width=30).splitlines()
    assert [line.split()[-1] for line in picture if "out" in line] == [
        "|",
        "|",
        "[───]",
        "[┄┄┄]",
        "[───────]",
    ]


def test_a_window_without_end_goes_beyond_the_picture() -> None:
    built = topology(
        lambda s: (
            s.group_by_key()
            .windowed_by(UnlimitedWindows())
            .count()
            .to_stream()
            .to("out", value=long())
        )
    )
    inputs = [("in", "k", "a", 0), ("in", "k", "b", 10)]
    assert timeline(built, inputs, width=30).endswith("[─────────→")


def test_records_of_a_join_show_where_their_partners_may_be() -> None:
    builder = StreamsBuilder()
    left = builder.stream("left", key=string(), value=string())
    right = builder.stream("right", key=string(), value=string())
    windows = JoinWindows.of(ms(4), after=ms(2))
    joined = left.join(
        right, lambda a, b: a + b, windows=windows, joined=StreamJoined(key=string())
    )
    joined.to("out", value=string())
    picture = timeline(builder.build(), [("left", "k", "a", 6), ("right", "k", "b", 8)], width=36)
    assert [line[13:] for line in picture.splitlines()[2:]] == [
        "  ├───●─┤",
        "      ├─●───┤",
        "        ◆",
    ]


def test_long_times_get_a_coarser_axis() -> None:
    windows = TimeWindows.tumbling(timedelta(hours=1))
    built = topology(
        lambda s: s.group_by_key().windowed_by(windows).count().to_stream().to("out", value=long())
    )
    inputs = [("in", "k", "a", 1_000_000_000_000 + at) for at in (0, 10_000_000)]
    picture = timeline(built, inputs)
    assert max(map(len, picture.splitlines())) <= 96
    assert picture.count("[──") == 2


def test_pictures_of_nothing_and_in_little_room_are_drawn() -> None:
    windows = TimeWindows.tumbling(timedelta(days=1))
    counted = topology(
        lambda s: s.group_by_key().windowed_by(windows).count().to_stream().to("out", value=long())
    )
    copied = topology(lambda s: s.to("out"))
    assert timeline(counted, []) == timeline(counted, [], width=1)
    assert timeline(copied, []) == ""
    inputs = [("in", "k", "a", 5), ("in", "k", "b", 10**12)]
    assert timeline(counted, inputs, width=1).count("\n") == 5
    assert timeline(copied, inputs, width=1).count("time │") == 2


def test_topics_named_by_a_function_are_lanes_and_default_serdes_are_used() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to(lambda key, value, context: f"to-{value}")
    config = StreamsConfig("app", default_key=string(), default_value=string())
    assert timeline(
        builder.build(), [("in", "k", "b", 1), ("in", "k", "a", 2)], config=config
    ) == drawn(
        """
        time │ 1    2
        ─────┼─────────
          in │ k=b  k=a
        ─────┼─────────
        to-a │      k=a
        to-b │ k=b
        """
    )


def test_a_topic_that_is_not_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not read topic other"):
        timeline(topology(lambda s: s.to("out")), [("other", "k", "a", 1)])
