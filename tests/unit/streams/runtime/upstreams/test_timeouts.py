"""Upstream tasks that do not come forward: how long they are waited for, and what is said of them."""

from __future__ import annotations

from millstream.streams.kernel.task.upstreams import AT_ITS_END, NOT_BEGUN
from millstream.streams.runtime.upstreams.timeouts import UpstreamTimeouts


def timeouts(timeout_ms: int = 1_000) -> UpstreamTimeouts:
    return UpstreamTimeouts("1_0", {"r": 0, "s": 4}, timeout_ms)


def test_one_that_stands_for_so_long_while_others_wait_for_it_is_at_its_end_and_named_once() -> (
    None
):
    waits = timeouts()
    assert waits.judge("r", {0: 50, 1: 90}, 10_000, is_waiting=True) == {0: 50, 1: 90}
    assert waits.judge("r", {0: 50, 1: 95}, 10_999, is_waiting=True) == {0: 50, 1: 95}
    assert waits.take_overdue() == []
    assert waits.judge("r", {0: 50, 1: 99}, 11_000, is_waiting=True) == {0: AT_ITS_END, 1: 99}
    (overdue,) = waits.take_overdue()
    assert overdue.text == (
        "task 1_0 does not wait any longer for task 0_0, which has records to read and has not come forward for 1000 ms "
        "(upstream_timeout_ms=1000): until it moves, records of r go on without its own, which may be late when they come. "
        "See whether that task runs, or give it more time"
    )
    assert waits.judge("r", {0: 50, 1: 99}, 99_000, is_waiting=False) == {0: AT_ITS_END, 1: 99}
    assert waits.take_overdue() == []


def test_one_that_moves_again_is_waited_for_again() -> None:
    waits = timeouts()
    waits.judge("r", {0: 50}, 0, is_waiting=True)
    assert waits.judge("r", {0: 50}, 1_000, is_waiting=True) == {0: AT_ITS_END}
    assert waits.judge("r", {0: 51}, 1_500, is_waiting=True) == {0: 51}
    assert waits.judge("r", {0: 51}, 2_499, is_waiting=True) == {0: 51}
    assert waits.judge("r", {0: 51}, 2_500, is_waiting=True) == {0: AT_ITS_END}
    assert [each.waited_ms for each in waits.take_overdue()] == [1_000, 1_000]


def test_time_in_which_nobody_waits_does_not_count() -> None:
    waits = timeouts()
    waits.judge("r", {0: 50}, 0, is_waiting=True)
    waits.judge("r", {0: 50}, 900, is_waiting=False)
    assert waits.judge("r", {0: 50}, 1_800, is_waiting=True) == {0: 50}
    assert waits.judge("r", {0: 50}, 1_900, is_waiting=True) == {0: AT_ITS_END}


def test_only_the_slowest_are_given_up_and_the_next_have_a_tenth_of_the_time_to_move() -> None:
    """They may have waited for the slowest ones themselves: whoever runs too far ahead does."""
    waits = timeouts()
    standing = {0: 50, 1: 60, 2: 50, 3: NOT_BEGUN}
    waits.judge("r", standing, 0, is_waiting=True)
    assert waits.judge("r", standing, 5_000, is_waiting=True) == {**standing, 3: AT_ITS_END}
    assert waits.judge("r", standing, 5_099, is_waiting=True) == {**standing, 3: AT_ITS_END}
    assert waits.judge("r", standing, 5_100, is_waiting=True) == {
        0: AT_ITS_END,
        1: 60,
        2: AT_ITS_END,
        3: AT_ITS_END,
    }
    found = waits.take_overdue()
    assert [(each.task, each.waited_ms) for each in found] == [
        ("0_3", 5_000),
        ("0_0", 1_000),
        ("0_2", 1_000),
    ]


def test_one_at_its_end_is_never_overdue() -> None:
    waits = timeouts()
    waits.judge("r", {0: AT_ITS_END}, 0, is_waiting=True)
    assert waits.judge("r", {0: AT_ITS_END}, 9_000, is_waiting=True) == {0: AT_ITS_END}
    assert waits.take_overdue() == []


def test_topics_and_tasks_that_have_gone_are_told_apart() -> None:
    waits = timeouts()
    waits.judge("r", {0: 5}, 0, is_waiting=True)
    assert waits.judge("s", {0: 5}, 1_000, is_waiting=True) == {0: 5}
    waits.judge("r", {}, 1_000, is_waiting=True)
    assert waits.judge("r", {0: 5}, 1_500, is_waiting=True) == {0: 5}
    assert waits.judge("s", {0: 5}, 2_000, is_waiting=True) == {0: AT_ITS_END}
    assert [(each.task, each.topic) for each in waits.take_overdue()] == [("4_0", "s")]


def test_without_any_time_nobody_is_waited_for_and_nothing_is_said() -> None:
    waits = timeouts(timeout_ms=0)
    assert waits.judge("r", {0: 5, 1: 9}, 0, is_waiting=True) == {0: AT_ITS_END, 1: 9}
    assert waits.judge("r", {0: 5, 1: 9}, 0, is_waiting=True) == {0: AT_ITS_END, 1: AT_ITS_END}
    assert waits.take_overdue() == []
