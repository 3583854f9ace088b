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
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.task_executor import QueuedBytes, TaskExecutor
from millstream.streams.errors import TaskTimedOut
from millstream.streams.queries import FailureReason, QueryResult, RangeQuery, StateQueryRequest
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.errors import StoreLocked
from millstream.streams.runtime.report import ProcessedWork, TaskReport
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks import task_manager
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.processor_state_manager import ProcessorStateManager
from millstream.streams.runtime.tasks.task_manager import TaskManager, ThreadTaskCreator
from millstream.streams.runtime.tasks.task_start import TaskStart
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


def passing_on() -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    return builder.build()


class ThreadTasks:
    """The tasks of a thread, without their clients."""

    def __init__(
        self,
        task_timeout_ms: int,
        consumer: object = None,
        buffered_records: int = 10_000,
        clock: Clock | None = None,
        topology: Topology | None = None,
    ) -> None:
        config = StreamsConfig(
            application_id="app",
            task_timeout_ms=task_timeout_ms,
            buffered_records_per_partition=buffered_records,
        )
        self._spec = TaskSpec(
            topology=topology or passing_on(),
            sub_topology=0,
            config=config,
            state_directory="",
        )
        environment = TaskEnvironment(
            cast("TaskClients", None), clock or SystemClock(), ThreadPoolExecutor(1)
        )  # no client is asked
        creator = ThreadTaskCreator(environment, None)
        self.manager = TaskManager[StreamsTaskId](creator, environment.clock, "thread")
        self.executor = TaskExecutor(
            self.manager,
            environment,
            cast("Consumer[bytes, bytes]", consumer or AssignedOnly()),
            config,
            lambda *_: None,
            log_prefix="thread",
        )

    def take(self, *tasks: StreamsTaskId) -> None:
        for task in tasks:
            self.manager.create(task, self._spec, task.partition)
            self.manager.begin_restoring(task)

    async def settle(self) -> None:
        while not self.manager.is_settled:
            await asyncio.sleep(0)
            self.executor.take_up_restored()


