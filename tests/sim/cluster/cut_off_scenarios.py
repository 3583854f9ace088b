"""A leader loses its controllers, and goes on to answer clients: those that were there, and those that come.

Controllers and brokers are apart: nodes 1 to 3, and 4 to 6. Whoever is cut off from the controllers for longer than a session is
replaced, and is not told.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

from millstream.clients import Consumer, TopicPartition
from millstream.errors import KafkaError, MillstreamError
from tests.sim.cluster.clients import COPIES, EVENTS, PARTITIONS, Workload, as_reads
from tests.sim.cluster.group_clients import ShareReaders
from tests.sim.cluster.group_scenarios import OFFSETS, SHARE_STATE, all_places, at_work
from tests.sim.cluster.replica_scenarios import TRANSACTIONS, a_while, image_of, parts
from tests.sim.cluster.world import REPLICATED_APART, ClusterWorld, Layout
from tests.sim.network import Weather

_ALL_GIVEN_WITHIN_S: Final = 120
_STAYS_S: Final = 4
_READS_WITHIN_S: Final = 20


@dataclass
class Guests(Workload):
    """As all clients, and those who come, read, and go."""

    async def visit(self) -> None:
        """One new consumer after the other reads a topic from its beginning, each by itself: what it finds first may be who was cut off."""
        for number in count(1):
            if self.is_over:
                return
            with contextlib.suppress(KafkaError, MillstreamError, TimeoutError):
                async with asyncio.timeout(_READS_WITHIN_S):
                    await self._read_once(f"guest-{number}", self.chance.choice([EVENTS, COPIES]))
            await asyncio.sleep(self.chance.uniform(0, 1))

    async def _read_once(self, name: str, topic: str) -> None:
        chosen = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        history = self.history if topic == EVENTS else self.copied
        async with Consumer(
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            **self.settings(name),
        ) as consumer:
            consumer.assign(chosen)
            ends = await consumer.end_offsets(chosen)
            while any([await consumer.position(each) < end for each, end in ends.items()]):
                history.poll(name, as_reads(await consumer.poll(timeout_ms=500)))
        self.world.observer.count("a guest has read all")

    async def join_for_a_while(self) -> None:
        """One new member of the group after the other, which commits what it was given, and leaves."""
        for number in count(1):
            if self.is_over:
                return
            with contextlib.suppress(KafkaError, MillstreamError, TimeoutError):
                async with asyncio.timeout(self.chance.uniform(1, 3 * _STAYS_S)):
                    await self._consume_for_a_while(f"passer-by-{number}", "consumer")


async def leaders_without_controllers(world: ClusterWorld) -> None:
    """Leaders of what is written, copied and coordinated are cut off from the controllers, in one direction or both; links are slow now and then."""
    await world.start()
    work = Guests(world, loses_power=False)
    await work.begin()
    readers = ShareReaders(work)
    await readers.begin()
    clients = [
        work.produce(), work.produce_one_by_one(), work.copy(), work.consume("stays", "consumer"), work.join_for_a_while(), work.visit(),
        work.watch_offsets(), work.watch_ends(), work.administer(), readers.read("a"), readers.read("b"),
    ]  # fmt: skip
    async with at_work(world, work, clients):
        await asyncio.sleep(4)
        for _ in range(4):
            await _one_leader_is_cut_off(world)
        await world.heal()
        work.is_quiet = True
        await asyncio.sleep(2)
        places = await all_places(work)
        await world.until(
            lambda: places <= readers.delivered.keys(), _ALL_GIVEN_WITHIN_S, "all records are given to somebody"
        )  # fmt: skip


async def _one_leader_is_cut_off(world: ClusterWorld) -> None:
    chance, network = world.chance, world.network
    topic = chance.choice([EVENTS, COPIES, OFFSETS, TRANSACTIONS, SHARE_STATE])
    led = [each for each in parts(world, topic) if each.has_leader]
    if not led:
        return
    leader = world.nodes[int(image_of(world, topic, int(chance.choice(led).partition)).leader)]
    to_it = [(each.host, leader.host) for each in world.controllers]
    from_it = [(leader.host, each.host) for each in world.controllers]
    how = chance.choice(["deaf", "mute", "both", "both"])
    links = {"deaf": to_it, "mute": from_it, "both": [*to_it, *from_it]}[how]
    world.observer.count(f"cut off: {how}")
    if chance.random() < _SLOW:
        network.weather = Weather(delay_max_ms=chance.choice([200, 1_000]))
    for link in links:
        network.close_link(*link)
    await a_while(world, 18, 6)
    for link in links:
        network.open_link(*link)
    network.weather = Weather()
    await a_while(world, 5, 0.5)


_SLOW: Final = 0.3

LAYOUTS_OF: Final[Mapping[Callable[..., object], tuple[Layout, ...]]] = {
    leaders_without_controllers: (REPLICATED_APART,),
}
CUT_OFF_SCENARIOS: Final = tuple(LAYOUTS_OF)
