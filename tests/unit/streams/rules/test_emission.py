"""Results that wait until a window is closed, or for a time."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.streams import (
    EmitStrategy,
    Materialized,
    SessionWindows,
    SlidingWindows,
    StoreSupplier,
    StoreType,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
)
from millstream.streams.errors import StreamsError
from millstream.streams.serdes import string
from tests.unit.streams.rules.rule_world import driver_of, ms, pipe, run, write


def concatenated(one: str, other: str) -> str:
    return one + other


def closing(windows: Any, kept: Materialized | None = None) -> StreamsBuilder:
    builder = StreamsBuilder()
    grouped = builder.stream("L").group_by_key(key=string(), value=string())
    closing = grouped.windowed_by(windows).emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
    write(closing.reduce(concatenated, materialized=kept))
    return builder


def suppressed_windows(windows: TimeWindows | SessionWindows, **buffer: int) -> StreamsBuilder:
    builder = StreamsBuilder()
    grouped = builder.stream("L").group_by_key(key=string(), value=string())
    table = grouped.windowed_by(windows).reduce(concatenated)
    write(table.suppress(Suppressed.until_window_closes(**buffer)))
    return builder


def limited(**options: object) -> StreamsBuilder:
    builder = StreamsBuilder()
    write(builder.table("L").suppress(Suppressed.until_time_limit(ms(100), **options)))
    return builder


def test_a_window_goes_out_once_when_stream_time_passes_its_end_and_grace() -> None:
    """By start and key, whatever the order of the records was; at 13 nothing is closed yet."""
    windows = TimeWindows.tumbling(ms(10), grace=ms(3))
    outputs = run(closing(windows), "L:b=x@2 L:a=y@1 L:b=z@4 L:k=q@12 L:k=r@13 L:k=s@14")
    assert outputs == "5:a@0/10=y@1 5:b@0/10=xz@4"


def test_a_record_for_a_window_that_went_out_is_late() -> None:
    windows = TimeWindows.tumbling(ms(10), grace=ms(3))
    assert run(closing(windows), "L:a@1 L:b@14 L:c@2") == "2:k@0/10=a@1"


@pytest.mark.parametrize(
    ("grace", "expected"),
    [
        (0, "3:k@1/3=ab@3 4:k@9/9=c@9 5:k@30/30=d@30"),
        (3, "4:k@1/3=ab@3 4:k@9/9=c@9 5:k@30/30=d@30"),
    ],
)
def test_sessions_go_out_although_their_store_hides_them_already(grace, expected) -> None:
    """Sessions in a time-ordered store on disk are found until their segment is dropped."""
    windows = SessionWindows.of(ms(5), grace=ms(grace))
    assert run(closing(windows), "L:a@1 L:b@3 L:c@9 L:d@30 L:e@100") == expected


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        (
            TimeWindows.tumbling(ms(10)),
            "7:k@0/10=a@1 7:k@10/20=b@11 7:k@20/30=c@21 7:k@30/40=d@31",
        ),
        (SessionWindows.of(ms(5)), "7:k@1/1=a@1 7:k@11/11=b@11 7:k@21/21=c@21 7:k@31/31=d@31"),
        (
            SlidingWindows.of(ms(5)),
            "2:k@0/5=a@1 7:k@6/11=b@11 7:k@16/21=c@21 7:k@26/31=d@31",
        ),
    ],
)
def test_closed_windows_are_looked_for_once_an_interval_of_the_wall_clock(windows, expected) -> None:  # fmt: skip
    """The first record begins an interval of 1,000 ms, of sliding windows the first whose window has a start."""
    kept = Materialized("s", key=string(), value=string(), retention=ms(500))
    inputs = "L:a@1 L:b@11 L:c@21 +999 L:d@31 +1 L:e@41"
    assert run(closing(windows, kept), inputs, window_emit_interval_ms=1_000) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (StoreType.ROCKSDB, "5:a@0/10=c@8 5:b@0/10=bx@7 5:b@4/14=x@7 5:z@0/10=a@1"),
        (StoreType.IN_MEMORY, "5:a@0/10=c@8 5:b@0/10=bx@7 5:z@0/10=a@1 5:b@4/14=x@7"),
    ],
)
def test_windows_in_a_store_chosen_by_hand_go_out_in_its_order(kind, expected: str) -> None:
    """Of keys on disk, of time in memory; the store that the library chooses is in order of time on disk too."""
    supplier = StoreSupplier("s", kind, retention=ms(500), window_size=ms(10))
    kept = Materialized(supplier=supplier, key=string(), value=string())
    inputs = "L:z=a@1 L:b=b@3 L:b=x@7 L:a=c@8 L:c@40"
    windows = closing(SlidingWindows.of(ms(10)), kept)
    assert run(windows, inputs) == expected


def test_windows_come_out_when_closed_with_timestamps_of_their_own() -> None:
    outputs = run(
        suppressed_windows(TimeWindows.tumbling(ms(10))),
        "L:a=x@1 L:b=y@2 L:a=z@3 L:c=w@12 L:c=w@25",
    )
    assert outputs == "4:a@0/10=xz@3 4:b@0/10=y@2 5:c@10/20=w@12"


def test_sessions_close_behind_their_end_and_grace() -> None:
    """Buffer time is the end, 3: with grace 2 the gap of 5 is not waited for, as stream time 10 shows."""
    windows = SessionWindows.of(ms(5), grace=ms(2))
    outputs = run(suppressed_windows(windows), "L:a=x@1 L:a=y@3 L:b=z@10 L:b=z@11")
    assert outputs == "3:a@1/3=xy@3"


def test_a_window_that_was_deleted_does_not_come_out() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("L").group_by_key(key=string(), value=string())
    windows = grouped.windowed_by(TimeWindows.tumbling(ms(10)))
    table = windows.aggregate(lambda: "i", lambda key, value, total: value and total + value)
    write(table.suppress(Suppressed.until_window_closes()))
    assert run(builder, "L:a=x@1 L:a=-@2 L:b=v@15") == ""


def test_a_full_buffer_stops_the_task_when_results_must_be_final() -> None:
    strict = suppressed_windows(TimeWindows.tumbling(ms(10)), max_records=1)
    with driver_of(strict) as driver:
        pipe(driver, "L:a=x@1")
        with pytest.raises(StreamsError, match="more than it may"):
            pipe(driver, "L:b=y@2")


def test_a_full_buffer_gives_out_the_oldest_first_where_that_is_allowed() -> None:
    early = limited(max_records=2, emit_early=True)
    assert run(early, "L:a=x@5 L:b=y@3 L:c=z@9") == "3:b=y@3"


def test_a_later_update_keeps_the_place_of_the_first() -> None:
    """a was first at 5, before b: its new value of 9 goes out when c makes the buffer full."""
    early = limited(max_records=2, emit_early=True)
    assert run(early, "L:a=x@5 L:b=y@6 L:a=w@9 L:c=z@10") == "4:a=w@9"


def test_until_a_time_limit_deletions_wait_as_other_updates_do() -> None:
    builder = StreamsBuilder()
    write(builder.table("T").suppress(Suppressed.until_time_limit(ms(5))))
    outputs = run(builder, "T:k=a@1 T:k=b@4 T:j=x@5 T:j=-@6 T:z=z@12")
    assert outputs == "4:k=b@4 5:j=-@6"


def test_only_stream_time_lets_rows_out() -> None:
    assert run(limited(), "L:a=x@5 +100000 L:b=y@105") == "3:a=x@5"
