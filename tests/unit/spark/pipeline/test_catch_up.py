"""What the line of a catch-up says."""

from __future__ import annotations

import io

import pytest

from millstream.runtime.system import SystemClock
from millstream.spark.pipeline.micro_batches import Progress
from millstream.spark.pipeline.progress_line import CatchUp, MicroBatchFigures, ProgressLine


def batch(
    done: int, left: int, *, sub_topology: int = 0, duration_ms: int = 1_000
) -> MicroBatchFigures:
    return MicroBatchFigures(sub_topology, done, left, duration_ms)


def test_the_line_has_share_speed_and_time_left() -> None:
    way = CatchUp("word-count")
    assert way.take(batch(100_000, 900_000), 1_000) == (
        "word-count, sub-topology 0: [##                  ] 10 %, 100,000 records/s, 9 s left"
    )
    assert way.take(batch(300_000, 600_000), 3_000) == (
        "word-count, sub-topology 0: [########            ] 40 %, 133,333 records/s, 4 s left"
    )


@pytest.mark.parametrize(
    ("left", "words"),
    [(59_000, "59 s left"), (90_000, "1 min 30 s left"), (7_380_000, "2 h 3 min left")],
)
def test_long_times_are_told_in_minutes_and_hours(left: int, words: str) -> None:
    assert CatchUp("app").take(batch(1_000, left), 1_000).endswith(f", {words}")


def test_a_short_way_has_no_line_and_one_that_was_shown_keeps_it_to_the_end() -> None:
    way = CatchUp("app")
    assert way.take(batch(1_000, 2_000), 1_000) == ""
    assert way.take(batch(1_000, 9_000), 2_000) != ""
    assert way.take(batch(8_000, 1_000), 3_000) != ""
    assert way.take(batch(1_000, 0), 4_000) == ""
    assert way.take(batch(1_000, 2_000), 5_000) == "", "another way"


def test_the_line_is_of_the_sub_topology_that_takes_longest() -> None:
    way = CatchUp("app")
    way.take(batch(1_000, 9_000), 1_000)
    assert "sub-topology 1: " in way.take(batch(100, 9_000, sub_topology=1), 1_000)
    assert "sub-topology 0: " in way.take(batch(9_000, 0, sub_topology=1), 2_000)


def test_a_micro_batch_without_records_does_not_divide_by_nothing() -> None:
    assert CatchUp("app").take(batch(0, 5_000, duration_ms=0), 1_000) == ""


def test_each_line_covers_the_one_before_and_nothing_is_left_of_the_last() -> None:
    stream = io.StringIO()
    line = ProgressLine("app", SystemClock(), stream)
    line.clear()
    assert stream.getvalue() == "", "nothing was shown"
    line.take(Progress(0, 0, input_records=1, duration_ms=1_000, lag=99))
    line.take(Progress(0, 1, input_records=99, duration_ms=1_000))
    first, covered = stream.getvalue().split("\r")[1:3]
    assert first.startswith("app, sub-topology 0: [")
    assert covered == " " * len(first)
