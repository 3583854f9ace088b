"""What a stream thread does with tasks that wait for upstream tasks, and with those that run ahead of others of their like."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, cast

import pyarrow as pa
import pytest

from millstream.clients import ArrowRecords, Consumer, WakeupError
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.streams import StreamsBuilder, StreamsConfig
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.task_executor import TaskExecutor
from millstream.streams.config import ProcessingGuarantee
from millstream.streams.kernel.task.upstreams import AT_ITS_END
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.report import ProcessedWork
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.task_manager import TaskManager, ThreadTaskCreator
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.runtime.upstreams.progress import (
    Look,
    Reached,
    TaskFlow,
    TaskKey,
    TaskProgress,
)
from millstream.streams.runtime.upstreams.run_ahead import RUN_AHEAD_RECORDS
from millstream.streams.runtime.upstreams.watch import LocalTask
from millstream.streams.serdes import string
from tests.patience import LONG_ENOUGH_S
from tests.unit.streams.application.manual_clock import MovedClock

READER, WRITER = StreamsTaskId(1, 0), StreamsTaskId(0, 0)
R = "app-r-repartition"


class Task:
    """Stands for a task, which processes as many records as the test says."""

    next_punctuation_ms: int | None = None
    has_queued = True

    def __init__(self, spec: TaskSpec, topic: str) -> None:
        self.id = spec.task_id(0)
        self.aligned = spec.alignment.of(spec.sub_topology)
        self.position = self.queued = {topic: 0}
        self.progress = TaskProgress()
        self.processes = 0
        self.told: list[Reached] = []
        self.records_max: list[int | None] = []

    async def process(
        self, *, lags: object, reached: Reached, for_others: object, records_max: int | None
    ) -> ProcessedWork:
        assert (lags, for_others) == ({}, {})
        self.told.append(reached)
        self.records_max.append(records_max)
        return ProcessedWork(self.processes)

    async def add(self, _topic: str, records: pa.RecordBatch) -> int:
        return records.num_rows

    def note_read_to(self, topic: str, offset: int) -> None:
        """Has read to where it always is."""
        assert (topic, offset) == (R, 7)

    def has_read(self, _topic: str) -> int:
        return 7

    def newest_origin_time(self, _topic: str) -> int:
        return 90

    async def close(self) -> None:
        """Has nothing open."""


class NoRecords:
    """Stands for a consumer that reads nothing, and waits for it until it is woken up."""

    def __init__(self) -> None:
        self.timeouts_ms: list[int] = []
        self.woken = asyncio.Event()
        self.known_lag: int | None = None
        self.records: list[ArrowRecords] = []

    async def poll_arrow(self, *, timeout_ms: int, **_: object) -> list[ArrowRecords]:
        self.timeouts_ms.append(timeout_ms)
        if self.records:
            return [self.records.pop()]
        if timeout_ms:
            await self.woken.wait()
            raise WakeupError("woken up")
        return []

    def wakeup(self) -> None:
        self.woken.set()

    def missing_topics(self) -> set[str]:
        return set()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Says nothing new."""

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Is where it was."""

    def lag(self, _: TopicPartition) -> int | None:
        """Is not known, unless a test says it."""
        return self.known_lag


class World:
    """A thread with one task of a topology with one repartition topic, and tasks of other threads of the process."""

    def __init__(
        self,
        task: StreamsTaskId,
        topic: str,
        guarantee: ProcessingGuarantee = ProcessingGuarantee.AT_LEAST_ONCE,
    ) -> None:
        builder = StreamsBuilder()
        source = builder.stream("in", key=string(), value=string())
        source.repartition(name="r", key=string(), value=string()).to("out")
        config = StreamsConfig(
            application_id="app", upstream_timeout_ms=60_000, processing_guarantee=guarantee
        )
        self.spec = TaskSpec(
            topology=builder.build(),
            sub_topology=task.sub_topology,
            config=config,
            state_directory="",
        )
        self.task = Task(self.spec, topic)
        self.clock = MovedClock()
        self.consumer = NoRecords()
        environment = TaskEnvironment(cast("TaskClients", None), self.clock, ThreadPoolExecutor(1))
        creator = ThreadTaskCreator(environment, None)
        self.manager = TaskManager[StreamsTaskId](creator, self.clock, "thread")
        self.tasks = TaskExecutor(
            self.manager,
            environment,
            cast("Consumer[bytes, bytes]", self.consumer),
            config,
            lambda *_: None,
            log_prefix="thread",
        )
        self.others: dict[TaskKey, LocalTask] = {}
        flow = TaskFlow(self.spec.alignment, {0: {0: ("in",), 1: ("in",)}, 1: {0: (R,)}})
        nobody = cast("Any", None)  # Any: all tasks are here, and no look is begun
        self.watch = environment.upstreams
        environment.upstreams.join("2", lambda: self.others, nobody, TaskScope("looks"))
        environment.upstreams.join("1", self.tasks.as_upstreams, nobody, TaskScope("looks"))
        environment.upstreams.follow(flow)

    async def turn(self, pass_ms: int = 0) -> None:
        self.clock.pass_ms(pass_ms)
        await self.tasks.process(now_ms=self.clock.now().wall_ms)


@asynccontextmanager
async def running(
    monkeypatch: pytest.MonkeyPatch,
    task: StreamsTaskId,
    topic: str,
    guarantee: ProcessingGuarantee = ProcessingGuarantee.AT_LEAST_ONCE,
) -> AsyncIterator[World]:
    world = World(task, topic, guarantee)

    async def start(*_: Any) -> Any:  # Any: stands for a task
        return world.task

    monkeypatch.setattr(TaskStart, "start", start)
    monkeypatch.setattr(world.tasks, "_pause", lambda: None)
    world.manager.create(task, world.spec, task.partition)
    world.manager.begin_restoring(task)
    while not world.manager.is_settled:
        await world.tasks.read(0)
        world.tasks.take_up_restored()
    yield world
    await world.tasks.close(commit=False)


def other(done: int, end: int, origin_time: int) -> LocalTask:
    return LocalTask(TaskProgress({"in": done}, origin_time), {"in": end})


async def test_an_upstream_task_that_does_not_move_in_its_time_is_named_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(monkeypatch, READER, R) as world:
        world.others = {(0, 0): other(1, 9, 50), (0, 1): other(4, 4, 70)}
        await world.turn()
        await world.turn()
        await world.turn(59_999)
        assert caplog.messages == []
        assert len(world.task.told) == 1, "it would find nothing else"
        await world.turn(1)
        (said,) = caplog.messages
        assert said.startswith("thread task 1_0 does not wait any longer for task 0_0, which has")
        assert f"(upstream_timeout_ms=60000): until it moves, records of {R} go on" in said
        world.others[0, 0] = other(2, 9, 51)
        world.watch.tell_news()
        await world.turn()
        assert [each[R] for each in world.task.told] == [
            {0: 50, 1: AT_ITS_END},
            {0: AT_ITS_END, 1: AT_ITS_END},
            {0: 51, 1: AT_ITS_END},
        ]


async def test_a_thread_that_waits_goes_on_as_soon_as_an_upstream_task_comes_forward(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(monkeypatch, READER, R) as world:
        world.others = {(0, 0): other(1, 9, 50), (0, 1): other(4, 4, 70)}
        await world.turn()
        reading = asyncio.create_task(world.tasks.read(1_000))
        await asyncio.sleep(0)
        assert not reading.done()
        world.others[0, 0] = other(2, 9, 51)
        world.watch.tell_news()
        assert await reading == 0
        assert await world.tasks.read(1_000) == 0
        assert world.consumer.timeouts_ms == [1_000, 0], (
            "news that no turn has seen are not waited for"
        )
        await world.turn()
        assert [each[R][0] for each in world.task.told] == [50, 51]


async def test_others_are_asked_as_soon_as_records_have_been_read_that_may_wait_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(monkeypatch, READER, R) as world:
        asked, scope = asyncio.Event(), TaskScope("looks")

        async def look(*_: object) -> Look:
            asked.set()
            return Look({}, {})

        world.watch.join("2", lambda: world.others, look, scope)
        world.consumer.records = [ArrowRecords(R, 0, pa.record_batch({"offset": [6]}), 7)]
        await world.tasks.read(0)
        await asyncio.wait_for(asked.wait(), LONG_ENOUGH_S)
        assert world.task.told == [], "the task has not come to them"
        await scope.close()


async def test_a_task_that_has_enough_to_process_does_not_wait(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(monkeypatch, READER, R) as world:
        world.others = {(0, 0): other(1, 9, 50), (0, 1): other(4, 4, 70)}
        world.task.processes = 5
        for _ in range(3):
            await world.turn(60_000)
        assert caplog.messages == []
        assert world.task.told[-1] == {R: {0: 50, 1: AT_ITS_END}}


async def test_a_task_waits_for_the_slowest_of_its_like_as_long_as_that_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(monkeypatch, WRITER, "in") as world:
        world.others = {(0, 1): other(1, 9, 50)}
        world.task.processes = RUN_AHEAD_RECORDS + 1
        world.task.progress = TaskProgress({"in": 1}, 900)
        await world.turn()
        assert not world.tasks.waits_for_upstreams
        await world.turn()
        assert (len(world.task.told), world.tasks.waits_for_upstreams) == (1, True)
        world.others[0, 1] = other(2, 9, 60)
        world.watch.tell_news()
        await world.turn(60_000)
        assert len(world.task.told) == 1
        await world.turn(59_999)
        assert len(world.task.told) == 1
        await world.turn(1)
        assert len(world.task.told) == 2, "the other one stands"


async def test_punctuations_are_due_also_in_a_task_that_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(monkeypatch, WRITER, "in") as world:
        world.others = {(0, 1): other(1, 9, 50)}
        world.task.processes = RUN_AHEAD_RECORDS + 1
        world.task.progress = TaskProgress({"in": 1}, 900)
        await world.turn()
        world.task.next_punctuation_ms = world.clock.wall_ms() + 5
        await world.turn(4)
        assert len(world.task.told) == 1
        await world.turn(1)
        assert world.task.records_max[1:] == [0]


@pytest.mark.parametrize(
    ("guarantee", "at_ends_ms"),
    [(ProcessingGuarantee.AT_LEAST_ONCE, 50), (ProcessingGuarantee.EXACTLY_ONCE_V2, 1_000)],
)
async def test_a_task_that_another_instance_may_wait_for_commits_sooner(
    monkeypatch: pytest.MonkeyPatch, guarantee: ProcessingGuarantee, at_ends_ms: int
) -> None:
    async with running(monkeypatch, WRITER, "in", guarantee) as world:
        monkeypatch.setattr(world.task, "process", _processed)
        assert world.tasks.commit_interval_ms(30_000) == 30_000, "it has done nothing"
        await world.turn()
        assert world.tasks.commit_interval_ms(30_000) == at_ends_ms
        assert world.tasks.commit_interval_ms(20) == 20
        world.consumer.known_lag = 1
        assert world.tasks.commit_interval_ms(30_000) == 1_000, "it has more to read"
        assert world.tasks.commit_interval_ms(100) == 100
        world.others = {(0, 1): other(4, 4, 70), (1, 0): other(0, 0, 0)}
        world.watch.tell_news()
        assert world.tasks.commit_interval_ms(30_000) == 30_000, "all tasks are here"


async def _processed(**_: object) -> ProcessedWork:
    return ProcessedWork(1)
