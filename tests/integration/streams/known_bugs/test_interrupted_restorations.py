"""A restoration that is ended in the middle counts for as far as it came, whatever the task has written before."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from millstream.streams.runtime.steps import Step
from millstream.streams.runtime.tasks.task_start import TaskStart
from tests.integration.streams.runtime.held_reader import HeldReader, held
from tests.integration.streams.runtime.world import Crash, World

COUNT = 1
"""The sub-topology that counts."""
RESTORED = 2


async def test_a_restoration_that_was_ended_is_not_taken_for_a_whole_one(world: World) -> None:
    """KAFKA-16017: the end of what a task had written became its checkpoint.

    1. A task writes to its changelog, so that it knows the changelog's end. 2. It is found to be corrupted: its stores are deleted. 3. They
    are restored. 4. The task is closed in the middle of that, in order, and writes the offsets that it knows as its checkpoint: those of 1.
    5. The next start believes the checkpoint, and the records between the middle and the end are missing.
    """
    await world.put(list("abcdef"))
    await world.run_all()
    await world.put(list("abc"))
    await world.run(0)
    world.crash_at = Step.PRODUCED
    with pytest.raises(Crash):
        await world.run(COUNT)
    shutil.rmtree(world.directory)
    reader = HeldReader(world.reader, RESTORED)

    async def end_it() -> None:
        await reader.is_held.wait()
        starting.cancel()

    async with asyncio.TaskGroup() as tasks:
        starting = tasks.create_task(TaskStart(world.spec(COUNT), 0, held(world, reader)).start())
        tasks.create_task(end_it())
    assert starting.cancelled()
    assert (await world.run(COUNT)).restored == len("abcdef") - RESTORED
    assert await world.results() == [
        *((word, 1) for word in "abcdef"), *((word, 2) for word in "abc"),
    ]  # fmt: skip
