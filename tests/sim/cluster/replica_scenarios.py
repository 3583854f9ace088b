"""Short stories of replicated partitions, each about one thing that may go wrong. Controllers and brokers are apart: nodes 1 to 3, and 4 to 6.

Every partition that clients write has its replicas on nodes 4, 5 and 6, in that order, and two of them must have a write.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final

from millstream.clients import TopicPartition
from millstream.coordinator.record import partition_for
from millstream.metadata.image import NO_LEADER, PartitionImage
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ElectionType
from millstream.replication.partition import Partition
from tests.sim.cluster.clients import COPIER, COPIES, EVENTS, GROUP, PARTITIONS, Workload, all_end
from tests.sim.cluster.node import SimNode
from tests.sim.cluster.world import REPLICATED_APART, ClusterWorld, Layout
from tests.sim.network import Held, Weather

BROKERS: Final = (4, 5, 6)
BROKER_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
TRANSACTIONS: Final = "__transaction_state"
_LONG_LAG: Final = replace(
    REPLICATED_APART,
    name="three controllers, three brokers, followers may lag for half a minute",
    more_settings=(("replica.lag.time.max.ms", "30000"),),
)
_CHECKPOINTS: Final = replace(
    REPLICATED_APART,
    name="three controllers, three brokers, checkpoints every second",
    more_settings=(("log.flush.offset.checkpoint.interval.ms", "1000"),),
)
_TRIMMED: Final = replace(
    REPLICATED_APART,
    name="three controllers, three brokers, retention every second",
    more_settings=(
        ("log.initial.task.delay.ms", "500"),
        ("log.retention.check.interval.ms", "1000"),
        ("log.segment.delete.delay.ms", "1000"),
    ),
)
_SYNCED: Final = replace(
    REPLICATED_APART,
    name="three controllers, three brokers, acknowledgements wait for disks",
    more_settings=(("millstream.flush.on.ack", "always"),),
)
_NO_BALANCE: Final = replace(
    REPLICATED_APART,
    name="three controllers, three brokers, leaders stay",
    more_settings=(("auto.leader.rebalance.enable", "false"),),
)


@asynccontextmanager
async def at_work(
    world: ClusterWorld, *names: str, assignment: Sequence[int] = BROKERS, **more: object
) -> AsyncIterator[Workload]:
    """The clients of these names at work; then all is healed and checked."""
    await world.start()
    work = Workload(world, loses_power=False, assignment=assignment, **more)  # type: ignore[arg-type]  # names are the fields'
    await work.begin()
    loop = asyncio.get_running_loop()
    clients = [loop.create_task(getattr(work, name)()) for name in names]
    try:
        await asyncio.sleep(2)
        yield work
        world.network.weather = Weather()
        await world.heal()
        await asyncio.sleep(1)
        work.is_over = True
        await all_end(clients)
        await work.check()
    finally:
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


# what the controller has of a partition


def image_of(world: ClusterWorld, topic: str = EVENTS, number: int = 0) -> PartitionImage:
    newest = world.observer.newest
    assert newest is not None, "a cluster has metadata"
    found = newest.topic(topic)
    assert found is not None, f"there is a topic {topic}"
    return found.partitions[number]


async def until_isr(world: ClusterWorld, *isr: int, within_s: float = 30) -> None:
    """Waits until just these are in sync in all partitions of events. (Where nobody writes, whoever has all stays in sync, though it is cut off.)"""
    await world.until(
        lambda: all({*image_of(world, EVENTS, each).isr} == {*isr} for each in range(PARTITIONS)),
        within_s,
        f"{isr} are in sync",
    )


def is_led_by_another(world: ClusterWorld, than: int, topic: str, number: int) -> bool:
    return image_of(world, topic, number).leader not in {than, NO_LEADER}


async def until_led_by_another(world: ClusterWorld, than: int, within_s: float = 30) -> SimNode:
    await world.until(
        lambda: image_of(world).has_leader and image_of(world).leader != than,
        within_s,
        f"another node than {than} leads",
    )
    return leader_of_events(world)


def leader_of_events(world: ClusterWorld) -> SimNode:
    return world.nodes[int(image_of(world).leader)]


def close(world: ClusterWorld, one: SimNode, *others: SimNode) -> None:
    for other in others:
        world.network.close_link(one.host, other.host)
        world.network.close_link(other.host, one.host)


def open_again(world: ClusterWorld, one: SimNode, *others: SimNode) -> None:
    for other in others:
        world.network.open_link(one.host, other.host)
        world.network.open_link(other.host, one.host)


def all_but(world: ClusterWorld, *without: SimNode) -> list[SimNode]:
    return [each for each in world.nodes.values() if each not in without]


async def a_while(world: ClusterWorld, longest_s: float, shortest_s: float = 0) -> None:
    await asyncio.sleep(world.chance.uniform(shortest_s, longest_s))


def nothing_is_kept(_path: str, _unsynced: int) -> int:
    return 0


# stories


async def power_lost_by_a_follower(world: ClusterWorld) -> None:
    """A follower loses its power while few are in sync, then the leader dies: who lost what was acknowledged must not lead."""
    async with at_work(world, "produce", "produce_one_by_one"):
        leader, away, loser = (world.nodes[each] for each in BROKERS)
        away.pause()
        await until_isr(world, leader.id, loser.id)
        await a_while(world, 3, 1)
        loser.lose_power(nothing_is_kept, 0)
        await until_isr(world, leader.id)
        await a_while(world, 1)
        leader.kill()
        loser.start()
        await a_while(world, 14, 11)
        leader.start()
        away.resume()


async def leaders_by_turns(world: ClusterWorld) -> None:
    """Leaders lose each other, go on alone, come back and lead again: what they knew of followers before says nothing."""
    async with at_work(world, "produce", "produce_without_patience", "watch_ends") as work:
        for _ in range(2):
            leader = leader_of_events(world)
            order = [each for each in image_of(world).replicas if each != leader.id]
            behind = world.nodes[int(order[0])]
            behind.pause()
            await a_while(world, 5, 3)
            work.is_quiet = world.chance.random() < 0.6
            close(world, leader, *all_but(world, leader))
            behind.resume()
            await until_led_by_another(world, leader.id)
            await a_while(world, 2)
            open_again(world, leader, *all_but(world, leader))
            await a_while(world, 3, 0.5)
            second = leader_of_events(world)
            close(world, second, *world.controllers)
            await until_led_by_another(world, second.id)
            work.is_quiet = False
            await a_while(world, 3)
            open_again(world, second, *world.controllers)
            await a_while(world, 6)


async def an_expansion_unheard(world: ClusterWorld) -> None:
    """The controller takes a follower into the ISR, and the leader does not hear it; the follower stands still; the leader dies."""
    async with at_work(world, "produce", "produce_without_patience", assignment=(4, 6, 5)):
        leader, other, joining = (world.nodes[each] for each in BROKERS)
        close(world, leader, joining)
        await until_isr(world, leader.id, other.id)
        for controller in world.controllers:
            world.network.close_link(controller.host, leader.host)
        open_again(world, leader, joining)
        await asyncio.sleep(0.3)
        for _ in range(40):
            if joining.id in image_of(world).isr:
                break
            await asyncio.sleep(0.1)
        close(world, leader, joining)
        await a_while(world, 12, 8)
        leader.kill()
        await a_while(world, 14, 10)
        leader.start()


async def too_few_in_sync(world: ClusterWorld) -> None:
    """A leader alone takes what waits for nobody, and dies: nobody must have read it."""
    async with at_work(world, "produce_without_patience", "produce", "watch_ends"):
        leader, *others = (world.nodes[each] for each in BROKERS)
        for each in others:
            each.pause()
            await a_while(world, 1)
        await until_isr(world, leader.id)
        await a_while(world, 3, 1)
        leader.kill()
        for each in others:
            each.resume()
        await a_while(world, 14, 10)
        leader.start()


async def late_images(world: ClusterWorld) -> None:
    """Images come later than answers to AlterPartition: followers leave and come back, and their leader is the last to read of it."""
    async with at_work(world, "produce", "produce_without_patience"):
        leader, *others = (world.nodes[each] for each in BROKERS)
        for _ in range(2):
            for each in others:
                close(world, leader, each)
            await until_isr(world, leader.id)
            images = Held(leader.host, CONTROLLER_PORT, ApiKey.FETCH, is_answer=True)
            world.network.hold(images)
            for each in others:
                open_again(world, leader, each)
                await a_while(world, 2, 0.2)
            await a_while(world, 4, 1)
            world.network.let_go(images)
            await a_while(world, 4, 2)


async def an_ineligible_follower(world: ClusterWorld) -> None:
    """A follower is gone, and fenced: records are committed without it, long before it may not lag any more."""
    async with at_work(world, "produce_one_by_one") as work:
        await a_while(world, 2)
        gone = world.nodes[world.chance.choice(BROKERS[1:])]
        close(world, gone, *all_but(world, gone))
        await asyncio.sleep(45)
        work.longest_wait_s = max(work.longest_wait_s, 0)
        assert work.longest_wait_s < _COMMITTED_WITHIN_S, (
            f"a record waited {work.longest_wait_s:.0f} s for a follower that is fenced"
        )
        open_again(world, gone, *all_but(world, gone))


_COMMITTED_WITHIN_S: Final = 22
"""A session of 9 s, requests of 5 s that time out, and their retries."""


async def a_leader_that_does_not_know(world: ClusterWorld) -> None:
    """A leader dies; its successor cannot hear how far it had committed, and dies too: ends never go back."""
    async with at_work(world, "produce", "produce_without_patience", "watch_ends"):
        await _two_leaders_die(world, EVENTS, 0)


async def a_coordinator_that_does_not_know(world: ClusterWorld) -> None:
    """As before, of a partition of committed offsets: they never go back."""
    async with at_work(
        world, "produce_without_patience", "watch_offsets", "consume", poll_records=1
    ):
        await asyncio.sleep(4)
        group = partition_for(GROUP, len(parts(world, "__consumer_offsets")))
        await _two_leaders_die(world, "__consumer_offsets", group)


async def _two_leaders_die(world: ClusterWorld, topic: str, number: int) -> None:
    """The third replica, which hears nothing of both, is in sync all the time."""
    leader, next_one, last = (world.nodes[int(e)] for e in image_of(world, topic, number).replicas)
    for each in (leader, next_one):
        close(world, each, last)
    await a_while(world, 2)
    leader.kill()
    await world.until(
        partial(is_led_by_another, world, leader.id, topic, number), 30, "another node leads"
    )
    await a_while(world, 3, 1)
    if next_one.is_ready:
        next_one.kill()
    for each in (leader, next_one):
        open_again(world, each, last)
    await a_while(world, 12, 9)


async def a_marker_in_a_failover(world: ClusterWorld) -> None:
    """Leaders die in the middle of transactions, and their followers hear nothing of the end: a marker that was told is there."""
    async with at_work(world, "produce", "copy", aborted=0.5):
        for _ in range(4):
            world.network.weather = Weather(delay_max_ms=100)
            await a_while(world, 4, 1)
            image = image_of(world, COPIES)
            leader = world.nodes[int(image.leader)]
            fetches = [
                Held(world.nodes[int(each)].host, BROKER_PORT, ApiKey.FETCH, is_answer=True)
                for each in image.replicas
                if each != leader.id
            ]
            for each in fetches:
                world.network.hold(each)
            await a_while(world, 1, 0.5)
            leader.kill()
            for each in fetches:
                world.network.let_go(each)
            world.network.weather = Weather()
            await a_while(world, 13, 10)
            await world.heal()
            await a_while(world, 3, 1)


async def a_marker_that_comes_late(world: ClusterWorld) -> None:
    """A marker of a coordinator is under way so long that another one has ended that transaction, and the next one has begun."""
    async with at_work(world, "produce_without_patience", "copy", aborted=0.7) as work:
        await asyncio.sleep(2)
        coordinator = int(image_of(world, TRANSACTIONS, _partition_of_copier(world)).leader)
        leader, *others = [each for each in BROKERS if each != coordinator]
        moved = {
            TopicPartition(COPIES, n): [leader, *others, coordinator] for n in range(PARTITIONS)
        }
        async with work.admin() as admin:
            await admin.alter_partition_reassignments(moved)
            await admin.elect_leaders(ElectionType.PREFERRED, moved)
        await a_while(world, 2, 1)
        old = world.nodes[coordinator]
        markers = Held(old.host, BROKER_PORT, ApiKey.WRITE_TXN_MARKERS, is_answer=False)
        world.network.hold(markers)
        await a_while(world, 2, 1)
        close(world, old, *world.controllers)
        await world.until(
            partial(is_led_by_another, world, coordinator, TRANSACTIONS, _partition_of_copier(world)), 30, "another one coordinates"
        )  # fmt: skip
        world.network.weather = Weather(delay_max_ms=60)
        await a_while(world, 4, 1)
        world.network.let_go(markers)
        await a_while(world, 3, 1)


def parts(world: ClusterWorld, topic: str) -> Sequence[PartitionImage]:
    newest = world.observer.newest
    found = None if newest is None else newest.topic(topic)
    return () if found is None else found.partitions


def _partition_of_copier(world: ClusterWorld) -> int:
    """Of `__transaction_state`: where the copier's coordinator is."""
    return partition_for(COPIER, len(parts(world, TRANSACTIONS)))


