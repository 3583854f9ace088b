"""Turns of all that works long on the event loop: parts of long requests, shards with much to do, walks over thousands of partitions.

Whoever has worked for a millisecond asks for its next turn. Each round of the loop has one such turn, for who asked first, so a round
is no longer with a hundred of them than with one. A round is all callbacks that were ready when it began, which is what everybody
else waits for.

Who begins need not ask: short work never waits for long work. It has a millisecond as well, but only as long as the round is young;
then just enough for a few elements. (Connections with many requests have turns of their own, `net.server.turns`: however many of them
there are, they take no turn from long work, nor it from them.)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final, TypeVar, final

ItemT = TypeVar("ItemT")
TURN_S: Final = 0.001
YOUNG_S: Final = 0.002
"""So long after the first of a round has begun, others may begin with a whole turn."""
SHORT_TURN_S: Final = 0.0001


@final
class LongWork:
    """Belongs to one event loop."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        """`now_s` is a clock that only goes forward, finer than a millisecond."""
        self.now_s: Final = now_s
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_given = False
        """Somebody has the turn of the next round."""
        self._began_s: float | None = None
        """When the first long work of this round began."""
        self._is_called = False

    def begin(self) -> float:
        """Returns until when whoever begins now may work before it asks for a turn."""
        now_s = self.now_s()
        if self._began_s is None:
            self._began_s = now_s
            self._call()
        return now_s + (TURN_S if now_s < self._began_s + YOUNG_S else SHORT_TURN_S)

    async def next_turn(self) -> float:
        """Returns when it is the caller's turn, in the next round unless others wait, with the time when the turn ends."""
        if self._is_given:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        else:
            self._is_given = True
            self._call()
            await asyncio.sleep(0)
        return self.now_s() + TURN_S

    async def in_turns(self, items: Iterable[ItemT]) -> AsyncIterator[ItemT]:
        """The items; others have their turn whenever what is done with them has taken as long as a turn.

        What they are taken from must stay as it is meanwhile: requests and images do.
        """
        end_s = self.begin()
        for item in items:
            if self.now_s() >= end_s:
                end_s = await self.next_turn()
            yield item

    def _call(self) -> None:
        if not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._begin_round)

    def _begin_round(self) -> None:
        """Whoever was given the turn of this round runs in it; the next one is woken for the next round."""
        self._is_called = False
        self._began_s = self.now_s() if self._is_given else None
        self._is_given = self._wake_next()
        if self._is_given or self._began_s is not None:
            self._call()

    def _wake_next(self) -> bool:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # else its task was cancelled
                turn.set_result(None)
                return True
        return False
