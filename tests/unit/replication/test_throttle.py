"""Rates over windows as Kafka measures them, and what a throttle lets through."""

from __future__ import annotations

import pytest

from millstream.model import BrokerId, TopicPartition
from millstream.quota.rate import QuotaWindows, Rate
from millstream.replication.throttle import CatchUpPace, ReplicationThrottle

T0 = TopicPartition("t", 0)
MB = 1_000_000


def throttle(limit: int | None) -> ReplicationThrottle:
    made = ReplicationThrottle(BrokerId(1), QuotaWindows())
    made.bytes_per_second = limit
    return made


def test_a_rate_is_that_of_the_time_since_the_first_sample_one_window_at_least() -> None:
    rate = Rate(QuotaWindows(3, 1000), is_simple=True)
    rate.record(100, 0)
    assert rate.per_second(10) == 100
    rate.record(100, 500)
    assert rate.per_second(2000) == 100
    rate.record(300, 2000)
    assert rate.per_second(2500) == 200


def test_samples_are_forgotten_with_their_window() -> None:
    rate = Rate(QuotaWindows(3, 1000), is_simple=True)
    rate.record(100, 0)
    rate.record(50, 1000)
    assert rate.per_second(2999) == pytest.approx(150 / 2.999)
    assert rate.per_second(3000) == 25
    assert rate.per_second(9000) == 0


def test_how_long_it_takes_to_get_below_a_limit() -> None:
    rate = Rate(QuotaWindows(), is_simple=True)
    rate.record(5000, 0)
    wait_ms = rate.ms_until(1000, 500)
    assert wait_ms == 4500
    assert rate.per_second(500 + int(wait_ms)) == 1000


@pytest.mark.parametrize(
    ("replicas", "covered"),
    [
        ((), False),
        (("*",), True),
        (("0:1",), True),
        (("0:2", "1:1"), False),
        (("1:2", "0:1"), True),
    ],
)
def test_which_replicas_are_throttled(replicas: tuple[str, ...], covered: bool) -> None:
    assert throttle(1).covers(replicas, T0) is covered


def test_without_a_limit_nobody_waits() -> None:
    free = throttle(None)
    free.record(10**12, 0)
    assert not free.is_exceeded(0)
    assert free.wait_ms(0, 1000) == 0


def test_a_limit_of_nothing_lets_nothing_through_once_something_went() -> None:
    closed = throttle(0)
    closed.record(1, 0)
    assert closed.is_exceeded(0)
    assert closed.wait_ms(0, 1000) == 1000


@pytest.mark.parametrize("chunk", [100_000, MB, 10 * MB])
@pytest.mark.parametrize("limit", [5 * MB, 20 * MB])
def test_two_hundred_megabytes_take_as_long_as_the_limit_says(chunk: int, limit: int) -> None:
    """Whoever may send asks every 5 ms, and sends a whole answer."""
    held = throttle(limit)
    sent, now_ms = 0, 0
    while sent < 200 * MB:
        if not held.is_exceeded(now_ms):
            held.record(chunk, now_ms)
            sent += chunk
        now_ms += 5
    assert sent * 1000 / now_ms == pytest.approx(limit, rel=0.15)


def pace(bytes_per_second: int, *lags: int) -> CatchUpPace:
    """The pace of who lacks so many records each time that somebody looks."""
    told = iter(lags)
    return CatchUpPace(lambda: bytes_per_second, lambda: next(told))


def waited_ms(made: CatchUpPace, byte_count: int, now_ms: int) -> float:
    made.record(byte_count)
    return made.wait_ms(now_ms)


def test_catching_up_takes_its_time_after_each_answer() -> None:
    made = pace(10 * MB, 9)
    assert made.wait_ms(1_000) == 0
    assert waited_ms(made, 2 * MB, 1_000) == 150, "50 ms late is as good as in time"
    assert waited_ms(made, MB, 1_150) == 100
    assert waited_ms(made, MB, 1_270) == 80, "the timer was late by 20 ms"
    assert made.wait_ms(1_300) == 50, "what is left, asked again"


def test_an_idle_time_is_not_made_up_for() -> None:
    made = pace(10 * MB, 9, 8)
    made.wait_ms(900)
    waited_ms(made, MB, 1_000)
    assert made.wait_ms(60_000) == 0
    assert waited_ms(made, MB, 60_000) == 50


def test_another_bound_counts_for_what_has_come_already() -> None:
    rates = iter([MB, MB, 10 * MB])
    made = CatchUpPace(lambda: next(rates), lambda: 9)
    made.wait_ms(1_000)
    assert waited_ms(made, 10 * MB, 1_000) == 9_950
    assert made.wait_ms(1_500) == 495


def test_who_gets_no_nearer_goes_as_fast_as_it_can() -> None:
    made = pace(10 * MB, 9, 9, 5, 6)
    assert waited_ms(made, 20 * MB, 1_000) == 1_000
    assert waited_ms(made, 20 * MB, 2_000) == 0
    assert waited_ms(made, 20 * MB, 2_500) == 0
    assert waited_ms(made, 20 * MB, 3_000) == 1_500, "it is nearer than a second ago"
    assert waited_ms(made, 20 * MB, 4_000) == 0


def test_who_waits_for_long_between_two_answers_is_not_taken_for_one_that_gets_no_nearer() -> None:
    made = pace(MB // 10, 9, 8)
    assert waited_ms(made, MB, 1_000) == 9_000
    assert made.wait_ms(3_000) == 7_000


def test_who_fell_back_at_this_pace_first_makes_up_for_all_of_it() -> None:
    made = pace(10 * MB, 9, 14, 10, 8)
    assert waited_ms(made, 20 * MB, 1_000) == 1_000
    assert waited_ms(made, 20 * MB, 2_000) == 0
    assert waited_ms(made, 20 * MB, 3_000) == 0, "nearer than a second ago, not than at first"
    assert waited_ms(made, 20 * MB, 4_000) == 1_000


def test_others_that_lag_too_are_no_reason_to_hurry() -> None:
    made = pace(10 * MB, 0, 900)
    assert waited_ms(made, 20 * MB, 1_000) == 1_000
    made.begin()
    assert waited_ms(made, 20 * MB, 2_000) == 2_000


def test_no_bound_waits_for_nothing() -> None:
    assert waited_ms(pace(0, 9), 1_000 * MB, 1_000) == 0
