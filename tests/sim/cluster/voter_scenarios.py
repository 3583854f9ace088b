"""Short stories of a quorum whose voters administrators add and remove. Controllers, nodes 1 to 5, of which three vote at first, and brokers are apart."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from millstream.clients.admin import Admin, RaftVoterEndpoint
from millstream.errors import MillstreamError
from millstream.model import Uuid, uuid_from_text
from millstream.net.client.core.addresses import Address
from tests.sim.cluster.clients import Workload, all_end
from tests.sim.cluster.faults import (
    Faults,
    isolate,
    kill,
    kill_and_start_at_once,
    pause,
    slow_disk,
    stop,
    storm,
)
from tests.sim.cluster.node import SimNode
from tests.sim.cluster.world import APART_DYNAMIC, ClusterWorld, Layout

_WITH_SPARES: Final = replace(
    APART_DYNAMIC,
    name="five controllers, of which three vote at first, and two brokers",
    controllers=5,
    spare_controllers=2,
)
_FEWEST: Final = 2
"""Voters that an administrator leaves."""
_FAULTS: Final = (kill, kill_and_start_at_once, pause, isolate, stop, slow_disk, storm)
_TRUE_WITHIN_S: Final = 30
_CHANGE_MS: Final = 8_000
_CONTROLLER_PORT: Final = 9093
_META_PROPERTIES: Final = "/data/meta.properties"


@dataclass
class VoterAdministrators:
    """They add and remove voters, and write down what they were told. Each has one controller, so that it knows which change of that was the last."""

    work: Workload
    votes: dict[int, bool | None] = field(default_factory=dict)
    """By controller whether it votes; None once a change has ended nobody knows how: what was asked for may come about much later."""
    changes: int = 0

    async def change(self, node: SimNode) -> None:
        """Adds and removes one controller by turns, until the work is over."""
        while not self.work.is_over:
            await asyncio.sleep(self.work.chance.uniform(0.1, 2))
            with contextlib.suppress(MillstreamError):
                async with self.work.admin() as admin:
                    await self._change(admin, node)

    async def _change(self, admin: Admin, node: SimNode) -> None:
        quorum = await admin.describe_metadata_quorum(timeout_ms=5_000)
        voters = {each.replica_id for each in quorum.voters}
        adds = node.id not in voters
        if not adds and len(voters) <= _FEWEST:
            return
        known, self.votes[node.id] = self.votes.get(node.id, not adds), None
        directory = directory_of(node)
        if adds:
            await admin.add_raft_voter(
                node.id, directory, [endpoint_of(node)], timeout_ms=_CHANGE_MS
            )
        else:
            await admin.remove_raft_voter(node.id, directory, timeout_ms=_CHANGE_MS)
        self.changes += 1
        self.votes[node.id] = None if known is None else adds


def endpoint_of(node: SimNode) -> RaftVoterEndpoint:
    return RaftVoterEndpoint("CONTROLLER", Address(node.host, _CONTROLLER_PORT))


def directory_of(node: SimNode) -> Uuid:
    """The id of its data directory, from its disk."""
    found = re.search(rb"(?m)^directory\.id=(\S+)$", node.disk.read(_META_PROPERTIES))
    assert found is not None, "a formatted directory has an id"
    return uuid_from_text(found[1].decode())


def leader(world: ClusterWorld) -> SimNode | None:
    """Whoever counts as the newest leader, if it runs."""
    led = world.observer.leader_of
    node = world.nodes[int(led[max(led)].split(",")[0].removeprefix("node "))]
    return node if node.is_ready else None


def voters(world: ClusterWorld) -> set[int]:
    """As the leader counts with them."""
    node = leader(world)
    known = None if node is None or node.life is None else node.life.voters
    return set() if known is None else {int(each) for each in known.ids}


async def voters_by_administrators(world: ClusterWorld) -> None:
    """Five administrators add and remove voters, while controllers are killed, stand still and are cut off: one majority at a time, and what was told is so."""
    await world.start()
    work = Workload(world)
    await work.begin()
    administrators = VoterAdministrators(work)
    loop = asyncio.get_running_loop()
    clients = [
        loop.create_task(each)
        for each in (
            work.administer(),
            *(administrators.change(node) for node in world.controllers),
        )
    ]
    try:
        happening = Faults(world)
        await happening.happen(_FAULTS, 40)
        await happening.end()
        await world.heal()
        work.is_over = True
        await all_end(clients)
        told = {node: votes for node, votes in administrators.votes.items() if votes is not None}
        await world.until(
            lambda: all((node in voters(world)) == votes for node, votes in told.items()),
            _TRUE_WITHIN_S,
            f"the voters are as administrators were told ({told})",
        )
        work.check_created()
        world.observer.paths["voters changed"] += administrators.changes
    finally:
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


LAYOUTS_OF: Final[Mapping[Callable[..., object], tuple[Layout, ...]]] = {
    voters_by_administrators: (_WITH_SPARES,),
}
VOTER_SCENARIOS: Final = tuple(LAYOUTS_OF)
