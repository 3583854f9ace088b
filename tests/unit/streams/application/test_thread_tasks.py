"""The tasks of a stream thread: what is tried again when one cannot be started."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

import pytest

from millstream.clients import Consumer, TopicDeleted
from millstream.errors import ProducerFenced, RebalanceInProgress
from millstream.model import TopicPartition
from millstream.runtime import Clock
from millstream.runtime.system import SystemClock
from millstream.streams import Materialized, StreamsBuilder, StreamsConfig
from millstream.streams.application import thread_tasks as thread_tasks_module
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.queued_bytes import QueuedBytes
from millstream.streams.application.thread_tasks import ThreadTasks
from millstream.streams.errors import TaskTimedOut
from millstream.streams.queries import FailureReason, QueryResult, RangeQuery, StateQueryRequest
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.errors import StoreLocked
from millstream.streams.runtime.report import ProcessedWork, TaskReport
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.upstreams.progress import TaskProgress
from millstream.streams.topology import Topology
from millstream.streams.topology.alignment import NOTHING_ALIGNED
from tests.unit.streams.application.manual_clock import MovedClock

TASK = StreamsTaskId(0, 0)


class WithoutUpstreams:
    """Has no repartition topics."""

    aligned = NOTHING_ALIGNED
    progress = TaskProgress()
    held = MappingProxyType[str, int]({})


class AssignedOnly:
    """Stands for a consumer, of which these tasks use nothing else."""

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        assert list(partitions) == []


def thread_tasks(
    task_timeout_ms: int,
    consumer: object = None,
    buffered_records: int = 10_000,
    clock: Clock | None = None,
) -> ThreadTasks:
    config = StreamsConfig(
        application_id="app",
        task_timeout_ms=task_timeout_ms,
        buffered_records_per_partition=buffered_records,
    )
    environment = TaskEnvironment(
        cast("TaskClients", None), clock or SystemClock(), ThreadPoolExecutor(1)
    )  # no client is asked
    return ThreadTasks(
        environment,
        cast("Consumer[bytes, bytes]", consumer or AssignedOnly()),
        None,
        config,
        lambda *_: None,
        standbys_changed=lambda: None,
        log_prefix="thread",
    )


async def settle(tasks: ThreadTasks) -> None:
    while not tasks.is_settled:
        await asyncio.sleep(0)
        tasks.settle()


@pytest.fixture
def was_tried(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """No task can be started; this says when one was tried."""
    tried = asyncio.Event()

    async def start(*_: Any) -> ActiveTask:  # Any: what a task is started with
        tried.set()
        raise StoreLocked("another process has the stores")

    monkeypatch.setattr(ActiveTask, "start", start)
    return tried


SPEC = TaskSpec(
    topology=Topology({}, {}, ()),
    sub_topology=0,
    config=StreamsConfig(application_id="app"),
    state_directory="",
)


@pytest.mark.usefixtures("was_tried")
async def test_a_task_that_cannot_be_started_in_its_time_is_raised() -> None:
    tasks = thread_tasks(task_timeout_ms=0)
    tasks.take({TASK: SPEC})
    with pytest.raises(TaskTimedOut, match="StoreLocked: another process has the stores"):
        await settle(tasks)


async def test_until_then_it_is_tried_again_and_can_be_given_up(was_tried: asyncio.Event) -> None:
    tasks = thread_tasks(task_timeout_ms=60_000)
    tasks.take({TASK: SPEC})
    await was_tried.wait()
    tasks.settle()
    assert not tasks.is_settled
    await tasks.close(commit=True)
    assert tasks.is_settled


async def test_a_task_whose_first_commit_meets_a_rebalance_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At least once a task commits where it begins: all members of a classic group may have joined a new rebalance by then."""
    tried_twice, tries = asyncio.Event(), 0

    async def start(*_: Any) -> ActiveTask:  # Any: what a task is started with
        nonlocal tries
        tries += 1
        if tries == 2:
            tried_twice.set()
        raise RebalanceInProgress

    monkeypatch.setattr(ActiveTask, "start", start)
    tasks = thread_tasks(task_timeout_ms=60_000)
    tasks.take({TASK: SPEC})
    await tried_twice.wait()
    await tasks.close(commit=True)


