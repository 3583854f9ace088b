"""Short stories of share groups and streams groups whose coordinators, and whose partitions, move. Controllers and brokers are apart: nodes 1 to 3, and 4 to 6."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from millstream.coordinator.record import partition_for
from millstream.testing.history import History
from tests.sim.cluster.clients import EVENTS, Workload, all_end
from tests.sim.cluster.group_clients import (
    SHARERS,
    STREAMERS,
    Place,
    ShareReaders,
    StreamsMembers,
)
from tests.sim.cluster.node import SimNode
from tests.sim.cluster.replica_scenarios import (
    a_while,
    all_but,
    close,
    image_of,
    open_again,
    parts,
)
from tests.sim.cluster.world import REPLICATED_APART, ClusterWorld, Layout

OFFSETS: Final = "__consumer_offsets"
SHARE_STATE: Final = "__share_group_state"
_GROUPS: Final = replace(
    REPLICATED_APART,
    name="three controllers, three brokers, locks of 15 s",
    more_settings=(
        ("group.share.record.lock.duration.ms", "15000"),
        ("group.share.delivery.count.limit", "10"),
    ),
)
"""The shortest locks that there are, and the most deliveries: an answer that is lost with its connection is a delivery, too."""
_ALL_GIVEN_WITHIN_S: Final = 90
"""Locks of members that are gone end after 15 s, a fetch that was swallowed after 30 s."""
_SETTLED_WITHIN_S: Final = 60
"""Sessions of members that left without a word end after 45 s."""
_TASKS: Final = [0, 1, 2]
Part = tuple[str, int]


@asynccontextmanager
async def at_work(
    world: ClusterWorld, work: Workload, clients: Sequence[Coroutine[Any, Any, None]]
) -> AsyncIterator[None]:
    """The clients at work; then all is healed. Whoever uses it waits for what must be then, and says that the work is over."""
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(each) for each in clients]
    try:
        await asyncio.sleep(2)
        yield
        work.is_over = True
        await all_end(tasks)
        await work.check()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def share_groups_through_moves(world: ClusterWorld) -> None:
    """Leaders of what is read, of the state of share partitions and of the group go, one after the other: what was accepted is given to nobody again."""
    await world.start()
    work = Workload(world, loses_power=False)
    await work.begin()
    readers = ShareReaders(work)
    await readers.begin()
    clients = [work.produce(), work.produce("second"), readers.read("a"), readers.read("b")]
    async with at_work(world, work, clients):
        await asyncio.sleep(6)  # until the state has its topic
        for _ in range(4):
            await one_leader_goes(world, lambda: chosen_of_share_group(world))
        await world.heal()
        work.is_quiet = True
        await asyncio.sleep(2)
        places = await all_places(work)
        await world.until(
            lambda: places <= readers.delivered.keys(), _ALL_GIVEN_WITHIN_S, "all records are given to somebody"
        )  # fmt: skip
        assert readers.accepted, "nobody has accepted anything"


async def streams_groups_through_moves(world: ClusterWorld) -> None:
    """The coordinator of a streams group goes, again and again, while members come: each task stays in one pair of hands, and nobody is forgotten."""
    await world.start()
    work = Workload(world, loses_power=False)
    await work.begin()
    members = StreamsMembers(work)
    loop = asyncio.get_running_loop()
    async with at_work(world, work, [members.stream("a"), members.stream("b")]):
        await asyncio.sleep(8)
        for round_ in range(3):
            await one_leader_goes(
                world, lambda: (OFFSETS, partition_for(STREAMERS, len(parts(world, OFFSETS))))
            )
            if round_ == 0:
                late = loop.create_task(members.stream("c"))
        await world.heal()
        await world.until(
            lambda: members.owned() == _TASKS, _SETTLED_WITHIN_S, "each task is owned by one member"
        )
        work.is_over = True
        await all_end([late])


def chosen_of_share_group(world: ClusterWorld) -> Part:
    """One of the partitions that a share group needs."""
    group = (OFFSETS, partition_for(SHARERS, len(parts(world, OFFSETS))))
    others = [(topic, each.partition) for topic in (EVENTS, SHARE_STATE) for each in parts(world, topic)]  # fmt: skip
    return world.chance.choice([group, *others])


async def one_leader_goes(world: ClusterWorld, chosen: Callable[[], Part]) -> None:
    """The leader of a partition is killed, stands still or is cut off, until another one leads; then it comes back."""
    image = image_of(world, *chosen())
    if not image.has_leader:
        return
    leader = world.nodes[int(image.leader)]
    how = world.chance.choice([_killed, _paused, _cut_off])
    await how(world, leader)
    await a_while(world, 6, 1)


async def _killed(world: ClusterWorld, node: SimNode) -> None:
    node.kill()
    await a_while(world, 14, 1)
    node.start()


async def _paused(world: ClusterWorld, node: SimNode) -> None:
    node.pause()
    await a_while(world, 14, 10)
    node.resume()


async def _cut_off(world: ClusterWorld, node: SimNode) -> None:
    close(world, node, *all_but(world, node))
    await a_while(world, 14, 10)
    open_again(world, node, *all_but(world, node))


async def all_places(work: Workload) -> set[Place]:
    """Of all records that there are."""
    found = History()
    await work.read_all(found, EVENTS, "read_uncommitted")
    return {(read.partition, read.offset) for poll in found.polls for read in poll.reads}


LAYOUTS_OF: Final[Mapping[Callable[..., object], tuple[Layout, ...]]] = {
    share_groups_through_moves: (_GROUPS,),
    streams_groups_through_moves: (REPLICATED_APART,),
}
GROUP_SCENARIOS: Final = tuple(LAYOUTS_OF)
