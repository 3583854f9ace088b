"""Times by size class: sums are exact, quantiles are off by an eighth at most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.broker.metrics.time_distribution import TimeDistribution

DURATIONS = st.lists(st.integers(0, 10**9), min_size=1, max_size=60)


def of(*durations_us: int) -> TimeDistribution:
    times = TimeDistribution()
    for duration_us in durations_us:
        times.observe(duration_us)
    return times


def test_nothing_observed_is_nothing() -> None:
    times = of()
    assert (times.count, times.sum_us, times.quantile_us(0.99)) == (0, 0, 0.0)


def test_small_durations_are_exact() -> None:
    assert [of(us).quantile_us(0.5) for us in range(16)] == list(range(16))


def test_the_longest_duration_has_a_class() -> None:
    times = of(1 << 60)
    assert times.count == 1
    assert times.quantile_us(1.0) == (1 << 40) - 1


def test_counts_up_to_limits_add_up() -> None:
    assert of(5, 7, 100, 2_000).counts_up_to([5, 10, 1_000, 10_000]) == [1, 2, 3, 4]


def test_a_share_of_the_count_is_not_rounded_up_to_the_next_observation() -> None:
    times = of(*[0] * 7, *[2] * 18)
    assert times.quantile_us(7 / 25) == 0  # 7 / 25 * 25 > 7


@given(DURATIONS, DURATIONS)
def test_two_merged_are_as_if_all_had_been_observed_in_one(
    one: list[int], other: list[int]
) -> None:
    both, merged = of(*one, *other), of(*one).merged(of(*other))
    assert (merged.count, merged.sum_us) == (both.count, both.sum_us)
    assert [merged.quantile_us(q) for q in (0.1, 0.5, 1.0)] == [
        both.quantile_us(q) for q in (0.1, 0.5, 1.0)
    ]


@given(DURATIONS)
def test_sums_are_exact(durations_us: list[int]) -> None:
    times = of(*durations_us)
    assert (times.count, times.sum_us) == (len(durations_us), sum(durations_us))


@given(DURATIONS, st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_not_below_the_true_one_and_an_eighth_above_at_most(
    durations_us: list[int], quantile: float
) -> None:
    rank = max(1, -(-int(quantile * len(durations_us) * 100) // 100))
    true_us = sorted(durations_us)[rank - 1]
    told_us = of(*durations_us).quantile_us(rank / len(durations_us))
    assert true_us <= told_us <= true_us * 1.125 + 1
