"""What goes wrong in a simulated cluster: each fault begins, lasts as long as chance says, and ends; several may last at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import permutations
from typing import Final

from tests.sim.cluster.node import CALM_DISK_S, SLOW_DISK_S, SimNode
from tests.sim.cluster.world import SECOND_DIRECTORY, ClusterWorld
from tests.sim.network import Weather

Fault = Callable[["Faults"], Awaitable[None]]
_STOPS_WITHIN_S: Final = 40
"""A broker waits ten seconds for the controller, and five for its clients."""
_SECTOR_BYTES: Final = 512
STORM: Final = Weather(delay_max_ms=120, cut=0.02, swallow=0.002)


class Faults:
    """Faults of one story, drawn by its seed."""

    def __init__(self, world: ClusterWorld) -> None:
        self.world = world
        self.chance = world.chance
        self.without_power: list[SimNode] = []
        """Machines that have lost their power and have not fetched yet what that took back."""
        self._running: set[asyncio.Task[None]] = set()

    async def happen(
        self, faults: Sequence[Fault], for_s: float, longest_pause_s: float = 10
    ) -> None:
        """Begins one fault after the other; returns when the last one has begun."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + for_s
        while loop.time() < ends_s:
            fault = self.chance.choice(faults)
            self.world.observer.paths[f"fault: {fault.__name__}"] += 1
            task = loop.create_task(self._one(fault))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            await asyncio.sleep(self.chance.uniform(0.05, 1) * longest_pause_s)

    async def end(self) -> None:
        """Whatever lasts still, ends. Raises what a fault could not do."""
        running = list(self._running)
        for task in running:
            task.cancel()
        for found in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(found, Exception):
                raise found

    async def _one(self, fault: Fault) -> None:
        await fault(self)

    def some_node(
        self, which: Callable[[SimNode], bool] = lambda node: node.is_up
    ) -> SimNode | None:
        """A node of that kind; twice as often the one that leads."""
        found = [node for node in self.world.nodes.values() if which(node)]
        leading = [node for node in found if node.id == self.leader_id()]
        return self.chance.choice([*found, *leading]) if found else None

    def leader_id(self) -> int:
        """Who was elected last, as far as anybody knows."""
        led = self.world.observer.leader_of
        return (
            int(led[max(led)].split(",")[0].removeprefix("node-").removeprefix("node "))
            if led
            else -1
        )

    async def a_while(self, longest_s: float) -> None:
        await asyncio.sleep(self.chance.uniform(0.1, longest_s))

    def torn(self, _path: str, unsynced: int) -> int:
        """How much of what was not synced is on the disk after all: whole sectors, or everything."""
        whole = self.chance.randint(0, unsynced // _SECTOR_BYTES + 1) * _SECTOR_BYTES
        return min(unsynced, whole)

    def others(self, node: SimNode) -> list[str]:
        return [each.host for each in self.world.nodes.values() if each is not node]

    async def close(self, links: Sequence[tuple[str, str]], longest_s: float) -> None:
        for link in links:
            self.world.network.close_link(*link)
        try:
            await self.a_while(longest_s)
        finally:
            for link in links:
                self.world.network.open_link(*link)


async def kill(faults: Faults) -> None:
    node = faults.some_node()
    if node is not None:
        node.kill()
        await faults.a_while(8)
        if not node.is_up:
            node.start()


async def kill_and_start_at_once(faults: Faults) -> None:
    node = faults.some_node()
    if node is not None:
        node.kill()
        node.start()


async def power_loss(faults: Faults) -> None:
    node, chance = faults.some_node(), faults.chance
    if node is not None:
        node.lose_power(faults.torn, chance.randint(0, 3))
        await faults.a_while(15)
        if not node.is_up:
            node.start()


async def power_loss_of_all(faults: Faults) -> None:
    """A whole rack: what nobody has synced is gone everywhere."""
    down = [node for node in faults.world.nodes.values() if node.is_up]
    for node in down:
        node.lose_power(lambda _path, _unsynced: 0, 0)
    await faults.a_while(5)
    for node in down:
        await faults.a_while(2)
        if not node.is_up:
            node.start()


async def kill_and_power_loss(faults: Faults) -> None:
    """The next process finds what the first has written and never synced; then that is gone."""
    node = faults.some_node()
    if node is not None:
        node.kill()
        node.start()
        await faults.a_while(4)
        node.lose_power(lambda _path, _unsynced: 0, 0)
        await faults.a_while(2)
        if not node.is_up:
            node.start()


async def stop(faults: Faults) -> None:
    node = faults.some_node(lambda node: node.is_ready and not node.is_paused)
    if node is None:
        return
    life = node.life
    node.request_stop()
    await faults.a_while(_STOPS_WITHIN_S)
    if node.life is life and node.is_up and not node.is_paused:
        node.kill()
    if not node.is_up:
        node.start()


async def switch_off(faults: Faults) -> None:
    """A node is stopped, and then its machine: what the node has closed in order is there."""
    node = faults.some_node(lambda node: node.is_ready and not node.is_paused)
    if node is not None and await _has_stopped(faults, node):
        node.lose_power(faults.torn, faults.chance.randint(0, 3))
        await faults.a_while(5)
        if not node.is_up:
            node.start()


async def _has_stopped(faults: Faults, node: SimNode) -> bool:
    """Stops a node in order. False where other faults had a part in it."""
    life = node.life
    node.request_stop()
    for _ in range(10 * _STOPS_WITHIN_S):
        await asyncio.sleep(0.1)
        if node.life is not life:
            return False
        if not node.is_up:
            faults.world.observer.count("switched off after a stop")
            return True
    node.kill()
    node.start()
    return False


async def pause(faults: Faults) -> None:
    node = faults.some_node(lambda node: node.is_up and not node.is_paused)
    if node is not None:
        node.pause()
        try:
            await faults.a_while(15)
        finally:
            node.resume()


async def isolate(faults: Faults) -> None:
    """A node reaches no other; clients reach all."""
    node = faults.some_node()
    if node is not None:
        others = faults.others(node)
        links = [(node.host, other) for other in others] + [(other, node.host) for other in others]
        await faults.close(links, 20)


async def deafen(faults: Faults) -> None:
    """The node still speaks, and hears no other."""
    node = faults.some_node()
    if node is not None:
        await faults.close([(other, node.host) for other in faults.others(node)], 15)


async def mute(faults: Faults) -> None:
    """The node still hears, and no other hears it."""
    node = faults.some_node()
    if node is not None:
        await faults.close([(node.host, other) for other in faults.others(node)], 15)


async def cut_link(faults: Faults) -> None:
    hosts = [node.host for node in faults.world.nodes.values()]
    one, other = faults.chance.choice(list(permutations(hosts, 2)))
    await faults.close([(one, other), (other, one)], 20)


async def flap_link(faults: Faults) -> None:
    hosts = [node.host for node in faults.world.nodes.values()]
    one, other = faults.chance.choice(list(permutations(hosts, 2)))
    for _ in range(faults.chance.randint(5, 50)):
        await faults.close([(one, other), (other, one)], 0.3)
        await faults.a_while(0.3)


async def storm(faults: Faults) -> None:
    network = faults.world.network
    network.weather = STORM
    try:
        await faults.a_while(10)
    finally:
        network.weather = Weather()


async def slow_disk(faults: Faults) -> None:
    node = faults.some_node()
    if node is not None:
        node.disk_s = SLOW_DISK_S
        try:
            await faults.a_while(15)
        finally:
            node.disk_s = CALM_DISK_S


async def failing_disk(faults: Faults) -> None:
    """Syncs fail: a node without its metadata log, or its only directory, ends. It is started again once the disk is well."""
    node, chance = faults.some_node(), faults.chance
    if node is None:
        return

    def fails(_path: str) -> bool:
        is_refused = chance.random() < 0.5
        node.may_fail = node.may_fail or is_refused
        return is_refused

    node.disk.failing_syncs = fails
    try:
        await faults.a_while(3)
    finally:
        node.calm()
    await faults.a_while(5)
    if not node.is_up:
        node.start()


async def wrong_clock(faults: Faults) -> None:
    """The wall clock is an hour off, in either direction."""
    node = faults.some_node()
    if node is not None and node.life is not None:
        clock = node.life.clock
        clock.wall_error_ms = faults.chance.choice([-3_600_000, 3_600_000])
        try:
            await faults.a_while(20)
        finally:
            clock.wall_error_ms = 0


async def other_pace(faults: Faults) -> None:
    """The clocks of a machine go at another pace than all others, up to twice or half as fast."""
    node = faults.some_node()
    if node is not None:
        node.go_at(2 ** faults.chance.uniform(-1, 1))
        try:
            await faults.a_while(20)
        finally:
            node.go_at(1)


async def stand_still(faults: Faults) -> None:
    """A node does nothing for longer than a follower may lag, and its leader reaches the controller."""
    node = faults.some_node(lambda node: node.is_up and not node.is_paused)
    if node is not None:
        node.pause()
        try:
            await asyncio.sleep(10 + faults.chance.uniform(0, 8))
        finally:
            node.resume()


async def cut_off_controller(faults: Faults) -> None:
    """Brokers hear nothing of the active controller; or it does not hear them, and its images arrive."""
    controller = faults.world.nodes.get(faults.leader_id())
    if controller is not None:
        others = faults.others(controller)
        to_it = faults.chance.random() < 0.5
        links = [(each, controller.host) if to_it else (controller.host, each) for each in others]
        await faults.close(links, 12)


async def late_images(faults: Faults) -> None:
    """One broker hears of the metadata much later, and others fetch from it meanwhile."""
    node = faults.some_node(lambda node: node.is_up and node.id != faults.leader_id())
    if node is not None:
        controllers = [each.host for each in faults.world.controllers if each is not node]
        await faults.close([(each, node.host) for each in controllers], 12)


async def power_lost_by_one(faults: Faults) -> None:
    """Of all machines, one: no other before all replicas are in sync again. So nobody misses what was acknowledged."""
    node, chance, world = faults.some_node(), faults.chance, faults.world
    if node is None or not world.is_well or faults.without_power:
        return
    faults.without_power.append(node)
    try:
        if chance.random() < 0.7 or await _has_stopped(faults, node):
            node.lose_power(faults.torn, chance.randint(0, 3))
            await faults.a_while(15)
        if not node.is_up:
            node.start()
        while not (node.is_ready and world.is_well):  # noqa: ASYNC110 - other loops act
            await asyncio.sleep(0.1)
    finally:
        faults.without_power.remove(node)


async def failing_directory(faults: Faults) -> None:
    """One of two data directories fails: the broker serves those in the other one, until it is started again with a disk that is well."""
    node = faults.some_node(lambda node: node.is_ready)
    if node is None or faults.without_power:
        return
    node.disk.failing_syncs = lambda path: path.startswith(SECOND_DIRECTORY)
    try:
        await faults.a_while(10)
    finally:
        node.calm()
    if faults.without_power:
        return  # a kill would be the second loss
    node.kill()
    await faults.a_while(3)
    if not node.is_up:
        node.start()


FAULTS: Final[Sequence[Fault]] = (
    kill, kill_and_start_at_once, stop, pause, isolate, deafen, mute, cut_link, flap_link, storm, slow_disk, wrong_clock, other_pace,
)  # fmt: skip
FAULTS_OF_POWER: Final[Sequence[Fault]] = (
    power_loss, power_loss_of_all, kill_and_power_loss, switch_off, failing_disk, kill, pause, isolate, slow_disk,
)  # fmt: skip
"""Of which some take back what was not on a disk."""
FAULTS_OF_REPLICAS: Final[Sequence[Fault]] = (
    *FAULTS, kill, kill_and_start_at_once, stand_still, cut_off_controller, late_images,
)  # fmt: skip
"""Nothing that was written is lost."""
FAULTS_OF_ONE_MACHINE: Final[Sequence[Fault]] = (
    power_lost_by_one, power_lost_by_one, failing_directory, pause, isolate, mute, other_pace, cut_link, flap_link, storm, slow_disk, late_images,
)  # fmt: skip
"""One machine at a time loses what its disk does not have."""
