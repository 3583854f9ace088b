"""What a task manager makes of tasks, whoever its host is: a stream thread, or a task host of Spark's."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import cast

import pytest

from millstream.clients import CommitFailed
from millstream.errors import ProducerFenced
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.runtime.errors import StoreLocked
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.runtime.tasks import task_manager
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from millstream.streams.runtime.tasks.task import Task
from millstream.streams.runtime.tasks.task_manager import TaskManager
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.runtime.tasks.task_state import TaskLifeState
from tests.unit.streams.application.manual_clock import MovedClock

CONFIG = StreamsConfig(application_id="app", task_timeout_ms=60_000)


def spec() -> TaskSpec:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    return TaskSpec(topology=builder.build(), sub_topology=0, config=CONFIG, state_directory="")


@dataclass
class Opened:
    """Stands for an attempt, and for the task that it opens."""

    host: Host
    task: Task
    id: str = "0_0"

    async def start(self) -> Opened:
        self.host.trace.append(f"starts as {self.task.state}")
        error = next(self.host.failures, None)
        if error is not None:
            raise error
        return self

    async def close(self) -> None:
        self.host.trace.append(f"closed as {self.task.state}")
        if self.host.is_disorderly:
            raise KeyError("a processor's")


@dataclass
class Host:
    """Makes tasks that do nothing, and notes what becomes of them."""

    errors: list[Exception] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    is_disorderly: bool = False

    def __post_init__(self) -> None:
        self.failures = iter(self.errors)
        self.manager = TaskManager[str](self, MovedClock(), "host")

    async def create_active_task(self, _key: str, task: Task) -> TaskStart:
        return cast("TaskStart", Opened(self, task))

    async def create_standby_task(self, _key: str, task: Task) -> StandbyTask | None:
        return cast("StandbyTask", Opened(self, task))

    async def until_restored(self) -> None:
        while not self.manager.is_settled:
            await asyncio.sleep(0)
            for key, task in self.manager.complete_restorations():
                self.trace.append(f"{key} is {task.state}")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RETRY_FIRST_S", "RETRY_LAST_S"):
        monkeypatch.setattr(task_manager, name, 0.0)


async def test_a_task_runs_once_its_host_takes_it_up() -> None:
    host = Host([StoreLocked("another process has the stores")])
    task = host.manager.create("a", spec(), 0)
    host.manager.begin_restoring("a")
    assert (task.state, host.manager.running("a")) == (TaskLifeState.CREATED, None)
    await host.until_restored()
    assert host.trace == ["starts as RESTORING", "starts as RESTORING", "a is RUNNING"]
    assert host.manager.running("a") is task.active


async def test_a_failed_task_is_closed_before_its_next_attempt() -> None:
    host = Host()
    task = host.manager.create("a", spec(), 0)
    await host.manager.restore("a")
    await host.manager.revive("a", ProducerFenced("another instance has it"))
    assert (task.state, host.manager.running("a")) == (TaskLifeState.CREATED, None)
    await host.until_restored()
    assert host.trace == [
        "starts as RESTORING",
        "closed as SUSPENDED",
        "starts as RESTORING",
        "a is RUNNING",
    ]
    assert (host.manager.created, host.manager.closed) == (2, 1)


async def test_a_task_that_is_closed_clean_commits_when_it_processes_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = Host()
    for key in ("a", "b"):
        host.manager.create(key, spec(), 0)
        await host.manager.restore(key)
    host.manager.create("c", spec(), 0, is_standby=True)
    await host.manager.standby("c")

    async def commit(key: str, _: ActiveTask) -> None:
        host.trace.append(f"{key} commits")
        if key == "b":
            raise CommitFailed("the group went on")

    host.trace.clear()
    await host.manager.close(("a", "b", "c", "not here"), commit)
    assert sorted(host.trace) == ["a commits", "b commits", *["closed as SUSPENDED"] * 3]
    assert "host task [0_0] was given up uncommitted: the group went on" in caplog.text
    assert host.manager.tasks(is_standby=False) == host.manager.tasks(is_standby=True) == {}


async def test_what_a_processor_raises_when_it_is_closed_is_told_and_holds_up_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = Host(is_disorderly=True)
    task = host.manager.create("a", spec(), 0)
    await host.manager.restore("a")
    await host.manager.close(("a",), None)
    assert task.state is TaskLifeState.CLOSED
    assert 'task 0_0 was not closed in order: "a processor\'s"' in caplog.text


async def test_a_task_that_is_given_up_while_it_is_restored_leaves_nothing_open() -> None:
    host = Host()
    task = host.manager.create("a", spec(), 0)
    host.manager.begin_restoring("a")
    for _ in range(5):
        await asyncio.sleep(0)
    assert task.state is TaskLifeState.RESTORING
    await host.manager.close(("a",), None)
    assert host.trace == ["starts as RESTORING", "closed as SUSPENDED"]
    assert (host.manager.is_settled, host.manager.created) == (True, 0)


async def test_a_task_that_has_just_been_restored_is_closed_also_where_the_closing_is_cancelled() -> (
    None
):
    host = Host()
    task = host.manager.create("a", spec(), 0)
    host.manager.begin_restoring("a")
    for _ in range(5):
        await asyncio.sleep(0)
    assert task.active is not None
    closing = asyncio.ensure_future(host.manager.close(("a",), None))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert host.trace == ["starts as RESTORING", "closed as SUSPENDED"]


@pytest.mark.parametrize("error", [TimeoutError("no answer"), ConnectionResetError("no broker")])
async def test_a_last_commit_that_the_network_prevents_is_no_failure_of_the_host(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    host = Host()
    host.manager.create("a", spec(), 0)
    await host.manager.restore("a")

    async def commit(_key: str, _: ActiveTask) -> None:
        raise error

    await host.manager.close(("a",), commit)
    assert host.trace[-1] == "closed as SUSPENDED"
    assert f"host task [0_0] was given up uncommitted: {error}" in caplog.text