async def an_answer_of_another_epoch(world: ClusterWorld) -> None:
    """A follower that hears no images asks its old leader, which others have led meanwhile and which leads again."""
    async with at_work(world, "produce", "produce_without_patience"):
        leader, behind, deaf = (world.nodes[each] for each in BROKERS)
        behind.pause()
        await a_while(world, 2, 0.5)
        for controller in world.controllers:
            world.network.close_link(controller.host, deaf.host)
        close(world, leader, *all_but(world, leader))
        behind.resume()
        await until_led_by_another(world, leader.id)
        await a_while(world, 3, 1)
        open_again(world, leader, *all_but(world, leader, deaf))
        await world.until(lambda: leader.id in image_of(world).isr, 30, "the first leader follows")
        await a_while(world, 2)
        behind.kill()
        await until_led_by_another(world, behind.id)
        await a_while(world, 2)
        open_again(world, leader, deaf)
        await a_while(world, 4, 2)
        behind.start()


async def power_losses_behind_flushes(world: ClusterWorld) -> None:
    """Brokers lose power one after the other, with epochs that are on the disk or read again from the records."""
    async with at_work(
        world,
        "produce",
        "produce_without_patience",
        configs={"flush.messages": "3", "segment.ms": "2000"},
    ):
        for _ in range(3):
            leader = leader_of_events(world)
            leader.kill()
            leader.start()
            await until_led_by_another(world, leader.id)
            await world.until(lambda: world.is_well, 40, "the killed broker is in sync")
            await a_while(world, 4, 1.5)
            loser = world.nodes[world.chance.choice(BROKERS)]
            loser.lose_power(nothing_is_kept, 0)
            await a_while(world, 2)
            loser.start()
            await asyncio.sleep(1)
            await world.until(
                lambda: world.is_well, 40, "the broker that lost its power is in sync"
            )


