from __future__ import annotations

from millstream.coordinator.timers import TimerQueue


def test_timers_fire_in_order_of_deadline_and_only_when_due() -> None:
    timers = TimerQueue()
    timers.start("late", 20)
    timers.start("early", 10)
    assert timers.next_deadline_ms() == 10
    assert timers.pop_due(9) is None
    assert timers.pop_due(30) == "early"
    assert timers.pop_due(30) == "late"
    assert timers.pop_due(30) is None


def test_starting_a_running_timer_moves_it_later() -> None:
    timers = TimerQueue()
    timers.start("a", 10)
    timers.start("a", 30)
    assert timers.pop_due(20) is None
    assert timers.next_deadline_ms() == 30
    assert timers.pop_due(30) == "a"
    assert timers.pop_due(30) is None


def test_starting_a_running_timer_moves_it_earlier() -> None:
    timers = TimerQueue()
    timers.start("a", 30)
    timers.start("a", 10)
    assert timers.pop_due(10) == "a"
    assert timers.pop_due(30) is None


def test_a_cancelled_timer_does_not_fire_and_can_start_again() -> None:
    timers = TimerQueue()
    timers.start("a", 10)
    timers.cancel("a")
    timers.cancel("never started")
    assert timers.next_deadline_ms() is None
    timers.start("a", 20)
    assert timers.pop_due(20) == "a"


def test_ties_fire_in_order_of_starting() -> None:
    timers = TimerQueue()
    for name in "cab":
        timers.start(name, 5)
    assert [timers.pop_due(5) for _ in range(3)] == ["c", "a", "b"]


def test_a_timer_that_is_moved_ten_thousand_times_takes_one_place_in_the_heap() -> None:
    timers = TimerQueue()
    for deadline in range(10_000):
        timers.start("a", deadline)
    assert len(timers._heap) == 1
    assert timers.next_deadline_ms() == 9_999
