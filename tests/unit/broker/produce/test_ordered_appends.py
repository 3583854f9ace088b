"""Appends that wait: in order for each sender, whatever becomes of their connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from millstream.broker.node.tasks import NodeTasks
from millstream.broker.produce.ordered_appends import OrderedAppends
from millstream.errors import NotEnoughReplicas
from millstream.net.client.tasks import TaskGroup


def work(log: list[str], name: str, gate: asyncio.Event | None = None) -> Callable[[], object]:
    async def run() -> str:
        if gate is not None:
            await gate.wait()
        log.append(name)
        return name

    return run


async def test_appends_of_one_sender_keep_their_order() -> None:
    log: list[str] = []
    gate = asyncio.Event()
    async with TaskGroup() as group:
        appends = OrderedAppends(NodeTasks(group))
        first = appends.run(7, work(log, "first", gate))
        second = appends.run(7, work(log, "second"))
        other = appends.run(8, work(log, "other"))
        assert await other == "other"
        assert (appends.is_waiting(7), appends.is_waiting(8)) == (True, False)
        gate.set()
        assert (await first, await second) == ("first", "second")
    assert log == ["other", "first", "second"]
    assert not appends.is_waiting(7)


async def test_an_append_goes_on_when_nobody_waits_for_it_any_more() -> None:
    log: list[str] = []
    gate = asyncio.Event()
    async with TaskGroup() as group:
        appends = OrderedAppends(NodeTasks(group))
        waiter = group.create_task(_shielded(appends.run(7, work(log, "first", gate))))
        await asyncio.sleep(0)
        waiter.cancel()
        gate.set()
    assert log == ["first"]


async def _shielded(future: asyncio.Future[str]) -> str:
    return await asyncio.shield(future)


async def test_what_one_append_fails_with_is_its_own_matter() -> None:
    log: list[str] = []

    async def fail() -> str:
        raise NotEnoughReplicas

    async with TaskGroup() as group:
        appends = OrderedAppends(NodeTasks(group))
        failed, next_one = appends.run(7, fail), appends.run(7, work(log, "next"))
        with pytest.raises(NotEnoughReplicas):
            await failed
        assert await next_one == "next"


async def test_appends_that_wait_are_cancelled_together_at_a_stop() -> None:
    """The task of the one behind must not cancel what the one before has still to finish."""
    appended: list[str] = []
    never = asyncio.Event()
    async with TaskGroup() as group:
        appends = OrderedAppends(NodeTasks(group))
        before = asyncio.all_tasks()
        appends.run(7, work(appended, "first", never))
        (first,) = asyncio.all_tasks() - before
        appends.run(7, work(appended, "second"))
        (second,) = asyncio.all_tasks() - before - {first}
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        first.cancel()
    assert not appended
    assert not appends.is_waiting(7)
