"""Headers are those of the record that triggered the output; stores keep none."""

from __future__ import annotations

import pytest

from millstream.streams import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
)
from millstream.streams.serdes import string
from tests.unit.streams.rules.rule_world import TEXT, before_dot, driver_of, ms, pair, write

Row = tuple[str, str, str, int]
"""Topic, key, value, timestamp; its header `from` is topic and position in the list."""


def headers_out(builder: StreamsBuilder, rows: list[Row]) -> list[str]:
    found = []
    with driver_of(builder) as driver:
        for number, (topic, key, value, at) in enumerate(rows, 1):
            origin = (("from", f"{topic}{number}".encode()),)
            driver.input_topic(topic).pipe(key, value, at=at, headers=origin)
            for row in driver.output_topic("out", key=TEXT, value=TEXT).read():
                origins = ",".join((content or b"").decode() for _, content in row.headers)
                found.append(f"{row.key}={row.value} from {origins or 'nobody'}")
    return found


def test_a_look_up_keeps_the_headers_of_the_stream_record() -> None:
    builder = StreamsBuilder()
    write(builder.stream("L").join(builder.table("R"), pair))
    assert headers_out(builder, [("R", "k", "x", 1), ("L", "k", "a", 2)]) == ["k=a|x from L2"]


def test_a_table_join_has_the_headers_of_the_side_that_changed() -> None:
    builder = StreamsBuilder()
    write(builder.table("L").join(builder.table("R"), pair))
    rows = [("R", "k", "x", 1), ("L", "k", "a", 2), ("R", "k", "y", 3)]
    assert headers_out(builder, rows) == ["k=a|x from L2", "k=a|y from R3"]


def test_a_foreign_key_join_has_the_headers_of_the_side_that_changed() -> None:
    builder = StreamsBuilder()
    write(builder.table("L").join(builder.table("R"), pair, foreign_key=before_dot))
    rows = [("R", "a", "1", 5), ("L", "k", "a.1", 6), ("R", "a", "2", 7)]
    assert headers_out(builder, rows) == ["k=a.1|1 from L2", "k=a.1|2 from R3"]


def test_an_aggregate_has_the_headers_of_its_last_record() -> None:
    builder = StreamsBuilder()
    write(builder.stream("L").group_by_key().count())
    rows = [("L", "k", "a", 1), ("L", "k", "b", 2)]
    assert headers_out(builder, rows) == ["k=1 from L1", "k=2 from L2"]


def test_both_rows_of_a_regrouped_change_have_the_headers_of_the_update() -> None:
    builder = StreamsBuilder()
    grouped = builder.table("L").group_by(lambda key, value: (value[0], value))
    write(grouped.reduce(lambda one, other: one + other, lambda one, other: one.replace(other, "")))
    rows = [("L", "k", "ax", 5), ("L", "k", "bx", 6)]
    assert headers_out(builder, rows) == ["a=ax from L1", "a= from L2", "b=bx from L2"]


def test_an_unmatched_record_goes_out_with_the_headers_of_the_one_that_ended_its_window() -> None:
    builder = StreamsBuilder()
    windows = JoinWindows.of(ms(10))
    write(builder.stream("L").left_join(builder.stream("R"), pair, windows=windows))
    rows = [("L", "k", "a", 5), ("L", "k", "b", 30)]
    assert headers_out(builder, rows) == ["k=a|None from L2"]


def test_a_window_that_closes_has_the_headers_of_the_record_that_closed_it() -> None:
    builder = StreamsBuilder()
    windows = (
        builder.stream("L").group_by_key(key=string()).windowed_by(TimeWindows.tumbling(ms(10)))
    )
    write(windows.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE).count())
    rows = [("L", "k", "a", 5), ("L", "k", "b", 16)]
    assert headers_out(builder, rows) == ["k@0/10=1 from L2"]


def test_suppression_gives_back_the_headers_of_the_buffered_record() -> None:
    builder = StreamsBuilder()
    write(builder.table("L").suppress(Suppressed.until_time_limit(ms(5))))
    rows = [("L", "k", "a", 5), ("L", "z", "b", 30)]
    assert headers_out(builder, rows) == ["k=a from L1"]


@pytest.mark.parametrize("value", ["a", "b"])
def test_updates_of_sessions_have_no_headers(value: str) -> None:
    builder = StreamsBuilder()
    write(builder.stream("L").group_by_key().windowed_by(SessionWindows.of(ms(5))).count())
    assert headers_out(builder, [("L", "k", value, 5)]) == ["k@5/5=1 from nobody"]
