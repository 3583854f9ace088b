"""Real clients and a real node, in virtual time on a simulated network: what is acknowledged stays, and a seed repeats itself.

A failure names its seed; `make sim SEEDS=1234` repeats it alone.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter

import pytest

from tests.sim.network import Piece
from tests.sim.node.world import CALM, STORM, World
from tests.sim.virtual_time import run_in_virtual_time

_FIRST, _, _LAST = os.environ.get("MILLSTREAM_SIM_SEEDS", "0-5").partition("-")
SEEDS = range(int(_FIRST), int(_LAST or _FIRST) + 1)

RECORDS = 120
STORM_S = 60
PATIENCE_S = 900


async def story(world: World) -> list[bytes]:
    """Clients live through a storm in which the node loses power, and members of the group come and go; afterwards all is read. Returns the log."""
    network, chance = world.network, world.network.chance
    await world.node.start()
    await world.create_topic()
    done = asyncio.Event()
    protocol = chance.choice(["classic", "consumer"])
    async with asyncio.TaskGroup() as group:
        leaving = asyncio.Event()
        group.create_task(world.consume("consumer-0", protocol, done))
        group.create_task(world.consume("consumer-1", protocol, leaving))
        network.weather = STORM
        producers = [
            group.create_task(world.produce(f"producer-{index}", RECORDS)) for index in range(2)
        ]
        await asyncio.sleep(chance.uniform(5, STORM_S / 2))
        await world.node.lose_power()
        group.create_task(world.consume("consumer-2", protocol, done))
        await asyncio.sleep(chance.uniform(0, STORM_S / 4))
        leaving.set()
        await asyncio.sleep(STORM_S / 4)
        network.weather = CALM
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait(producers)
            await world.everything_is_processed()
        done.set()
    values = await world.log()
    await world.node.stop()
    return values


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_acknowledged_is_in_the_log_once_and_reaches_the_group(seed: int) -> None:
    world = World(seed)
    values = run_in_virtual_time(story(world))
    assert len(world.acknowledged) == 2 * RECORDS
    assert Counter(values) == Counter(world.acknowledged)
    assert world.processed.keys() == world.acknowledged


def told(seed: int) -> tuple[list[Piece], list[bytes]]:
    world = World(seed)
    values = run_in_virtual_time(story(world))
    return world.network.trace, values


def test_the_same_seed_tells_the_same_story() -> None:
    first, second = told(SEEDS[0]), told(SEEDS[0])
    assert len(first[0]) > 500
    assert first == second
    assert told(SEEDS[0] + 1)[0] != first[0]