async def power_lost_by_all(world: ClusterWorld) -> None:
    """All machines lose their power at once: of what was acknowledged, only that may go which the systems have not written back yet."""
    await _power_lost_by_all(world, is_synced=False)


async def power_lost_by_all_whose_acknowledgements_are_on_disks(world: ClusterWorld) -> None:
    """`millstream.flush.on.ack=always`: followers say only what is on their disks, so nothing that was acknowledged goes."""
    await _power_lost_by_all(world, is_synced=True)


async def _power_lost_by_all(world: ClusterWorld, *, is_synced: bool) -> None:
    await world.start()
    work = Workload(world, loses_power=True, assignment=BROKERS)
    world.observer.replicas.forgives = lambda _partition: True
    await work.begin()
    loop = asyncio.get_running_loop()
    producer = loop.create_task(work.produce_one_by_one())
    written_s = 0.0
    try:
        for _ in range(3):
            for _ in range(world.chance.randint(1, 3)):
                await a_while(world, WRITTEN_BACK_WITHIN_S)
                written_s = loop.time()
                for node in () if is_synced else world.nodes.values():
                    node.disk.write_back()
            await a_while(world, WRITTEN_BACK_WITHIN_S)
            for node in world.nodes.values():
                node.lose_power(nothing_is_kept, 0)
            await asyncio.sleep(_ON_ITS_WAY_S)
            if not is_synced:
                work.may_lose(written_s, loop.time())
            for node in world.nodes.values():
                await a_while(world, 1)
                node.start()
            await world.heal()
        await asyncio.sleep(1)
        work.is_over = True
        await all_end([producer])
        await work.check()
    finally:
        producer.cancel()
        await asyncio.gather(producer, return_exceptions=True)


