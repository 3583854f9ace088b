"""A task that becomes a copy and then a task again has forgotten what its cache held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from millstream.streams.runtime.tasks.standby_task import StandbyTask
from tests.integration.streams.runtime.world import World

COUNT = 1
"""The sub-topology that counts."""
PLENTY = 1_000


@pytest.mark.parametrize("records_max", [1, PLENTY], ids=["behind", "caught up"])
async def test_a_task_that_comes_back_reads_what_others_have_written_meanwhile(
    world: World, tmp_path: Path, records_max: int
) -> None:
    """KAFKA-14172 (apache/kafka#12540): the cache outlived the time as a standby task, and hid what was restored.

    1. A task with a cache counts a key, and commits: the row stays in the cache. 2. It becomes a standby task, whose store is restored below the
    cache, while another instance counts the key on. 3. It takes over again, perhaps before the copy has caught up, and reads the row of 1. from
    the cache: the counts between are lost.
    """
    world.config = replace(world.config, cache_max_bytes=1 << 20)
    await world.put(["a", "b"])
    await world.run_all()
    copy = StandbyTask(world.spec(COUNT), 0, world.environment())
    await copy.open()
    async with world.second_owner(tmp_path / "there") as other:
        other.config = world.config
        for _ in range(3):
            await other.put(["a"])
            await other.run_all()
    await copy.catch_up(records_max)
    await copy.close()
    await world.put(["a"])
    await world.run_all()
    assert await world.results() == [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("a", 4), ("a", 5)]
