"""Sessions of members whose applications are busy elsewhere."""

from __future__ import annotations

import asyncio

import pytest

from tests.sim.groups.world import GROUP, TOPICS, Client, World
from tests.sim.virtual_time import run_in_virtual_time

LONGER_THAN_A_SESSION_S = 120


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_who_takes_longer_than_a_session_between_polls_keeps_its_partitions(protocol: str) -> None:
    """Heartbeats go on without polls, until max_poll_interval_ms."""

    async def check() -> None:
        world = World(seed=1)
        slow = Client(world, "slow", protocol, max_poll_interval_ms=300_000)
        world.clients.append(slow)
        slow.subscribe("t")
        while len(slow.held) < TOPICS["t"]:
            await slow.poll(100)
        member_id, held = slow.member_id, set(slow.held)
        await asyncio.sleep(LONGER_THAN_A_SESSION_S)
        group = world.coordinator.shard.groups.find(GROUP)
        assert group is not None
        assert set(group.members) == {member_id}
        await slow.poll(0)
        assert (slow.member_id, slow.held) == (member_id, held)
        await slow.close()

    run_in_virtual_time(check())
