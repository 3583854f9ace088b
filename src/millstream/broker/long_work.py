"""Gives turns to all long work on the event loop: parts of long requests, shards with much to do,
walks over many partitions.

Work that has run for a millisecond asks for its next turn. Each round of the loop has one such turn, for what asked
first, so a round is no longer with a hundred of them than with one. A round is all callbacks that were ready when it
began, which is what everybody else waits for.

Who begins does not queue: short work never waits for long work. It begins at once, or, when others have begun in this
round for a while, in one of the next. (Connections with many requests have turns of their own, `net.server.turns`:
however many of them there are, they take no turn from long work, nor it from them.)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final, TypeVar, final

ItemT = TypeVar("ItemT")
TURN_S: Final = 0.001
BEGINNING_S: Final = 0.002
"""So long after the first has begun others may begin in the same round."""


@final
class LongWork:
    """The turns of long work on one event loop."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        """`now_s` is a clock that only goes forward, finer than a millisecond."""
        self.now_s: Final = now_s
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._beginning: deque[asyncio.Future[None]] = deque()
        self._is_given = False
        """Whether the turn of the next round is given."""
        self._began_s: float | None = None
        """When the first of this round began."""
        self._is_called = False

    async def begin(self) -> float:
        """Returns when the caller may begin, nearly always at once, with the time until which it may work
        before it asks for a turn.
        """
        while (now_s := self.now_s()) >= self._first_began(now_s) + BEGINNING_S:
            await self._wait_in(self._beginning)
        return now_s + TURN_S

    async def next_turn(self) -> float:
        """Waits for the caller's turn, in the next round unless others wait, and returns the time
        when the turn ends.
        """
        if self._is_given:
            await self._wait_in(self._waiting)
        else:
            self._is_given = True
            self._call()
            await asyncio.sleep(0)
        return self.now_s() + TURN_S

    async def in_turns(self, items: Iterable[ItemT]) -> AsyncIterator[ItemT]:
        """Yields the items; other work has its turn whenever the caller's work with them has taken as long as a turn.

        What they are taken from must stay as it is meanwhile: requests and images do.
        """
        end_s = await self.begin()
        for item in items:
            if self.now_s() >= end_s:
                end_s = await self.next_turn()
            yield item

    def _first_began(self, now_s: float) -> float:
        if self._began_s is None:
            self._began_s = now_s
            self._call()
        return self._began_s

    def _call(self) -> None:
        if not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._begin_round)

    async def _wait_in(self, queue: deque[asyncio.Future[None]]) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(woken)
        await woken

    def _begin_round(self) -> None:
        """Begins a round, with the work that was given its turn.

        The next in line is woken for the next round, and all that would begin.
        """
        self._is_called = False
        self._began_s = None
        if self._waiting or self._beginning:
            self._call()  # before those who are woken run
        self._is_given = _wake_first(self._waiting)
        while _wake_first(self._beginning):
            pass


def _wake_first(queue: deque[asyncio.Future[None]]) -> bool:
    """Wakes the first that still waits. Returns False when none does."""
    while queue:
        woken = queue.popleft()
        if not woken.done():  # else its task was cancelled
            woken.set_result(None)
            return True
    return False