_ON_ITS_WAY_S: Final = 0.1
"""Far longer than an answer needs that was sent before the power was lost, and arrives behind it."""
WRITTEN_BACK_WITHIN_S: Final = 5
"""The window: so long a system may keep what was written in memory. (Linux: 30 s, vm.dirty_expire_centisecs.)"""


async def an_unclean_election(world: ClusterWorld) -> None:
    """All who had everything are gone, and who lags is made the leader: then all are equal again, and nobody recovers for ever."""
    await world.start()
    configs: dict[str, str | None] = {"unclean.leader.election.enable": "true"}
    work = Workload(world, loses_power=True, assignment=BROKERS, configs=configs)
    world.observer.replicas.forgives = lambda _partition: True
    await work.begin()
    loop = asyncio.get_running_loop()
    clients = [loop.create_task(work.produce()), loop.create_task(work.produce_without_patience())]
    try:
        await asyncio.sleep(1)
        *gone, lagging = (world.nodes[each] for each in BROKERS)
        close(world, lagging, *gone)
        await until_isr(world, *(each.id for each in gone))
        await a_while(world, 2)
        for each in gone:
            each.kill()
            await a_while(world, 1)
        await world.until(lambda: image_of(world).leader == lagging.id, 30, "who lags leads")
        world.observer.paths["led uncleanly"] += 1
        await a_while(world, 3)
        await world.heal()
        await asyncio.sleep(1)
        work.is_over = True
        await all_end(clients)
        await work.check_replicas()
    finally:
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


