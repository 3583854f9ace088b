"""What sensors remember of the last minute."""

from __future__ import annotations

from millstream.broker.metrics.recent_values import RecentValues


def test_nothing_is_zero() -> None:
    values = RecentValues()
    assert (values.average(0), values.maximum(0), values.per_second(0)) == (0, 0, 0)


def test_two_windows_count_and_the_one_before_them_does_not() -> None:
    values = RecentValues()
    values.observe(10, 0)
    values.observe(30, 31_000)
    assert (values.average(40_000), values.maximum(40_000)) == (20, 30)
    assert (values.average(61_000), values.maximum(61_000)) == (30, 30)
    assert values.average(95_000) == 0


def test_a_rate_is_over_one_window_at_least() -> None:
    values = RecentValues()
    values.observe(30, 1_000)
    assert values.per_second(1_000) == 1
    values.observe(30, 31_000)
    assert values.per_second(41_000) == 1.5
