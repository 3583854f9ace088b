"""Members of both protocols under faults: nobody ever owns what another one owns, and when the faults end all is owned.

A failure names its seed; `make sim SEEDS=1234` repeats it alone, `make sim SEEDS=0-999` runs a thousand.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

import pytest

from millstream.errors import KafkaError
from tests.sim.groups.world import Client, Weather, World
from tests.sim.virtual_time import run_in_virtual_time

_FIRST, _, _LAST = os.environ.get("MILLSTREAM_SIM_SEEDS", "0-5").partition("-")
SEEDS = range(int(_FIRST), int(_LAST or _FIRST) + 1)

CALM = Weather()
STORM = Weather(loss=0.05, delay_max_ms=400, restarts=True)
STORM_S = 90
SETTLE_S = 180
WISHES = (("t",), ("t", "u"), ("t", "u"), ("u", "t"))

KINDS = {
    "classic-eager": (("classic", "range"),),
    "classic-sticky": (("classic", "sticky"),),
    "classic-cooperative": (("classic", "cooperative-sticky"),),
    "consumer": (("consumer", ""),),
    "both": (("classic", "cooperative-sticky"), ("consumer", "")),
    "both-eager": (("classic", "range"), ("consumer", "")),
}


def new_client(world: World, kind: str) -> Client:
    protocol, assignor = world.chance.choice(KINDS[kind])
    settings = {"partition_assignment_strategy": assignor} if assignor else {}
    if protocol == "classic":
        settings |= {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 1_000}
    client = Client(world, f"{protocol}-{world.chance.randrange(10**6)}", protocol, **settings)
    client.subscribe(*world.chance.choice(WISHES))
    world.clients.append(client)
    return client


async def live(world: World, client: Client, until: asyncio.Event) -> None:
    """An application: it polls, and now and then does something else."""
    chance = world.chance
    while not until.is_set():
        mood = chance.random()
        with contextlib.suppress(KafkaError, TimeoutError):
            if mood < 0.02:
                await asyncio.sleep(chance.uniform(5, 40))  # maybe longer than max_poll_interval_ms
            elif mood < 0.1:
                async with asyncio.timeout(chance.uniform(0, 0.5)):
                    await client.poll(2_000)
            elif mood < 0.12:
                client.subscribe(*chance.choice(WISHES))
            else:
                await client.poll(chance.randint(0, 1_000))
                await asyncio.sleep(chance.uniform(0, 0.5))


async def come_and_go(world: World, kind: str, lives: dict[Client, asyncio.Task[None]]) -> None:
    chance = world.chance
    while True:
        await asyncio.sleep(chance.uniform(2, 15))
        mood = chance.random()
        if mood < 0.3 and world.weather.restarts:
            await world.restart()
        elif mood < 0.6 and len(lives) > 1:
            client = chance.choice(list(lives))
            task = lives.pop(client)
            task.cancel()
            await asyncio.wait((task,))
            world.clients.remove(client)
            await (client.close() if mood < 0.5 else client.vanish())
        elif len(lives) < 6:
            client = new_client(world, kind)
            lives[client] = asyncio.create_task(live(world, client, asyncio.Event()))


async def check_a_group(seed: int, kind: str) -> None:
    world = World(seed)
    running = asyncio.create_task(world.run())
    lives = {}
    for _ in range(3):
        client = new_client(world, kind)
        lives[client] = asyncio.create_task(live(world, client, asyncio.Event()))
    world.weather = STORM
    changing = asyncio.create_task(come_and_go(world, kind, lives))
    await asyncio.wait(
        (running, changing, *lives.values()), timeout=STORM_S, return_when="FIRST_EXCEPTION"
    )
    await stop(changing, *lives.values())
    world.weather = CALM
    world.is_up = world.is_up or not await world.restart()
    settled = asyncio.create_task(settle(world))
    await asyncio.wait((running, settled), return_when="FIRST_COMPLETED")
    await stop(running, settled)
    for client in world.clients:
        await client.vanish()


async def settle(world: World) -> None:
    """Everybody polls, until everything is owned and stays so."""
    deadline = asyncio.get_running_loop().time() + SETTLE_S
    while True:
        for client in world.clients:
            await client.poll(100)
        try:
            world.check_settled()
        except AssertionError:
            if asyncio.get_running_loop().time() > deadline:
                raise
        else:
            return


async def stop(*tasks: asyncio.Task[None]) -> None:
    """Raises what a task failed with."""
    for task in tasks:
        if not task.done():
            task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and task.exception() is not None:
            raise task.exception()  # type: ignore[misc]  # it is not None


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("seed", SEEDS)
def test_every_partition_has_one_owner_at_most_and_in_the_end_exactly_one(
    seed: int, kind: str
) -> None:
    run_in_virtual_time(check_a_group(seed, kind))