async def test_a_task_that_misses_a_topic_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = iter([StoreLocked("another process has the stores"), TopicDeleted("in-1 is gone")])
    seen, is_last = [], asyncio.Event()

    async def start(*_: Any) -> ActiveTask:  # Any: what a task is started with
        seen.append(tasks.misses_topic)
        error = next(errors, None)
        if error is None:
            is_last.set()
            await asyncio.Event().wait()
        raise error or AssertionError("it waits")

    monkeypatch.setattr(ActiveTask, "start", start)
    monkeypatch.setattr(thread_tasks_module, "RETRY_FIRST_S", 0.0)
    tasks = thread_tasks(task_timeout_ms=60_000)
    tasks.take({TASK: SPEC})
    await is_last.wait()
    assert seen == [False, False, True]
    await tasks.close(commit=False)


async def test_all_tasks_are_closed_when_one_cannot_be_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[str] = []

    class Running(WithoutUpstreams):
        position = queued = MappingProxyType[str, int]({})
        has_queued = True
        next_punctuation_ms = None

        def __init__(self, number: int) -> None:
            self.id = str(number)

        async def process(self, **_: Any) -> ProcessedWork:  # Any: what it is told of lags
            return ProcessedWork(1)

        async def commit(self) -> TaskReport:
            raise OSError(f"the disk of {self.id} is gone")

        async def close(self) -> None:
            closed.append(self.id)

    async def start(_spec: TaskSpec, partition: int, *_: Any) -> Any:  # Any: stands for a task
        return Running(partition)

    monkeypatch.setattr(ActiveTask, "start", start)
    tasks = thread_tasks(task_timeout_ms=60_000)
    tasks.take({StreamsTaskId(0, number): SPEC for number in (0, 1)})
    await settle(tasks)
    await tasks.process(now_ms=1)
    with pytest.raises(OSError, match="the disk of 0 is gone"):
        await tasks.close(commit=True)
    assert closed == ["0", "1"]


@pytest.mark.parametrize(("due_ms", "has_more"), [(None, False), (6, False), (5, True)])
async def test_a_task_that_has_retries_left_is_not_kept_waiting_for_records(
    monkeypatch: pytest.MonkeyPatch, due_ms: int | None, has_more: bool
) -> None:
    class Running(WithoutUpstreams):
        position = queued = MappingProxyType[str, int]({})
        has_queued = False
        next_punctuation_ms: int | None = 5
        id = "0_0"

        async def process(self, **_: Any) -> ProcessedWork:  # Any: what it is told of lags
            self.next_punctuation_ms = due_ms
            return ProcessedWork(punctuations=1, punctuation_ms=100)

        async def close(self) -> None:
            pass

    async def start(*_: Any) -> Any:  # Any: stands for a task
        return Running()

    monkeypatch.setattr(ActiveTask, "start", start)
    tasks = thread_tasks(task_timeout_ms=60_000)
    tasks.take({TASK: SPEC})
    await settle(tasks)
    await tasks.process(now_ms=5)
    assert tasks.has_more is has_more
    await tasks.close(commit=False)


