"""What the rounds of a row say: a ratio of processor time, the interval it lies in, and a verdict.

A slice is one measurement of some units of work, in processor seconds. A round is a fresh pair of processes, base and new, which
measure slices in turns; its ratio is the median of the ratios of neighbouring slices, so that a disturbance of one slice does
not count. What differs between two starts of the same code (addresses, the order of hashes, the state of the disk) differs
between rounds too, so rounds, not slices, are what the interval is made of: the mean of the logarithms of their ratios, and
Student's interval around it.

A row is worse or better when the ratio is further from 1 than is tolerated and its interval at 99.9 % leaves 1 out: the verdict
is looked at after each round and for thirty rows, and an alarm without a cause in every third run would soon be heard by nobody.
It is within what is tolerated when its interval at 99 % ends below that. Otherwise it is not decided.

Knows nothing of processes or of text.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

TOLERATED: Final = 1.05
"""A row may cost so many times what it cost in the base."""
ROUNDS_MIN: Final = 3
"""Of two rounds Student's interval is 45 times as wide as they differ."""

# Quantiles of Student's distribution, two-sided, by degrees of freedom from 1 (any table of it). Beyond them the last one holds,
# which is a little wider than right.
_AT_99: Final = (
    63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
    3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
)  # fmt: skip
_AT_99_9: Final = (
    636.6, 31.60, 12.92, 8.610, 6.869, 5.959, 5.408, 5.041, 4.781, 4.587,
    4.437, 4.318, 4.221, 4.140, 4.073, 4.015, 3.965, 3.922, 3.883, 3.850,
)  # fmt: skip


class Slice(NamedTuple):
    """So many units of work took so much processor time."""

    units: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Round:
    """The slices of one pair of processes, the first of base beside the first of new."""

    base: tuple[Slice, ...]
    new: tuple[Slice, ...]

    @property
    def ratio(self) -> float:
        """Processor time for a unit: new over base."""
        pairs = zip(self.base, self.new, strict=True)
        return statistics.median(unit_cost(new) / unit_cost(base) for base, new in pairs)


class Interval(NamedTuple):
    low: float
    high: float


class Verdict(StrEnum):
    WORSE = "WORSE"
    BETTER = "better"
    WITHIN = "within 5 %"
    UNDECIDED = "not decided"
    FAILED = "FAILED"


@dataclass(slots=True)
class Figures:
    """What is known of a row so far. `failure`: why a round of it could not be measured."""

    rounds: list[Round] = field(default_factory=list)
    failure: str = ""

    @property
    def base_cost_s(self) -> float:
        """Processor seconds for a unit."""
        return statistics.median(unit_cost(each) for round_ in self.rounds for each in round_.base)

    @property
    def new_cost_s(self) -> float:
        return statistics.median(unit_cost(each) for round_ in self.rounds for each in round_.new)

    @property
    def ratio(self) -> float:
        return math.exp(statistics.fmean(math.log(each.ratio) for each in self.rounds))

    @property
    def interval(self) -> Interval:
        return interval([each.ratio for each in self.rounds])

    @property
    def verdict(self) -> Verdict:
        if self.failure:
            return Verdict.FAILED
        return judge([each.ratio for each in self.rounds])


def unit_cost(slice_: Slice) -> float:
    return slice_.cpu_s / slice_.units


def interval(ratios: Sequence[float], quantiles: Sequence[float] = _AT_99) -> Interval:
    """Where the ratio lies, at 99 %; anywhere while there are fewer than two rounds."""
    if len(ratios) < 2:
        return Interval(0.0, math.inf)
    logarithms = [math.log(each) for each in ratios]
    quantile = quantiles[min(len(logarithms) - 2, len(quantiles) - 1)]
    half = quantile * statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    middle = statistics.fmean(logarithms)
    return Interval(math.exp(middle - half), math.exp(middle + half))


def judge(ratios: Sequence[float]) -> Verdict:
    if len(ratios) < ROUNDS_MIN:
        return Verdict.UNDECIDED
    ratio = math.exp(statistics.fmean(map(math.log, ratios)))
    surely = interval(ratios, _AT_99_9)
    if ratio > TOLERATED and surely.low > 1:
        return Verdict.WORSE
    if ratio < 1 / TOLERATED and surely.high < 1:
        return Verdict.BETTER
    return Verdict.WITHIN if interval(ratios).high <= TOLERATED else Verdict.UNDECIDED
