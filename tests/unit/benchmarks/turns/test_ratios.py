"""Speed in turns: what rounds say of a row."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from benchmarks.turns.ratios import (
    Figures,
    Interval,
    Round,
    Slice,
    Verdict,
    interval,
    judge,
    unit_cost,
)

ROUNDS_MAX = 12


def round_of(*costs: tuple[float, float]) -> Round:
    """Slices of ten units, base and new, by what a unit takes."""
    return Round(
        tuple(Slice(10, 10 * base) for base, _ in costs),
        tuple(Slice(10, 10 * new) for _, new in costs),
    )


def test_a_unit_costs_its_share_of_a_slice() -> None:
    assert unit_cost(Slice(units=200, cpu_s=0.5)) == 0.0025


def test_the_ratio_of_a_round_is_that_of_neighbours_and_one_disturbed_slice_does_not_count() -> (
    None
):
    drifting = round_of((1.0, 1.1), (2.0, 2.2), (3.0, 3.3))
    disturbed = round_of((1.0, 1.1), (1.0, 9.0), (1.0, 1.1))
    assert drifting.ratio == pytest.approx(1.1)
    assert disturbed.ratio == pytest.approx(1.1)


def test_a_side_that_measured_fewer_slices_is_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        _ = Round((Slice(1, 1.0), Slice(1, 1.0)), (Slice(1, 1.0),)).ratio


def test_the_interval_is_students_around_the_mean_of_logarithms() -> None:
    assert interval([1.00, 1.02, 1.04]) == pytest.approx((0.9115, 1.1412), abs=0.0001)


def test_one_round_says_nothing() -> None:
    assert interval([1.0]) == Interval(0.0, math.inf)
    assert judge([9.0]) is Verdict.UNDECIDED


@pytest.mark.parametrize("rounds", [3, ROUNDS_MAX, 30])
def test_the_interval_holds_the_truth_in_99_of_100_comparisons(rounds: int) -> None:
    chance = random.Random(rounds)
    held = 0
    for _ in range(4_000):
        low, high = interval([math.exp(chance.gauss(0.0, 0.02)) for _ in range(rounds)])
        held += low <= 1.0 <= high
    assert 3_935 <= held <= 3_985


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([1.08, 1.08], Verdict.UNDECIDED),  # too few
        ([1.079, 1.080, 1.081], Verdict.WORSE),
        ([1.05, 1.08, 1.11], Verdict.UNDECIDED),  # 0.92 to 1.27: may be noise
        ([1.05, 1.08, 1.11, 1.06], Verdict.UNDECIDED),  # no noise at 99 %, and not at 99.9
        ([1.05, 1.08, 1.11, 1.06, 1.10, 1.08], Verdict.WORSE),
        ([1.029, 1.030, 1.031], Verdict.WITHIN),  # slower, by less than is tolerated
        ([1.03, 1.05, 1.04], Verdict.UNDECIDED),  # 0.98 to 1.10: may be more
        ([0.999, 1.000, 1.001], Verdict.WITHIN),
        ([0.98, 1.00, 1.02], Verdict.UNDECIDED),
        ([0.98, 1.00, 1.02, 0.99, 1.01], Verdict.WITHIN),
        ([0.969, 0.970, 0.971], Verdict.WITHIN),
        ([0.919, 0.920, 0.921], Verdict.BETTER),
        ([0.80, 0.92, 1.06], Verdict.UNDECIDED),
    ],
)
def test_a_verdict_needs_a_difference_that_counts_and_is_no_noise(
    ratios: list[float], verdict: Verdict
) -> None:
    assert judge(ratios) is verdict


def share_of(verdict: Verdict, comparisons: int, ratio: Callable[[], float]) -> float:
    """Of comparisons that take rounds until they are decided."""
    count = 0
    for _ in range(comparisons):
        ratios: list[float] = []
        while len(ratios) < ROUNDS_MAX and judge(ratios) is Verdict.UNDECIDED:
            ratios.append(ratio())
        count += judge(ratios) is verdict
    return count / comparisons


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.1])
def test_looking_after_each_round_finds_fewer_than_four_in_a_thousand_equals_worse(
    noise: float,
) -> None:
    chance = random.Random(1)

    def ratio() -> float:
        tail = 3.0 if chance.random() < 0.1 else 1.0  # one round in ten is disturbed
        return math.exp(chance.gauss(0.0, noise * tail))

    assert share_of(Verdict.WORSE, 1_000, ratio) < 0.004


def test_a_slowdown_of_8_in_100_is_noticed_through_noise_of_2_in_100() -> None:
    chance = random.Random(1)
    found = share_of(Verdict.WORSE, 300, lambda: 1.08 * math.exp(chance.gauss(0.0, 0.02)))
    missed = share_of(Verdict.WITHIN, 300, lambda: 1.08 * math.exp(chance.gauss(0.0, 0.02)))
    assert found > 0.97
    assert missed < 0.02


def test_the_figures_of_a_row_are_of_all_its_rounds() -> None:
    figures = Figures([round_of((1.0, 1.1)), round_of((2.0, 2.2)), round_of((4.0, 4.4))])
    assert figures.base_cost_s == 2.0
    assert figures.new_cost_s == pytest.approx(2.2)
    assert figures.ratio == pytest.approx(1.1)
    assert figures.interval == pytest.approx((1.1, 1.1))
    assert figures.verdict is Verdict.WORSE


def test_a_row_that_failed_once_has_failed_whatever_its_other_rounds_say() -> None:
    figures = Figures([round_of((1.0, 1.0))] * 3, failure="base: no such module")
    assert figures.verdict is Verdict.FAILED