async def test_rounds_do_not_get_smaller_where_brokers_take_long_to_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At least once each round writes. Smaller ones wait as long, down to one record for each answer of a broker."""
    clock, sizes = MovedClock(), list[int]()

    class Running(WithoutUpstreams):
        position = queued = MappingProxyType[str, int]({})
        has_queued = True
        next_punctuation_ms = None
        id = "0_0"

        async def process(self, *, records_max: int, **_: Any) -> ProcessedWork:  # Any: lags
            sizes.append(records_max)
            clock.pass_ms(400)
            return ProcessedWork(records_max, writing_ms=400)

        async def close(self) -> None:
            pass

    async def start(*_: Any) -> Any:  # Any: stands for a task
        return Running()

    monkeypatch.setattr(ActiveTask, "start", start)
    tasks = thread_tasks(task_timeout_ms=60_000, clock=clock)
    tasks.take({TASK: SPEC})
    await settle(tasks)
    for _ in range(3):
        await tasks.process(now_ms=1)
    assert sizes == [128, 256, 512]
    await tasks.close(commit=False)


async def test_a_task_that_is_being_restored_answers_unless_it_is_to_be_active(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Restoring:
        async def query(self, _: StateQueryRequest) -> QueryResult:
            return QueryResult("partial")

        async def restored_to(self) -> dict[str, int]:
            return {"log": 3}

    is_shown = asyncio.Event()

    async def start(*arguments: Any) -> ActiveTask:  # Any: what a task is started with
        arguments[-1](Restoring())
        is_shown.set()
        await asyncio.Event().wait()
        raise AssertionError("it is given up before")

    monkeypatch.setattr(ActiveTask, "start", start)
    builder = StreamsBuilder()
    builder.table("rows", materialized=Materialized("rows"))
    tasks = thread_tasks(task_timeout_ms=60_000)
    tasks.take({TASK: replace(SPEC, topology=builder.build())})
    request = StateQueryRequest("rows", RangeQuery())
    assert await tasks.query(request) == {}
    assert await tasks.store_offsets() == {TASK: {}}
    await is_shown.wait()
    assert await tasks.query(request) == {0: QueryResult("partial")}
    assert await tasks.query(replace(request, partitions=(1,))) == {}
    refused = (await tasks.query(replace(request, require_active=True)))[0]
    assert refused.failure is FailureReason.NOT_ACTIVE
    assert refused.message.endswith("task 0_0 is being restored")
    assert await tasks.store_offsets() == {TASK: {"log": 3}}
    await tasks.close(commit=False)
    assert await tasks.query(request) == {}


async def test_a_partition_is_paused_above_its_bound_and_resumed_when_it_is_down_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace: list[str] = []

    class Traced:
        def assign(self, _: Iterable[TopicPartition]) -> None:
            """Says nothing new."""

        def pause(self, partitions: list[TopicPartition]) -> None:
            trace.append(f"pause {partitions[0]}")

        def resume(self, partitions: list[TopicPartition]) -> None:
            trace.append(f"resume {partitions[0]}")

    class Running(WithoutUpstreams):
        id = "0_0"
        position = MappingProxyType[str, int]({})
        queued = MappingProxyType({"in": 0})
        has_queued = False
        next_punctuation_ms = None

        async def close(self) -> None:
            """Has nothing open."""

    running = Running()

    async def start(*_: Any) -> Any:  # Any: stands for a task
        return running

    monkeypatch.setattr(ActiveTask, "start", start)
    tasks = thread_tasks(60_000, Traced(), buffered_records=3)
    tasks.take({TASK: SPEC})
    await settle(tasks)
    tasks._running[TASK].queued_bytes["in"] = QueuedBytes()
    for waiting in (2, 3, 4, 9, 4, 3, 0, 4):
        running.queued = MappingProxyType({"in": waiting})
        trace.append(str(waiting))
        await tasks.process(now_ms=1)
    assert trace == ["2", "3", "4", "pause in-0", "9", "4", "3", "resume in-0", "0", "4", "pause in-0"]  # fmt: skip
    await tasks.close(commit=False)


async def test_a_fenced_task_is_closed_without_a_commit_and_the_others_of_its_thread_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    did: list[str] = []

    class Running(WithoutUpstreams):
        position = queued = MappingProxyType[str, int]({})
        has_queued = True
        next_punctuation_ms = None

        def __init__(self, number: int) -> None:
            self.id = str(number)

        async def process(self, **_: Any) -> ProcessedWork:  # Any: what it is told of lags
            return ProcessedWork(1)

        async def commit(self) -> TaskReport:
            if self.id == "0":
                raise ProducerFenced("another instance has the task")
            did.append(f"{self.id} committed")
            return cast("TaskReport", None)

        async def close(self) -> None:
            did.append(f"{self.id} closed")

    fenced = Running(0)

    async def start(_spec: TaskSpec, partition: int, *_: Any) -> Any:  # Any: stands for a task
        return fenced if partition == 0 and "0 closed" not in did else Running(partition + 10)

    monkeypatch.setattr(ActiveTask, "start", start)
    tasks = thread_tasks(task_timeout_ms=60_000)
    tasks.take({StreamsTaskId(0, number): SPEC for number in (0, 1)})
    await settle(tasks)
    await tasks.process(now_ms=1)
    await tasks.commit()
    assert did == ["0 closed", "11 committed"]
    await tasks.close(commit=False)
