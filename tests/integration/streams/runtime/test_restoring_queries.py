"""Stores that are being restored can be asked: between two batches, for what they have by then."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from millstream.streams.queries import FailureReason, QueryResult, RangeQuery, StateQueryRequest
from millstream.streams.runtime.tasks.task_start import TaskStart
from tests.integration.streams.runtime.held_reader import HeldReader, held
from tests.integration.streams.runtime.world import World

COUNT = 1
"""The sub-topology that counts."""


async def test_a_store_that_is_being_restored_shows_what_it_has(world: World) -> None:
    await world.put(list("abab"))
    await world.run_all()
    there = replace(world.spec(COUNT), state_directory=str(world.directory / "elsewhere"))
    (store,) = there.topology.stores
    request = StateQueryRequest(store, RangeQuery())
    reader = HeldReader(world.reader, 2)
    start = TaskStart(there, 0, held(world, reader))

    async def asked() -> tuple[QueryResult | None, QueryResult | None]:
        await reader.is_held.wait()
        try:
            assert await start.stores.restored_to() == {f"{world.application}-{store}-changelog": 2}
            bound = replace(request, position_bound={"in": {0: 0}})
            return await start.stores.query(request), await start.stores.query(bound)
        finally:
            reader.goes_on.set()

    async with asyncio.TaskGroup() as tasks:
        starting = tasks.create_task(start.start())
        asking = tasks.create_task(asked())
    partial, bounded = asking.result()
    assert partial is not None
    assert partial.value == [("a", 1), ("b", 1)]
    assert partial.position == {}, "nobody knows how much of the input that is"
    assert bounded is not None
    assert bounded.failure is FailureReason.NOT_UP_TO_BOUND
    task = starting.result()
    assert (await task.query(request)).value == [("a", 2), ("b", 2)]
    await task.close()


async def test_a_start_that_was_given_up_answers_nothing(world: World) -> None:
    await world.put(list("abab"))
    await world.run_all()
    there = replace(world.spec(COUNT), state_directory=str(world.directory / "elsewhere"))
    (store,) = there.topology.stores
    reader = HeldReader(world.reader, 2)
    start = TaskStart(there, 0, held(world, reader))

    async def given_up() -> None:
        await reader.is_held.wait()
        starting.cancel()

    async with asyncio.TaskGroup() as tasks:
        starting = tasks.create_task(start.start())
        tasks.create_task(given_up())
    assert starting.cancelled()
    assert await start.stores.query(StateQueryRequest(store, RangeQuery())) is None
    assert await start.stores.restored_to() == {}
