"""Turns: one at a time, payers in rotation, and none is lost with who gives up."""

from __future__ import annotations

import asyncio

from millstream.broker.patterns.payer_turns import PayerTurns


class World:
    def __init__(self) -> None:
        self.turns = PayerTurns()
        self.order: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}

    def start(self, payer: str, name: str) -> asyncio.Task[None]:
        self.ends[name] = asyncio.Event()
        return asyncio.create_task(self.take(payer, name))

    async def take(self, payer: str, name: str) -> None:
        async with self.turns.of(payer):
            self.order.append(name)
            await self.ends[name].wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_payers_take_turns() -> None:
    world = World()
    tasks = [world.start(name[0], name) for name in ("a1", "a2", "a3", "b1", "b2", "c1")]
    await settle()
    assert world.order == ["a1"]
    for end in world.ends.values():
        end.set()
    await asyncio.gather(*tasks)
    assert world.order == ["a1", "a2", "b1", "c1", "a3", "b2"]


async def test_a_turn_goes_on_when_who_has_it_fails() -> None:
    world = World()
    first, second = world.start("a", "a1"), world.start("b", "b1")
    await settle()
    first.cancel()
    await settle()
    assert world.order == ["a1", "b1"]
    world.ends["b1"].set()
    await second


async def test_a_turn_goes_on_when_who_was_just_given_it_has_gone() -> None:
    world = World()
    async with world.turns.of("a"):
        second, third = (world.start(name[0], name) for name in ("b1", "c1"))
        await settle()
    second.cancel()  # it has been given the turn and has not run since
    await settle()
    assert world.order == ["c1"]
    world.ends["c1"].set()
    await third


async def test_who_gave_up_waiting_is_passed_over() -> None:
    world = World()
    first, second, third = (world.start("a", name) for name in ("a1", "a2", "a3"))
    await settle()
    second.cancel()
    world.ends["a1"].set()
    world.ends["a3"].set()
    await asyncio.gather(first, third)
    assert world.order == ["a1", "a3"]
