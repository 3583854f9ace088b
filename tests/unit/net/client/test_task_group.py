"""A group of tasks: what ends in silence in one of the library has failed here."""

from __future__ import annotations

import asyncio
import warnings

import pytest

from millstream.net.client.tasks import TaskGroup


async def wait_for(answer: asyncio.Future[None]) -> None:
    await answer


async def test_a_loop_that_waits_for_what_is_cancelled_ends_its_group() -> None:
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    with pytest.RaisesGroup(
        pytest.RaisesExc(RuntimeError, match="what 'wait_for' waited for was cancelled")
    ):
        async with TaskGroup() as group:
            group.create_task(wait_for(answer))
            await asyncio.sleep(0)
            answer.cancel()
            await asyncio.Event().wait()


async def test_the_last_task_of_a_group_fails_it_too() -> None:
    """An answer would say that all is done."""
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(answer.cancel)
    with pytest.RaisesGroup(RuntimeError):
        async with TaskGroup() as group:
            group.create_task(wait_for(answer))


async def test_a_task_that_was_cancelled_ends_alone_also_before_its_first_step() -> None:
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with TaskGroup() as group:
            begun = group.create_task(wait_for(never))
            await asyncio.sleep(0)
            begun.cancel()
            group.create_task(wait_for(never)).cancel()
    assert begun.cancelled()


async def test_a_group_that_is_cancelled_cancels_its_tasks() -> None:
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run() -> None:
        async with TaskGroup() as group:
            group.create_task(wait_for(never))

    running = asyncio.get_running_loop().create_task(run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait((running,))
    assert running.cancelled()
    assert never.cancelled()