async def trimmed_while_away(world: ClusterWorld) -> None:
    """Retention removes what a broker that is away has, and what it lacks; leaders change meanwhile. It begins anew where its leader does."""
    await world.start()
    configs: dict[str, str | None] = {"segment.ms": "2000", "retention.ms": "3000"}
    work = Workload(world, loses_power=False, assignment=BROKERS, configs=configs)
    await work.begin()
    loop = asyncio.get_running_loop()
    clients = [loop.create_task(work.produce()), loop.create_task(work.produce_without_patience())]
    try:
        for _ in range(3):
            await a_while(world, 4, 2)
            away = world.nodes[world.chance.choice(BROKERS)]
            away.kill()
            await a_while(world, 16, 8)
            other = world.nodes[world.chance.choice([each for each in BROKERS if each != away.id])]
            if world.chance.random() < 0.6:
                other.kill()
            away.start()
            await a_while(world, 3)
            if not other.is_up:
                other.start()
        await world.heal()
        start = max(each.log.log_start_offset for each in _replicas_of_events(world))
        assert start > 0, "retention has removed nothing"
        work.is_over = True
        await all_end(clients)
        await work.check_replicas()
    finally:
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


def _replicas_of_events(world: ClusterWorld) -> list[Partition]:
    lives = [node.life for node in world.brokers if node.life is not None]
    return [
        each
        for life in lives
        for each in life.partitions.values()
        if each.topic_partition.topic == EVENTS
    ]


LAYOUTS_OF: Final[Mapping[Callable[..., object], tuple[Layout, ...]]] = {
    power_lost_by_a_follower: (_NO_BALANCE,),
    leaders_by_turns: (REPLICATED_APART, _NO_BALANCE),
    an_expansion_unheard: (_NO_BALANCE,),
    too_few_in_sync: (_NO_BALANCE,),
    late_images: (_NO_BALANCE,),
    an_ineligible_follower: (_LONG_LAG,),
    a_leader_that_does_not_know: (_NO_BALANCE,),
    a_coordinator_that_does_not_know: (_NO_BALANCE,),
    a_marker_in_a_failover: (REPLICATED_APART,),
    a_marker_that_comes_late: (_NO_BALANCE,),
    an_answer_of_another_epoch: (_NO_BALANCE,),
    power_losses_behind_flushes: (_CHECKPOINTS,),
    power_lost_by_all: (REPLICATED_APART,),
    power_lost_by_all_whose_acknowledgements_are_on_disks: (_SYNCED,),
    an_unclean_election: (_NO_BALANCE,),
    trimmed_while_away: (_TRIMMED,),
}
REPLICA_SCENARIOS: Final = tuple(LAYOUTS_OF)
