"""Short stories of a simulated cluster, each about one thing that may go wrong. Chance moves when it happens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from millstream.clients import Consumer, NewTopic, Producer, TopicPartition
from millstream.errors import KafkaError, MillstreamError
from millstream.model import BrokerId, Uuid
from tests.sim.cluster import (
    cut_off_scenarios,
    group_scenarios,
    move_scenarios,
    replica_scenarios,
    stories,
    voter_scenarios,
)
from tests.sim.cluster.clients import EVENTS, PARTITIONS, Workload, all_end
from tests.sim.cluster.node import SLOW_DISK_S, SimNode
from tests.sim.cluster.world import (
    APART,
    APART_DYNAMIC,
    LAYOUTS,
    REPLICATED_APART,
    REPLICATED_LAYOUTS,
    TWO_DIRECTORIES,
    ClusterWorld,
    Layout,
)

SLOW_PLAN_S = 6.0
"""A plan has two parts, each in a thread: together they outlast a session."""
METADATA = "/data/__cluster_metadata-0"
MANY_PARTITIONS = 600
"""So many that a thread plans their creation."""


def leader(world: ClusterWorld) -> SimNode:
    """The controller that was elected last."""
    led = world.observer.leader_of
    return world.nodes[int(led[max(led)].split(",")[0].removeprefix("node "))]


def others(world: ClusterWorld, node: SimNode) -> list[SimNode]:
    return [each for each in world.nodes.values() if each is not node]


def cut_off(world: ClusterWorld, node: SimNode, *from_whom: SimNode) -> None:
    for other in from_whom:
        world.network.close_link(node.host, other.host)
        world.network.close_link(other.host, node.host)


async def a_while(world: ClusterWorld, longest_s: float) -> None:
    await asyncio.sleep(world.chance.uniform(0, longest_s))


@asynccontextmanager
async def at_work(
    world: ClusterWorld, *names: str, loses_power: bool = False
) -> AsyncIterator[Workload]:
    """The clients of these names (methods of Workload) at work; then all is healed and checked."""
    await world.start()
    work = Workload(world, loses_power)
    await work.begin()
    loop = asyncio.get_running_loop()
    clients = [loop.create_task(getattr(work, name)()) for name in names]
    try:
        await asyncio.sleep(1)
        yield work
        await world.heal()
        await asyncio.sleep(1)
        work.is_over = True
        await all_end(clients)
        await work.check()
    finally:
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


async def lost_votes(world: ClusterWorld) -> None:
    """All controllers lose their power in the middle of elections: who has voted must know it afterwards."""
    await world.start()
    for _ in range(4):
        first = leader(world)
        first.kill()
        await asyncio.sleep(2)
        await a_while(world, 1.5)
        for node in world.controllers:
            node.lose_power(lambda _path, _unsynced: 0, 0)
        for node in world.controllers:
            node.start()
        await asyncio.sleep(2.5)
    await world.heal()


async def stopped_in_elections(world: ClusterWorld) -> None:
    """Controllers with slow disks are stopped in the middle of elections, and start at once: nobody denies what it has said."""
    await world.start()
    for _ in range(4):
        first = leader(world)
        for node in world.controllers:
            node.disk_s = SLOW_DISK_S
        first.kill()
        await asyncio.sleep(2)
        await a_while(world, 2)
        for node in world.controllers:
            if world.chance.random() < 0.7:
                node.request_stop()
        await asyncio.sleep(1.5)
        for node in world.controllers:
            node.calm()
            if not node.is_up:
                node.start()
        await asyncio.sleep(2.5)
    await world.heal()


async def a_long_plan(world: ClusterWorld) -> None:
    """A topic of many partitions is planned in a thread that takes longer than a session: nobody is fenced."""
    await world.start()
    first = leader(world)
    first.disk_s = 0.0
    assert first.life is not None, "who leads, lives"
    first.life.loop.thread_s = lambda: SLOW_PLAN_S
    work = Workload(world)
    with contextlib.suppress(MillstreamError):
        async with work.admin() as admin:
            await admin.create_topics([NewTopic("many", MANY_PARTITIONS)], timeout_ms=30_000)
    await asyncio.sleep(15)
    first.life.loop.thread_s = first.thread_s
    fenced = world.observer.paths["broker fenced"]
    assert not fenced, f"{fenced} brokers were fenced while a request was planned"


async def restarted_brokers(world: ClusterWorld) -> None:
    """Brokers are killed and come back: each incarnation has an epoch of its own, and its turn."""
    await world.start()
    for _ in range(2):
        node = world.chance.choice(world.brokers)
        node.kill()
        await a_while(world, 3)
        node.start()
        await a_while(world, 3)
    await world.heal()
    assert world.observer.paths["broker registered anew"] >= 1


async def unregistered_broker(world: ClusterWorld) -> None:
    """A paused broker is fenced, and an administrator takes it for dead: it does not end by that, and its next life registers again."""
    await world.start()
    work = Workload(world)
    node = world.chance.choice([each for each in world.brokers if each is not leader(world)])
    node.pause()
    await asyncio.sleep(12)
    async with work.admin() as admin:
        await admin.unregister_broker(node.id)
    node.resume()
    await asyncio.sleep(8)
    assert node.is_up, "a broker that was unregistered has ended"
    image = world.image
    assert image is not None, "a cluster has metadata"
    assert node.id not in image.brokers
    node.kill()
    node.start()
    await world.heal()


async def cut_off_leader(world: ClusterWorld) -> None:
    """The leader reaches no other controller, and clients and brokers reach it: what it answers counts."""
    async with at_work(world, "administer", "administer", "administer"):
        first = leader(world)
        cut_off(world, first, *[each for each in world.controllers if each is not first])
        await asyncio.sleep(4)
        await a_while(world, 8)


async def lost_answers(world: ClusterWorld) -> None:
    """Requests of brokers reach the controller, and its answers do not: they are asked for again."""
    await world.start()
    node = world.chance.choice([each for each in world.brokers if each is not leader(world)])
    node.kill()
    await asyncio.sleep(10)
    node.start()
    await a_while(world, 0.04)
    for other in others(world, node):
        world.network.close_link(other.host, node.host)
    await asyncio.sleep(7)  # longer than a request of a session waits
    for other in others(world, node):
        world.network.open_link(other.host, node.host)
    await world.heal()


async def brokers_that_lose_each_other(world: ClusterWorld) -> None:
    """Connections between brokers break again and again, while clients and controllers reach all: markers of transactions are lost on their way."""
    async with at_work(world, "produce", "copy"):
        one, other = world.brokers
        for _ in range(400):
            await a_while(world, 0.05)
            world.network.cut_between(one.host, other.host)


async def producer_ids_over_controllers(world: ClusterWorld) -> None:
    """Brokers take blocks of producer ids before and after another controller leads."""
    await world.start()
    work = Workload(world)
    await work.begin()
    for _ in range(3):
        for number in range(3):
            async with Producer(**work.settings(f"p{number}")) as producer:
                await (await producer.send(EVENTS, b"x", partition=number % PARTITIONS))
        leader(world).kill()
        await asyncio.sleep(4)
        await world.heal()


async def offsets_before_the_disk_has_them(world: ClusterWorld) -> None:
    """A coordinator is killed, comes back and loses its power: what it has told of offsets stays."""
    async with at_work(world, "produce", "watch_offsets", "consume", loses_power=True):
        for _ in range(2):
            await a_while(world, 3)
            node = world.chance.choice(world.brokers)
            node.kill()
            node.start()
            await asyncio.sleep(8)
            await a_while(world, 4)
            node.lose_power(lambda _path, _unsynced: 0, 0)
            await asyncio.sleep(1)
            node.start()
            await asyncio.sleep(10)


async def switched_off_after_stops(world: ClusterWorld) -> None:
    """Brokers with slow disks are stopped, and then their machines: nothing of what was acknowledged is gone."""
    async with at_work(world, "produce", "copy", "consume", "watch_offsets"):
        for _ in range(3):
            await a_while(world, 4)
            node = world.chance.choice(world.brokers)
            node.disk_s = SLOW_DISK_S
            await a_while(world, 2)
            node.request_stop()
            await _until_down(world, node)
            node.lose_power(lambda _path, _unsynced: 0, world.chance.randint(0, 3))
            node.calm()
            await a_while(world, 1)
            node.start()
            await a_while(world, 6)


async def _until_down(world: ClusterWorld, node: SimNode) -> None:
    await world.until(lambda: not node.is_up, _STOPS_WITHIN_S, "a node that is stopped ends")


_STOPS_WITHIN_S: Final = 40
"""A broker waits ten seconds for the controller, and five for its clients; each step of its disk is slow."""


async def silent_leader(world: ClusterWorld) -> None:
    """The machine of the active controller loses its power and tells nobody: its successor must not take brokers for dead that live."""
    await world.start()
    await a_while(world, 2)
    first = leader(world)
    first.lose_power(lambda _path, _unsynced: 0, 0)
    await asyncio.sleep(25)
    image = world.image
    assert image is not None, "a cluster has metadata"
    away = {first.id} & set(image.brokers)
    fenced = {broker_id for broker_id, each in image.brokers.items() if each.fenced}
    assert fenced == away, f"{fenced - away} were fenced with the controller"
    first.start()
    await world.heal()


async def disk_refuses_a_vote(world: ClusterWorld) -> None:
    """A controller that cannot store its vote gives none, and ends: what it has not stored it would deny after its next start."""
    await world.start()
    first = leader(world)
    node = world.chance.choice([each for each in world.controllers if each is not first])
    node.may_fail = True
    node.disk.failing_syncs = lambda path: path.endswith("quorum-state")
    first.kill()
    await asyncio.sleep(10)
    assert not node.is_up, "a controller without a disk goes on"
    node.calm()
    await world.heal()


async def damaged_partition_of_a_coordinator(world: ClusterWorld) -> None:
    """One partition of an internal topic cannot be opened: its broker serves the others."""
    await world.start()
    work = Workload(world)
    await work.begin()
    async with Consumer(group_id="g", **work.settings("c")) as consumer:
        await consumer.committed([TopicPartition(EVENTS, 0)])
    node = next(
        each for each in world.brokers if each.disk.exists("/data/__consumer_offsets-0/partition.metadata")
    )  # fmt: skip
    node.kill()
    path = "/data/__consumer_offsets-0/partition.metadata"
    node.disk.corrupt(path, 0, b"nonsense")
    await asyncio.sleep(10)
    node.start()
    await world.until(lambda: node.is_ready, 20, "a broker with a damaged file starts")
    await asyncio.sleep(1)
    assert node.is_up, "a broker ended because of one partition"


async def cut_off_leader_with_observers(world: ClusterWorld) -> None:
    """Brokers fetch from a leader that no voter follows: they must not apply what is not committed."""
    await world.start()
    work = Workload(world)
    first = leader(world)
    cut_off(world, first, *[each for each in world.controllers if each is not first])
    await a_while(world, 0.5)
    with contextlib.suppress(KafkaError, MillstreamError):
        async with work.admin() as admin:
            await admin.create_topics([NewTopic("nobody-has-it", 2)], timeout_ms=4_000)
    await asyncio.sleep(4)
    with contextlib.suppress(KafkaError, MillstreamError):
        async with work.admin() as admin:
            await admin.create_topics([NewTopic("everybody-has-it", 2)], timeout_ms=10_000)
    await world.heal()
    await asyncio.sleep(1)


async def killed_after_a_snapshot_came(world: ClusterWorld) -> None:
    """A node is killed between the moment at which a fetched snapshot has its name and the one at which its log is emptied."""
    await world.start()
    node = world.chance.choice([each for each in world.nodes.values() if each is not leader(world)])
    node.kill()
    work = Workload(world)
    async with work.admin() as admin:
        for number in range(6):
            (await admin.create_topics([NewTopic(f"t{number}", 3)])).raise_errors()
    await asyncio.sleep(1)
    disk, name = leader(world).disk, newest_snapshot(leader(world))
    node.disk.write_atomically(f"{METADATA}/{name}", disk.read(f"{METADATA}/{name}"))
    node.start()
    await world.heal()


async def clocks_at_other_paces(world: ClusterWorld) -> None:
    """The clocks of all machines go at paces of their own, and nothing else happens: nobody is taken for dead, and nobody stands."""
    async with at_work(world, "produce", "copy", "consume", "watch_offsets", "administer"):
        paths = world.observer.paths
        before = {what: paths[what] for what in _NEWS}
        for node in world.nodes.values():
            node.go_at(2 ** world.chance.uniform(-_HARMLESS_PACE, _HARMLESS_PACE))
        await asyncio.sleep(40)
        news = {what: paths[what] - count for what, count in before.items() if paths[what] > count}
        assert not news, f"{news} because clocks differ"


_NEWS: Final = ("broker fenced", "leader elected", "pre-vote", "resigned by check-quorum")
_HARMLESS_PACE: Final = 0.7
"""As an exponent of 2: between 0.6 and 1.6 times the common pace. A follower that is as fast waits 1.2 s for the answer of a leader that is as slow, which holds it for
0.8 s; a session of 9 s is 5.5 s then, and a heartbeat comes each 3.3 s."""


async def replaced_disk_of_a_controller(world: ClusterWorld) -> None:
    """A controller comes back with an empty disk and joins by itself; then the quorum can do without another one."""
    await world.start()
    node = world.chance.choice(world.controllers)
    others_of_quorum = [each for each in world.controllers if each is not node]
    node.kill()
    world.replace_disk(node)
    await a_while(world, 5)
    node.start()
    old = directory_of(node, others_of_quorum[0])
    await world.until(
        lambda: directory_of(node, leader(world)) not in {None, old}, 60, "a replaced controller votes"
    )  # fmt: skip
    await asyncio.sleep(3)
    away = world.chance.choice(others_of_quorum)
    away.kill()
    await asyncio.sleep(6)
    async with Workload(world).admin() as admin:
        (await admin.create_topics([NewTopic("without-it", 2)])).raise_errors()
    away.start()
    await world.heal()


def directory_of(node: SimNode, asked: SimNode) -> Uuid | None:
    """The directory with which the node votes, as another one counts; None where it does not vote."""
    voters = None if asked.life is None else asked.life.voters
    if voters is None or BrokerId(node.id) not in voters.ids:
        return None
    return voters.key_of(BrokerId(node.id)).directory_id


def newest_snapshot(node: SimNode) -> str:
    return max(name for name in node.disk.list(METADATA) if name.endswith(".checkpoint"))


_LAYOUTS_OF: Final[Mapping[Callable[..., object], tuple[Layout, ...]]] = {
    stories.replicas: REPLICATED_LAYOUTS,
    stories.replicas_on_failing_machines: (TWO_DIRECTORIES, REPLICATED_APART),
    **replica_scenarios.LAYOUTS_OF,
    **group_scenarios.LAYOUTS_OF,
    **move_scenarios.LAYOUTS_OF,
    **cut_off_scenarios.LAYOUTS_OF,
    **voter_scenarios.LAYOUTS_OF,
    silent_leader: (APART, APART_DYNAMIC),
    stopped_in_elections: (APART, APART_DYNAMIC),
    cut_off_leader_with_observers: (APART, APART_DYNAMIC),
    brokers_that_lose_each_other: (APART, APART_DYNAMIC),
    replaced_disk_of_a_controller: (APART_DYNAMIC,),
}
"""Of stories that are about some layouts only."""


def layout_of(story: Callable[..., object], seed: int) -> Layout:
    """Returns the layout of a seed's cluster in that story."""
    layouts = _LAYOUTS_OF.get(story, LAYOUTS)
    return layouts[seed % len(layouts)]
