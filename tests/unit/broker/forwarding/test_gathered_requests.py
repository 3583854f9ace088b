"""What many ask of another broker: one request in flight, and what is asked meanwhile together in the next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from millstream.broker.forwarding import gathered_requests
from millstream.broker.forwarding.gathered_requests import GatheredRequests
from millstream.errors import NetworkException
from millstream.model import BrokerId

ONE, TWO = BrokerId(1), BrokerId(2)


class World:
    """Brokers that answer `item` with `item` in capitals, when the test lets them."""

    def __init__(self) -> None:
        self.asked: list[tuple[BrokerId, list[str]]] = []
        self.may_answer = asyncio.Semaphore(0)
        self.error: NetworkException | None = None
        self.tasks = asyncio.TaskGroup()
        me: Any = self  # Any: starts tasks
        self.requests: GatheredRequests[str, str] = GatheredRequests(
            self._send, lambda item: item[0], me, "tests"
        )

    def start(self, work: Any, _name: str) -> None:
        self.tasks.create_task(work)

    async def _send(self, broker_id: BrokerId, items: Sequence[str]) -> Sequence[str]:
        self.asked.append((broker_id, list(items)))
        await self.may_answer.acquire()
        if self.error is not None:
            raise self.error
        return [item.upper() for item in items]

    def ask(self, item: str, broker_id: BrokerId = ONE) -> asyncio.Task[str]:
        return asyncio.create_task(self.requests.ask(broker_id, item))


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_what_is_asked_meanwhile_goes_together_and_no_broker_waits_for_another() -> None:
    world = World()
    async with world.tasks:
        answers = [world.ask("a1")]
        await turns()
        answers += [world.ask("b1"), world.ask("c1"), world.ask("d1", TWO)]
        await turns()
        assert world.asked == [(ONE, ["a1"]), (TWO, ["d1"])]
        for _ in range(3):
            world.may_answer.release()
            await turns()
        assert world.asked[2:] == [(ONE, ["b1", "c1"])]
        assert [await each for each in answers] == ["A1", "B1", "C1", "D1"]
        again = world.ask("a2")
        world.may_answer.release()
        assert await again == "A2"


async def test_no_two_of_one_key_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered_requests, "TOGETHER_MAX", 2)
    world = World()
    async with world.tasks:
        answers = [world.ask(item) for item in ("a1", "a2", "b1", "c1", "a3")]
        for _ in range(4):
            world.may_answer.release()
            await turns()
        assert [items for _, items in world.asked] == [["a1", "b1"], ["a2", "c1"], ["a3"]]
        assert [await each for each in answers] == ["A1", "A2", "B1", "C1", "A3"]


async def test_a_failure_is_that_of_all_that_went_together_and_of_no_other() -> None:
    world = World()
    async with world.tasks:
        first, second = world.ask("a1"), world.ask("b1")
        await turns()
        third = world.ask("c1")
        await turns()
        world.error = NetworkException("gone")
        world.may_answer.release()
        for each in (first, second):
            with pytest.raises(NetworkException):
                await each
        world.error = None
        world.may_answer.release()
        assert await third == "C1"


async def test_whoever_has_gone_is_not_asked_for() -> None:
    world = World()
    async with world.tasks:
        first = world.ask("a1")
        await turns()
        gone, stays = world.ask("b1"), world.ask("c1")
        await turns()
        gone.cancel()
        for _ in range(2):
            world.may_answer.release()
            await turns()
        assert (await first, await stays) == ("A1", "C1")
        assert [items for _, items in world.asked] == [["a1"], ["c1"]]
