"""The tasks of a node: one that fails ends the node, one that is cancelled ends alone."""

from __future__ import annotations

import asyncio

import pytest

from millstream.broker.node.tasks import NodeTasks
from millstream.net.client.tasks import TaskGroup


async def wait_for(answer: asyncio.Future[None]) -> None:
    await answer


async def test_a_task_that_waits_for_what_is_cancelled_ends_the_node() -> None:
    """A node whose heartbeats have ended so was fenced for good, and said nothing."""
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    with pytest.RaisesGroup(
        pytest.RaisesExc(RuntimeError, match="what 'heartbeats' waited for was cancelled")
    ):
        async with TaskGroup() as group:
            NodeTasks(group).start(wait_for(answer), "heartbeats")
            await asyncio.sleep(0)
            answer.cancel()
            await asyncio.Event().wait()


async def test_a_task_that_is_cancelled_ends_alone() -> None:
    ended: list[str] = []

    async def end_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async with TaskGroup() as group:
        tasks = NodeTasks(group)
        tasks.start(end_itself(), "one")
        await asyncio.sleep(0.001)
        ended.append("the node goes on")
    assert ended


async def test_the_tasks_of_a_node_that_ends_are_cancelled() -> None:
    async with TaskGroup() as group:
        tasks = NodeTasks(group)
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tasks.start(wait_for(never), "one")
        await asyncio.sleep(0)
        tasks.cancel_all()
    assert never.cancelled()
