"""Gives turns to payers, one at a time and in rotation: many requests of one never keep another waiting long."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class PayerTurns:
    """The turns of payers on one event loop.

    A call waits for at most one turn of each other payer, and for its own payer's before.
    """

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def of(self, payer: str) -> AsyncIterator[None]:
        await self._take(payer)
        try:
            yield
        finally:
            self._give_on()

    async def _take(self, payer: str) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        mine = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(payer, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # it was my turn already
                self._give_on()
            raise

    def _give_on(self) -> None:
        """Gives the turn to the next payer; those that have given up meanwhile are passed over."""
        while self._waiting:
            payer, line = self._waiting.popitem(last=False)
            while line:
                first = line.popleft()
                if not first.done():
                    if line:
                        self._waiting[payer] = line  # behind the others
                    first.set_result(None)
                    return
        self._is_taken = False