@pytest.fixture
def was_tried(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """No task can be started; this says when one was tried."""
    tried = asyncio.Event()

    async def start(*_: Any) -> ActiveTask:  # Any: what a task is started with
        tried.set()
        raise StoreLocked("another process has the stores")

    monkeypatch.setattr(TaskStart, "start", start)
    return tried


@pytest.mark.usefixtures("was_tried")
async def test_a_task_that_cannot_be_started_in_its_time_is_raised() -> None:
    tasks = ThreadTasks(task_timeout_ms=0)
    tasks.take(TASK)
    with pytest.raises(TaskTimedOut, match="StoreLocked: another process has the stores"):
        await tasks.settle()


async def test_until_then_it_is_tried_again_and_can_be_given_up(was_tried: asyncio.Event) -> None:
    tasks = ThreadTasks(task_timeout_ms=60_000)
    tasks.take(TASK)
    await was_tried.wait()
    tasks.executor.take_up_restored()
    assert not tasks.manager.is_settled
    await tasks.executor.close(commit=True)
    assert tasks.manager.is_settled


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

    monkeypatch.setattr(TaskStart, "start", start)
    tasks = ThreadTasks(task_timeout_ms=60_000)
    tasks.take(TASK)
    await tried_twice.wait()
    await tasks.executor.close(commit=True)


async def test_a_task_that_misses_a_topic_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = iter([StoreLocked("another process has the stores"), TopicDeleted("in-1 is gone")])
    seen, is_last = [], asyncio.Event()

    async def start(*_: Any) -> ActiveTask:  # Any: what a task is started with
        seen.append(tasks.manager.misses_topic)
        error = next(errors, None)
        if error is None:
            is_last.set()
            await asyncio.Event().wait()
        raise error or AssertionError("it waits")

    monkeypatch.setattr(TaskStart, "start", start)
    monkeypatch.setattr(task_manager, "RETRY_FIRST_S", 0.0)
    tasks = ThreadTasks(task_timeout_ms=60_000)
    tasks.take(TASK)
    await is_last.wait()
    assert seen == [False, False, True]
    await tasks.executor.close(commit=False)


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

    async def start(attempt: TaskStart) -> Any:  # Any: stands for a task
        return Running(attempt._partition)

    monkeypatch.setattr(TaskStart, "start", start)
    tasks = ThreadTasks(task_timeout_ms=60_000)
    tasks.take(StreamsTaskId(0, 0), StreamsTaskId(0, 1))
    await tasks.settle()
    await tasks.executor.process(now_ms=1)
    with pytest.raises(OSError, match="the disk of 0 is gone"):
        await tasks.executor.close(commit=True)
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

    monkeypatch.setattr(TaskStart, "start", start)
    tasks = ThreadTasks(task_timeout_ms=60_000)
    tasks.take(TASK)
    await tasks.settle()
    await tasks.executor.process(now_ms=5)
    assert tasks.executor.has_more is has_more
    await tasks.executor.close(commit=False)


async def test_rounds_do_not_get_smaller_where_brokers_take_long_to_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At least once each round writes. Smaller ones wait as long, down to one record for each answer of a broker.

    Nor where the machine is busy.
    """
    clock, sizes = MovedClock(), list[int]()

    class Running(WithoutUpstreams):
        position = queued = MappingProxyType[str, int]({})
        has_queued = True
        next_punctuation_ms = None
        id = "0_0"

        async def process(self, *, records_max: int, **_: Any) -> ProcessedWork:  # Any: lags
            sizes.append(records_max)
            clock.pass_ms(400)
            return ProcessedWork(records_max, records_ms=1)

        async def close(self) -> None:
            pass

    async def start(*_: Any) -> Any:  # Any: stands for a task
        return Running()

    monkeypatch.setattr(TaskStart, "start", start)
    tasks = ThreadTasks(task_timeout_ms=60_000, clock=clock)
    tasks.take(TASK)
    await tasks.settle()
    for _ in range(3):
        await tasks.executor.process(now_ms=1)
    assert sizes == [128, 256, 512]
    await tasks.executor.close(commit=False)


async def test_a_task_that_is_being_restored_answers_unless_it_is_to_be_active(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def query(*_: object) -> QueryResult:
        return QueryResult("partial")

    async def restored_to(_: ProcessorStateManager) -> dict[str, int]:
        return {"log": 3}

    is_restored = asyncio.Event()

    async def start(*_: Any) -> ActiveTask:  # Any: what a task is started with
        is_restored.set()
        await asyncio.Event().wait()
        raise AssertionError("it is given up before")

    monkeypatch.setattr(TaskStart, "start", start)
    monkeypatch.setattr(ProcessorStateManager, "query", query)
    monkeypatch.setattr(ProcessorStateManager, "restored_to", restored_to)
    builder = StreamsBuilder()
    builder.table("rows", materialized=Materialized("rows"))
    tasks = ThreadTasks(60_000, topology=builder.build())
    tasks.take(TASK)
    request = StateQueryRequest("rows", RangeQuery())
    assert await tasks.manager.query(request) == {}
    assert await tasks.manager.store_offsets() == {TASK: {}}
    await is_restored.wait()
    assert await tasks.manager.query(request) == {0: QueryResult("partial")}
    assert await tasks.manager.query(replace(request, partitions=(1,))) == {}
    refused = (await tasks.manager.query(replace(request, require_active=True)))[0]
    assert refused.failure is FailureReason.NOT_ACTIVE
    assert refused.message.endswith("task 0_0 is being restored")
    assert await tasks.manager.store_offsets() == {TASK: {"log": 3}}
    await tasks.executor.close(commit=False)
    assert await tasks.manager.query(request) == {}


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

    monkeypatch.setattr(TaskStart, "start", start)
    tasks = ThreadTasks(60_000, Traced(), buffered_records=3)
    tasks.take(TASK)
    await tasks.settle()
    tasks.executor._running[TASK].queued_bytes["in"] = QueuedBytes()
    for waiting in (2, 3, 4, 9, 4, 3, 0, 4):
        running.queued = MappingProxyType({"in": waiting})
        trace.append(str(waiting))
        await tasks.executor.process(now_ms=1)
    assert trace == ["2", "3", "4", "pause in-0", "9", "4", "3", "resume in-0", "0", "4", "pause in-0"]  # fmt: skip
    await tasks.executor.close(commit=False)


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

    async def start(attempt: TaskStart) -> Any:  # Any: stands for a task
        partition = attempt._partition
        return fenced if partition == 0 and "0 closed" not in did else Running(partition + 10)

    monkeypatch.setattr(TaskStart, "start", start)
    tasks = ThreadTasks(task_timeout_ms=60_000)
    tasks.take(StreamsTaskId(0, 0), StreamsTaskId(0, 1))
    await tasks.settle()
    await tasks.executor.process(now_ms=1)
    await tasks.executor.commit()
    assert did == ["0 closed", "11 committed"]
    await tasks.executor.close(commit=False)
