"""Long loops of handlers whose requests cannot be cut into parts give way to others now and then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

ItemT = TypeVar("ItemT")
TURN_S: Final = 0.001
AT_ONCE: Final = 300
"""As many partitions as a request reads, or answers, in one go."""
PARTITIONS_PER_TURN: Final = 100
"""Of some ten microseconds each."""


async def in_turns(
    items: Iterable[ItemT], now_s: Callable[[], float] = time.perf_counter
) -> AsyncIterator[ItemT]:
    """The items; others have their turn whenever what is done with them has taken a millisecond.

    What they are taken from must stay as it is meanwhile: requests and images do.
    """
    end_s = now_s() + TURN_S
    for item in items:
        yield item
        if now_s() >= end_s:
            await asyncio.sleep(0)
            end_s = now_s() + TURN_S


def turns_of(partitions: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    """All of them if they are few. Else a part for each turn: the caller gives way between two."""
    if len(partitions) <= AT_ONCE:
        yield partitions
        return
    for begin in range(0, len(partitions), PARTITIONS_PER_TURN):
        yield partitions[begin : begin + PARTITIONS_PER_TURN]
