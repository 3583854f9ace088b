"""Distributions of times: counts by size class, from which sums, quantiles and histograms are read.

Observing costs a few operations and keeps nothing of the observation itself. A size class is an eighth of a power of
two of microseconds wide, so that a quantile is off by an eighth at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Final

_BITS_MAX: Final = 40
_LONGEST_US: Final = (1 << _BITS_MAX) - 1
"""Twelve days."""
_CLASSES: Final = (_BITS_MAX - 2) * 8
_ROUNDING: Final = 1e-6
"""Of an observation: 7 / 25 of 25 observations are a little more than 7 in floating point."""


class TimeDistribution:
    __slots__ = ("_classes", "count", "sum_us")

    def __init__(self) -> None:
        self.count = 0
        self.sum_us = 0
        self._classes = [0] * _CLASSES

    def observe(self, duration_us: int) -> None:
        """Adds an observation; `duration_us` is not negative."""
        self.count += 1
        self.sum_us += duration_us
        bits = duration_us.bit_length()
        if bits < 4:
            self._classes[duration_us] += 1
        elif bits <= _BITS_MAX:
            self._classes[((bits - 3) << 3) | ((duration_us >> (bits - 4)) & 7)] += 1
        else:
            self._classes[-1] += 1

    def merged(self, other: TimeDistribution) -> TimeDistribution:
        """Returns a new distribution with all observations of both."""
        both = TimeDistribution()
        both.count = self.count + other.count
        both.sum_us = self.sum_us + other.sum_us
        both._classes = list(map(add, self._classes, other._classes))
        return both

    def quantile_us(self, quantile: float) -> float:
        """Returns a duration that this share of all observations does not exceed; 0 when there are none."""
        rank = quantile * self.count - _ROUNDING
        seen = 0
        for index, number in enumerate(self._classes):
            seen += number
            if number and seen >= rank:
                return _upper_us(index)
        return 0.0

    def counts_up_to(self, limits_us: Sequence[int]) -> list[int]:
        """Returns the number of observations up to each of the ascending limits, to the precision
        of the size classes.
        """
        counts = []
        index = seen = 0
        for limit_us in limits_us:
            while index < _CLASSES and _upper_us(index) <= limit_us:
                seen += self._classes[index]
                index += 1
            counts.append(seen)
        return counts


def _upper_us(index: int) -> int:
    """The largest duration of a size class."""
    if index < 8:
        return index
    bits = (index >> 3) + 3
    return ((8 | (index & 7)) + 1 << (bits - 4)) - 1
