"""Long loops of handlers whose requests cannot be cut into parts give way to others now and then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Final, TypeVar

ItemT = TypeVar("ItemT")
_ITEMS_PER_TURN: Final = 1_000
"""Of about a microsecond each."""
AT_ONCE: Final = 300
"""As many partitions as a request reads, or answers, in one go."""
PARTITIONS_PER_TURN: Final = 100
"""Of some ten microseconds each."""


async def in_turns(items: Iterable[ItemT], per_turn: int = _ITEMS_PER_TURN) -> AsyncIterator[ItemT]:
    """The items. What they are taken from must stay as it is meanwhile: requests and images do."""
    for number, item in enumerate(items, 1):
        yield item
        if number % per_turn == 0:
            await asyncio.sleep(0)


def turns_of(partitions: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    """All of them if they are few. Else a part for each turn: the caller gives way between two."""
    if len(partitions) <= AT_ONCE:
        yield partitions
        return
    for begin in range(0, len(partitions), PARTITIONS_PER_TURN):
        yield partitions[begin : begin + PARTITIONS_PER_TURN]
