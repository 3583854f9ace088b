from __future__ import annotations

import pytest

from millstream.cli.progress import PaceLine, pace


@pytest.mark.parametrize(
    ("done", "total", "elapsed_ms", "told"),
    [
        (0, None, 0, "0 records"),
        (0, 10, 5_000, "0 of 10 records"),
        (5_000, None, 2_000, "5,000 records, 2,500/s"),
        (5_000, 10_000, 2_000, "5,000 of 10,000 records, 2,500/s, 2 s left"),
        (1_000, 1_000_000, 1_000, "1,000 of 1,000,000 records, 1,000/s, 16 min 39 s left"),
        (10, 10, 1_000, "10 of 10 records, 10/s"),
    ],
)
def test_a_pace_says_what_is_done_and_what_is_left(
    done: int, total: int | None, elapsed_ms: int, told: str
) -> None:
    assert pace(done, total, elapsed_ms, "records") == told


def test_one_line_is_written_over_once_a_second_and_taken_away() -> None:
    written: list[str] = []
    now = iter([500, 1_000, 1_400, 2_100])
    progress = PaceLine(written.append, lambda: next(now), 0, 0)
    for done in (1, 2, 3, 4):
        progress.tell(done, None, "records")
    progress.clear()
    progress.clear()
    assert written == ["2 records, 2/s ...\x1b[K\r", "4 records, 2/s ...\x1b[K\r", "\x1b[K"]


def test_where_nobody_looks_the_clock_is_left_alone() -> None:
    progress = PaceLine(None, lambda: pytest.fail("the clock was asked"), 0, 0)
    progress.tell(1, None, "records")
    progress.clear()
