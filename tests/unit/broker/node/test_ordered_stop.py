"""A shutdown takes every step, and tells at its end what failed; nothing is begun any more once a task has."""

from __future__ import annotations

import asyncio
import logging

import pytest

from millstream.broker.node.tasks import NodeTasks, OrderedStop
from millstream.broker.node_state import BrokerLife, BrokerState
from millstream.net.client.tasks import TaskGroup


async def test_an_error_in_one_step_keeps_no_other_from_being_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    taken: list[str] = []

    async def fails() -> None:
        taken.append("second")
        raise OSError("disk gone")

    async def works() -> None:
        taken.append("third")

    stop = OrderedStop()
    stop.take("first", lambda: 1 / 0)
    await stop.wait("second", fails)
    await stop.wait("third", works)
    assert taken == ["second", "third"]
    assert [record.message for record in caplog.records] == [
        "shutdown: first failed: division by zero",
        "shutdown: second failed: disk gone",
    ]
    unforeseen, told = caplog.records
    assert unforeseen.exc_info is not None
    assert told.exc_info is None, "a disk that is full is no matter for a traceback"
    with pytest.raises(ZeroDivisionError):
        stop.raise_first()


def test_nothing_is_raised_when_all_went_well() -> None:
    taken: list[str] = []
    stop = OrderedStop()
    stop.take("only", lambda: taken.append("only"))
    stop.raise_first()
    assert taken == ["only"]


def test_states_are_logged_once_with_kafkas_numbers(caplog: pytest.LogCaptureFixture) -> None:
    life = BrokerLife()
    assert life.state == 0
    with caplog.at_level(logging.INFO):
        life.enter(BrokerState.STARTING)
        life.enter(BrokerState.STARTING)
        life.enter(BrokerState.RECOVERY)
    assert [record.message for record in caplog.records] == [
        "NOT_RUNNING -> STARTING",
        "STARTING -> RECOVERY",
    ]
    assert {state.name: state.value for state in BrokerState} == {
        "NOT_RUNNING": 0, "STARTING": 1, "RECOVERY": 2, "RUNNING": 3, "PENDING_CONTROLLED_SHUTDOWN": 6,
        "SHUTTING_DOWN": 7, "UNKNOWN": 127,
    }  # fmt: skip


async def test_nothing_is_started_any_more_once_a_task_has_failed() -> None:
    """The failure is the node's, and nothing that its last turn leads to."""

    async def fail() -> None:
        raise ValueError("bug")

    async def ask_for_more(tasks: NodeTasks) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            tasks.start(asyncio.sleep(0), "one more")

    async def live() -> None:
        async with TaskGroup() as group:
            tasks = NodeTasks(group)
            tasks.start(ask_for_more(tasks), "busy")
            await asyncio.sleep(0)
            tasks.start(fail(), "failing")

    with pytest.raises(ExceptionGroup) as failed:
        await live()
    assert [str(each) for each in failed.value.exceptions] == ["bug"]
