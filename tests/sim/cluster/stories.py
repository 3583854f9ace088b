"""Stories of a simulated cluster: what its clients do, and what happens to it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from tests.sim.cluster.clients import Workload, all_end
from tests.sim.cluster.faults import (
    FAULTS,
    FAULTS_OF_ONE_MACHINE,
    FAULTS_OF_POWER,
    FAULTS_OF_REPLICAS,
    Fault,
    Faults,
)
from tests.sim.cluster.world import ClusterWorld

FAULTS_S: Final = 40


async def anything(world: ClusterWorld) -> Workload:
    """Faults of processes and of the network."""
    return await _clients_and(FAULTS, Workload(world, loses_power=False))


async def anything_with_power_losses(world: ClusterWorld) -> Workload:
    """Faults that take back what no disk has."""
    return await _clients_and(FAULTS_OF_POWER, Workload(world, loses_power=True))


async def replicas(world: ClusterWorld) -> Workload:
    """Topics of three replicas, which an administrator moves, under faults of processes and of the network."""
    return await _clients_and(
        FAULTS_OF_REPLICAS, Workload(world, loses_power=False), "watch_ends", "move_replicas"
    )


async def replicas_on_failing_machines(world: ClusterWorld) -> Workload:
    """One machine after the other loses its power, or one of its two directories: nothing that was acknowledged goes."""
    return await _clients_and(
        FAULTS_OF_ONE_MACHINE, Workload(world, loses_power=False), "watch_ends"
    )


async def nodes_alone(world: ClusterWorld) -> None:
    """All faults, close behind each other, and nobody there but an administrator: cheap, so that many seeds are run."""
    await world.start()
    work = Workload(world)
    await work.begin()
    administrator = asyncio.get_running_loop().create_task(work.administer())
    happening = Faults(world)
    await happening.happen([*FAULTS, *FAULTS_OF_POWER], FAULTS_S, 4)
    await happening.end()
    await world.heal()
    work.is_over = True
    await all_end([administrator])
    work.check_created()


async def _clients_and(faults: Sequence[Fault], work: Workload, *more_clients: str) -> Workload:
    """Clients of all kinds, and faults for a while; then all is healed, and all is checked."""
    world = work.world
    await world.start()
    await work.begin()
    protocol = world.chance.choice(["classic", "consumer"])
    loop = asyncio.get_running_loop()
    clients = [
        loop.create_task(each)
        for each in (
            work.produce("producer-1"),
            work.produce("producer-2"),
            work.copy(),
            work.consume("consumer-1", protocol),
            work.consume("consumer-2", protocol),
            work.watch_offsets(),
            work.administer(),
            *(getattr(work, name)() for name in more_clients),
        )
    ]
    try:
        happening = Faults(world)
        await happening.happen(faults, FAULTS_S)
        await happening.end()
        await world.heal()
        work.is_over = True
        await all_end(clients)
        await work.check()
    finally:
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
    return work
