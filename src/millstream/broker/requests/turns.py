"""How many partitions a request is about before it takes turns for them (`node.long_work`), and how many it handles in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

ItemT = TypeVar("ItemT")
AT_ONCE: Final = 300
"""As many partitions as a request reads, or answers, in one go."""
PARTITIONS_PER_TURN: Final = 100
"""Of some ten microseconds each."""


def turns_of(partitions: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    """All of them if they are few. Else a part for each turn: the caller asks for one before each but the first."""
    if len(partitions) <= AT_ONCE:
        yield partitions
        return
    for begin in range(0, len(partitions), PARTITIONS_PER_TURN):
        yield partitions[begin : begin + PARTITIONS_PER_TURN]
