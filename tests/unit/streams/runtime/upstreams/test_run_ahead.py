"""How far a task has run ahead of the slowest of its like, in records."""

from __future__ import annotations

from millstream.streams.runtime.upstreams.run_ahead import CHECKED_RECORDS, RunAhead


def ran(*rounds: tuple[int, int]) -> RunAhead:
    """`rounds`: numbers of records, and the origin time after each."""
    task = RunAhead()
    for records, origin_time in rounds:
        task.note(records, origin_time)
    return task


def test_records_count_from_the_round_in_which_the_time_of_the_slowest_was_reached() -> None:
    task = ran((10, 100), (20, 200), (30, 300))
    assert [task.beyond(slowest) for slowest in (-1, 100, 150, 200, 299)] == [60, 50, 50, 30, 30]
    assert task.beyond(300) == 0
    assert task.beyond(10_000) == 0


def test_a_task_that_has_done_nothing_is_not_ahead() -> None:
    assert RunAhead().beyond(-1) == 0
    assert ran((0, 500)).beyond(-1) == 0


def test_records_of_the_same_time_are_not_ahead_of_it() -> None:
    task = ran((10, 100), (20, 100), (5, 101))
    assert task.beyond(100) == 5
    assert task.beyond(99) == 35


def test_many_rounds_are_counted_less_exactly_but_not_from_the_beginning() -> None:
    """A task that has done millions of records is not far ahead because it has done the last few of them in small rounds."""
    task = ran((10_000_000, 0), *((1, time) for time in range(1, 5_000)))
    assert 4_999 <= task.beyond(0) < 5_100
    assert 1_000 <= task.beyond(3_999) < 1_100
    assert task.beyond(4_998) >= 1
    assert task.beyond(4_999) == 0


def test_somebody_has_to_look_at_the_others_after_each_so_many_records() -> None:
    task = ran((CHECKED_RECORDS - 1, 0))
    assert not task.maybe_check()
    task.note(1, 1)
    assert [task.maybe_check(), task.maybe_check()] == [True, False]
    task.note(CHECKED_RECORDS, 2)
    assert task.maybe_check()


def test_one_that_was_at_its_end_and_is_behind_now_does_not_make_all_that_was_processed_count() -> (
    None
):
    task = ran((1_000_000, 100), (10, 200), (20, 300), (30, 400))
    assert task.beyond(300) == 30
    assert task.beyond(50) == 50, "the 20 records up to 300 and the 30 after them"
    task.note(7, 500)
    assert task.beyond(50) == 57
