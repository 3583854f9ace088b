"""The stores that a killed task has left are a base for a copy, and for the task when it comes back."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from millstream.clients import Admin
from millstream.errors import NotLeaderOrFollower
from millstream.streams.queries import KeyQuery, StateQueryRequest
from millstream.streams.runtime.steps import Step
from millstream.streams.runtime.tasks import opening
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from tests.integration.streams.runtime.world import Crash, World

COUNT = 1
"""The sub-topology that counts."""
PLENTY = 1_000


@asynccontextmanager
async def killed_at(world: World, step: Step, directory: Path) -> AsyncIterator[World]:
    """Another process that begins with the files of a task that was killed after a step, as they were then."""
    task = await world.start(COUNT)
    world.crash_at = step
    with pytest.raises(Crash):
        await task.run(await world.ends(world.spec(COUNT).sources))
    shutil.copytree(world.directory, directory)
    await task.close()
    async with world.second_owner(directory) as there:
        yield there


async def count_of(standby: StandbyTask, world: World, word: str) -> object:
    (store,) = world.topology.stores
    answer = await standby.query(StateQueryRequest(store, KeyQuery(word)))
    assert answer is not None
    return answer.value


@pytest.mark.parametrize("step", [Step.PROCESSED, Step.PRODUCED, Step.OFFSETS_SENT])
async def test_what_was_not_committed_is_not_in_the_copy_nor_in_the_task_that_follows(
    world: World, tmp_path: Path, step: Step
) -> None:
    """KAFKA-9891: a standby task went on with stores that held what an aborted transaction had written.

    1. A task commits one key, processes another, writes it to its store, and crashes before the commit. 2. Another instance takes over. 3. The
    first one is back, as a standby: it has stores and no checkpoint, and restores over what is there. 4. It takes over again, and finds the
    second key as if it had been counted.
    """
    await world.put(["a"])
    await world.run_all()
    await world.put(["b"])
    await world.run(0)
    async with killed_at(world, step, tmp_path / "there") as there:
        standby = StandbyTask(there.spec(COUNT), 0, there.environment())
        assert await standby.catch_up(PLENTY) >= 0
        assert await count_of(standby, there, "a") == 1
        assert await count_of(standby, there, "b") is None
        await world.run(COUNT)
        await standby.catch_up(PLENTY)
        assert await count_of(standby, there, "b") == 1
        await standby.close()
        await there.put(["b"])
        await there.run_all()
    assert await world.results() == [("a", 1), ("b", 1), ("b", 2)]


class FailsOnce:
    """An administrator whose first question about topics is not answered."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._has_failed = False

    def __getattr__(self, name: str) -> Any:  # Any: whatever else an administrator has
        return getattr(self._admin, name)

    async def describe_topics(self, *names: Any, **settings: Any) -> Any:  # Any: as the real one
        if not self._has_failed:
            self._has_failed = True
            raise NotLeaderOrFollower
        return await self._admin.describe_topics(*names, **settings)


async def test_a_copy_that_fails_as_it_begins_leaves_its_stores_free(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KAFKA-9727: a standby task that was found corrupted as it was opened kept the lock of its stores.

    1. A task is killed in its first run, so that nothing is committed and its stores have no checkpoint. 2. It becomes a standby task, which
    opens its stores, misses the checkpoint and fails. 3. It is closed before it counts as opened, so that its stores are not. 4. The next attempt
    finds the lock taken, for ever.
    """
    monkeypatch.setattr(opening, "OPEN_TIMEOUT_MS", 0)  # who finds a lock does not wait
    await world.put(["a"])
    await world.run(0)
    async with killed_at(world, Step.PRODUCED, tmp_path / "there") as there:
        admin, there.admin = there.admin, cast("Admin", FailsOnce(there.admin))
        standby = StandbyTask(there.spec(COUNT), 0, there.environment())
        with pytest.raises(NotLeaderOrFollower):
            await standby.catch_up(PLENTY)
        await standby.close()
        there.admin = admin
        again = StandbyTask(there.spec(COUNT), 0, there.environment())
        await again.catch_up(PLENTY)
        assert await count_of(again, there, "a") is None
        await again.close()
        await there.run(COUNT)
    assert await world.results() == [("a", 1)]
