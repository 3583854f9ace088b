"""The global stores of a process are brought up to date for several tasks at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TextIO, cast

import pytest

from millstream.errors import CoordinatorNotAvailable
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.global_task import GlobalTask


class Topic:
    """Stands for the task that fills a store. A round sees what stands in the topic when it begins, and ends when the
    test says so.
    """

    def __init__(self) -> None:
        self.end = 0
        self.store = 0
        self.rounds: list[asyncio.Future[None]] = []

    async def catch_up(self) -> int:
        seen = self.end
        self.rounds.append(asyncio.get_running_loop().create_future())
        await self.rounds[-1]
        self.store = seen
        return 0


class Callers:
    """The first has begun a round before there were seven records, the others have asked after that."""

    def __init__(self) -> None:
        self.topic = Topic()
        stores = GlobalStores(Path(), cast("TextIO", None))
        stores._tasks.append(cast("GlobalTask", self.topic))
        self._stores = stores

    async def ask(self, others: int) -> list[asyncio.Task[None]]:
        first = asyncio.ensure_future(self._stores.catch_up())
        await _begun()
        self.topic.end = 7
        asked = [asyncio.ensure_future(self._stores.catch_up()) for _ in range(others)]
        await _begun()
        self.topic.rounds[0].set_result(None)
        await first
        await _begun()
        return asked


async def _begun() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_callers_that_wait_share_one_round_which_began_after_they_asked() -> None:
    callers = Callers()
    asked = await callers.ask(3)
    callers.topic.rounds[1].set_result(None)
    await asyncio.gather(*asked)
    assert (callers.topic.store, len(callers.topic.rounds)) == (7, 2)


async def test_a_round_that_has_failed_is_not_shared() -> None:
    callers = Callers()
    second, third = await callers.ask(2)
    callers.topic.rounds[1].set_exception(CoordinatorNotAvailable("it moves"))
    with pytest.raises(CoordinatorNotAvailable):
        await second
    await _begun()
    assert not third.done(), "it would go on with what stood there before it asked"
    callers.topic.rounds[2].set_result(None)
    await third
    assert callers.topic.store == 7


async def test_nor_is_one_whose_caller_was_cancelled() -> None:
    callers = Callers()
    second, third = await callers.ask(2)
    second.cancel()
    await _begun()
    assert not third.done(), "it would go on with what stood there before it asked"
    callers.topic.rounds[2].set_result(None)
    await third
    assert callers.topic.store == 7
