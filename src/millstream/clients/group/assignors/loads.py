"""Counts the partitions of each member, and finds the member with the fewest."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping

_FEW = 32
"""Up to so many takers are compared one by one; of more, one is met soon among those who have least."""


class Loads:
    """Numbers of partitions by member, in order; members with equally many by id."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)
        self._ordered = sorted((count, member) for member, count in counts.items())

    def __getitem__(self, member: str) -> int:
        return self._counts[member]

    def __contains__(self, member: object) -> bool:
        return member in self._counts

    def __iter__(self) -> Iterator[str]:
        """From the least loaded on."""
        return (member for _, member in self._ordered)

    def add(self, member: str, more: int) -> None:
        count = self._counts[member]
        del self._ordered[bisect_left(self._ordered, (count, member))]
        insort(self._ordered, (count + more, member))
        self._counts[member] = count + more

    def remove(self, member: str) -> None:
        count = self._counts.pop(member)
        del self._ordered[bisect_left(self._ordered, (count, member))]

    def least(self, takers: Collection[str]) -> str | None:
        """Returns the least loaded of `takers` that are counted here."""
        if len(takers) <= _FEW:
            counted = (member for member in takers if member in self._counts)
            return min(counted, key=lambda member: (self._counts[member], member), default=None)
        return next((member for member in self if member in takers), None)

    def imbalance(self) -> int:
        """Returns the sum of differences over all pairs of members; 0 is perfectly even."""
        size = len(self._ordered)
        return sum(count * (2 * rank - size + 1) for rank, (count, _) in enumerate(self._ordered))
