"""Long loops of handlers that cannot be cut into parts give way to others now and then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

ItemT = TypeVar("ItemT")
_ITEMS_PER_TURN: Final = 1_000
"""Of a few microseconds each."""


async def in_turns(items: Iterable[ItemT]) -> AsyncIterator[ItemT]:
    """The items. What they are taken from must stay as it is meanwhile: requests and images do."""
    for number, item in enumerate(items, 1):
        yield item
        if number % _ITEMS_PER_TURN == 0:
            await asyncio.sleep(0)
