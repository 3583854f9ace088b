"""The states of a task, and for how long it is tried again and again without progress (task.timeout.ms)."""

from __future__ import annotations

from typing import cast

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.streams import StreamsConfig
from millstream.streams.errors import TaskTimedOut
from millstream.streams.queries import KeyQuery, QueryResult, StateQueryRequest
from millstream.streams.runtime.errors import StoreLocked
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.task import Task
from millstream.streams.runtime.tasks.task_state import (
    TRANSITIONS,
    TaskLifeState,
    require_transition,
)
from millstream.streams.topology import Topology

LOCKED = StoreLocked("another process has the stores")


def task(timeout_ms: int) -> Task:
    config = StreamsConfig(application_id="app", task_timeout_ms=timeout_ms)
    spec = TaskSpec(
        topology=Topology({}, {}, ()), sub_topology=0, config=config, state_directory=""
    )
    return Task(spec, 1)


def test_failures_are_borne_until_the_time_is_over_and_the_last_one_is_told() -> None:
    failing = task(timeout_ms=1_000)
    failing.maybe_init_timeout_or_raise(LOCKED, now_ms=5_000)
    failing.maybe_init_timeout_or_raise(LOCKED, now_ms=5_999)
    with pytest.raises(TaskTimedOut, match="task 0_1 made no progress within 1000 ms") as told:
        failing.maybe_init_timeout_or_raise(LOCKED, now_ms=6_000)
    assert "StoreLocked: another process has the stores" in str(told.value)
    assert told.value.__cause__ is LOCKED


def test_progress_begins_the_time_anew() -> None:
    failing = task(timeout_ms=1_000)
    failing.maybe_init_timeout_or_raise(LOCKED, now_ms=0)
    failing.clear_timeout()
    failing.maybe_init_timeout_or_raise(LOCKED, now_ms=1_000)
    with pytest.raises(TaskTimedOut):
        failing.maybe_init_timeout_or_raise(LOCKED, now_ms=2_000)


def test_no_time_at_all_ends_it_at_the_first_failure() -> None:
    with pytest.raises(TaskTimedOut):
        task(timeout_ms=0).maybe_init_timeout_or_raise(LOCKED, now_ms=7)


def test_states_follow_each_other_as_in_kafka_streams() -> None:
    """Task.State has these ways, and one back from SUSPENDED to RESTORING, for which a task is made anew here."""
    ways = {
        before.name: [after.name for after in following]
        for before, following in TRANSITIONS.items()
    }
    assert ways == {
        "CREATED": ["RESTORING", "SUSPENDED"],
        "RESTORING": ["RUNNING", "SUSPENDED"],
        "RUNNING": ["SUSPENDED"],
        "SUSPENDED": ["CLOSED"],
        "CLOSED": ["CREATED"],
    }
    with pytest.raises(IllegalState, match="task 0_1 is CREATED and cannot become RUNNING"):
        require_transition("0_1", TaskLifeState.CREATED, TaskLifeState.RUNNING)


async def test_a_task_is_closed_once_whatever_its_state_and_can_be_revived() -> None:
    closed = task(timeout_ms=0)
    for _ in range(2):
        await closed.close()
        assert closed.state is TaskLifeState.CLOSED
    closed.enter(TaskLifeState.CREATED)
    await closed.close_and_revive()
    assert closed.state is TaskLifeState.CREATED


async def test_a_task_that_is_closed_to_be_revived_is_still_here_for_who_asks() -> None:
    """Without it the rows of other partitions would pass for all."""
    request = StateQueryRequest("counts", KeyQuery("a"), require_active=True)
    failed, answers = task(timeout_ms=0), list[QueryResult | None]()

    class Open:
        async def close(self) -> None:
            answers.append(await failed.query(request))

    failed.active = cast("ActiveTask", Open())
    await failed.close_and_revive()
    failed.active = cast("ActiveTask", Open())
    await failed.close()
    revived, given_up = answers
    assert revived is not None
    assert revived.is_being_restored
    assert given_up is None
