"""Splits the partitions of a long request into turns (`broker.long_work`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

ItemT = TypeVar("ItemT")
AT_ONCE: Final = 300
"""As many partitions as a request reads, or answers, in one go."""
PARTITIONS_PER_TURN: Final = 100
"""Of some ten microseconds each."""


def turns_of(partitions: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    """Yields all items at once if they are few, else a part for each turn.

    The caller asks for a turn before each but the first.
    """
    if len(partitions) <= AT_ONCE:
        yield partitions
        return
    for begin in range(0, len(partitions), PARTITIONS_PER_TURN):
        yield partitions[begin : begin + PARTITIONS_PER_TURN]
