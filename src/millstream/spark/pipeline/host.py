"""The tasks of one process: kept open between runs, with their stores, connections and producers.

Knows neither Spark nor sockets. A task is started by its first run here, which fences it everywhere else, and closed
when a run fails, when its application is another one, and when it has not been run for a while because it has moved.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from millstream.clients import Producer, RangeReader
from millstream.clients.admin import Admin
from millstream.net.client.tasks import TaskGroup, uncancelled
from millstream.runtime import Clock
from millstream.spark.kafka_settings import KafkaSettings
from millstream.spark.pipeline.host_standbys import HostStandbys, Key
from millstream.spark.pipeline.hosted_application import HostedApplication
from millstream.spark.pipeline.messages import (
    AskStore,
    KeepStandbys,
    Reply,
    RunTask,
    RunTasks,
    Standby,
    StandbysKept,
    TaskFailed,
)
from millstream.spark.pipeline.queries.questions import Answer, NotHere, answered
from millstream.streams.client_roles import ClientRole
from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.steps import Observer, observe_nothing
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.standby_task import StandbyTask
from millstream.streams.runtime.tasks.task import Task
from millstream.streams.runtime.tasks.task_manager import TaskManager
from millstream.streams.runtime.tasks.task_start import TaskStart

IDLE_MS: Final = 600_000
"""A task that has not been run for so long is closed."""
TRANSACTION_TIMEOUT_MS: Final = 30_000
"""A transaction takes one write of outputs. Of a task that has died in it and is not
started again, readers wait so long."""

_LOGGER = logging.getLogger(__name__)

MayStandBy = Callable[[Path, str], bool]
"""Called with the directory of an application's stores and a task's name: whether no other process has that task
there."""
Claim = Callable[[Path, str, str], Awaitable[None]]
"""Called with the directory of an application's stores, its id and a task's name: has other processes close that
task."""


def may_always_stand_by(directory: Path, task_name: str) -> bool:  # noqa: ARG001  # as MayStandBy has it
    """Allows it, for a process that has its directories to itself."""
    return True


async def claim_nothing(directory: Path, application_id: str, task_name: str) -> None:
    """For a process that has its directories to itself."""


@dataclass(slots=True)
class _HostedTask:
    """What the host knows of a task, open or not. `lock`: one run at a time."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    digest: str = ""
    """Of the application that the task is of, while it is open or being opened."""
    application: HostedApplication | None = None
    """The same as long; the host may forget it before."""
    used_ms: int = 0


@dataclass(slots=True)
class _Globals:
    """The global stores of one application, opened by the first task that wants them."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    stores: GlobalStores | None = None


class HostClients:
    """Those of one host, which opens them when the first task needs them."""

    def __init__(self) -> None:
        self._clients: dict[KafkaSettings, TaskClients] = {}
        self._readers: dict[tuple[KafkaSettings, ClientRole], RangeReader] = {}
        """Those that have settings of their own."""
        self._globals: dict[str, _Globals] = {}
        """By digest of the application."""

    def of(self, kafka: KafkaSettings) -> TaskClients:
        """Returns the clients of all applications that have these settings."""
        if kafka not in self._clients:
            self._clients[kafka] = TaskClients(
                RangeReader(**kafka.of_reader()),
                Admin(**kafka.of_client()),
                lambda transactional_id: _producer(kafka, transactional_id),
                changelog_reader=self._reader_of(kafka, ClientRole.RESTORE_CONSUMER),
            )
        return self._clients[kafka]

    def _reader_of(self, kafka: KafkaSettings, role: ClientRole) -> RangeReader | None:
        """Returns the reader of a role; None where it has the settings of that of the tasks, which then serves both."""
        if kafka.of_reader(role) == kafka.of_reader():
            return None
        if (kafka, role) not in self._readers:
            self._readers[kafka, role] = RangeReader(**kafka.of_reader(role))
        return self._readers[kafka, role]

    async def global_stores(
        self, digest: str, kafka: KafkaSettings, spec: TaskSpec, environment: TaskEnvironment
    ) -> GlobalStores | None:
        """Returns the global stores of an application, filled; None where it has none."""
        if not spec.topology.global_stores:
            return None
        shared = self._globals.setdefault(digest, _Globals())
        async with shared.lock:
            if shared.stores is None:
                clients = environment.clients
                reader = self._reader_of(kafka, ClientRole.GLOBAL_CONSUMER) or clients.reader
                reading = replace(environment, clients=replace(clients, reader=reader))
                shared.stores = await GlobalStores.open(spec, reading)
            return shared.stores

    @asynccontextmanager
    async def global_task(self, digest: str, store: str) -> AsyncIterator[StreamTask | None]:
        """Yields the task that fills a global store of an application, which nobody closes meanwhile; None where none
        is open.
        """
        shared = self._globals.get(digest)
        if shared is None:
            yield None
            return
        async with shared.lock:
            yield None if shared.stores is None else shared.stores.task_of(store)

    async def close_global_stores(self, is_used: Callable[[str], bool]) -> None:
        """Closes those of applications, by digest, that have no task open here.

        What processors raise in it is logged: tasks of others run in this process.
        """
        for digest, shared in list(self._globals.items()):
            async with shared.lock:
                if is_used(digest):
                    continue
                stores, shared.stores = shared.stores, None
                try:
                    if stores is not None:
                        await stores.close()
                except Exception:  # whatever users' processors and stores raise
                    _LOGGER.exception("global stores were not closed in order")

    async def close(self) -> None:
        """Closes all clients. Global stores have been closed before."""
        for clients in self._clients.values():
            await clients.reader.close()
            await clients.admin.close()
        self._clients.clear()
        for reader in self._readers.values():
            await reader.close()
        self._readers.clear()


class TaskHost:
    """Runs tasks, each in turn with its own earlier runs; different tasks share the thread of the kernel.

    Jobs of Spark's assign them, one run at a time. The task manager has them made here, as a `TaskCreator`.
    """

    def __init__(
        self,
        clock: Clock,
        observe: Observer = observe_nothing,
        *,
        executor_number: str = "driver",
        claim: Claim = claim_nothing,
        may_stand_by: MayStandBy = may_always_stand_by,
    ) -> None:
        """`claim` is called before the stores of a task are opened, `may_stand_by` before those of a standby."""
        self._clock = clock
        self._observe = observe
        self._executor_number = executor_number
        self._claim = claim
        self._may_stand_by = may_stand_by
        self._tasks = TaskManager[Key](self, clock, "task host:")
        self._standbys = HostStandbys(clock, self._tasks)
        self._kernel = ThreadPoolExecutor(1, "kernel")
        self._copier = ThreadPoolExecutor(1, "snapshots")
        self._applications: dict[str, HostedApplication] = {}
        """By digest."""
        self._clients = HostClients()
        self._hosted: dict[Key, _HostedTask] = {}

    def knows(self, digest: str) -> bool:
        return digest in self._applications

    async def take(self, digest: str, pickled: bytes) -> None:
        """Takes an application, which requests name by its digest from now on.

        In a thread: it imports modules of the user, which may load what takes long, and a loop that stands still looks
        like a host that is stuck.
        """
        application = await asyncio.to_thread(pickle.loads, pickled)
        assert isinstance(application, HostedApplication), "applications are what is sent"
        self._applications[digest] = application.in_executor(self._executor_number)

    async def run(self, request: RunTasks) -> tuple[Reply, ...]:
        """Runs tasks side by side: while one waits for the brokers another has the kernel.

        Never raises what a task, a store or a broker raises: that is the reply.
        """
        async with TaskGroup() as tasks:
            running = [tasks.create_task(self._run(request, each)) for each in request.runs]
        return tuple(each.result() for each in running)

    async def _run(self, request: RunTasks, run: RunTask) -> Reply:
        application = self._applications.get(request.application_digest)
        if application is None:  # closed since the request has named it: the next one brings it
            return _forgotten(run)
        spec = application.spec(run.sub_topology, run.topics)
        key = request.application_id, spec.task_name(run.partition)
        hosted = self._hosted_task(key)
        async with hosted.lock:
            # It may have been closed while the lock was waited for.
            if request.application_digest not in self._applications:
                return _forgotten(run)
            try:
                digest = request.application_digest
                active = await self._active(key, digest, application, spec, run.partition)
                running = active.run(run.ends, lags=run.lags, reached=run.reached, renew=run.renew)
                report = await uncancelled(running, spec.task_name(run.partition))
            except Exception as error:  # noqa: BLE001  # whatever users' functions raise
                await self._close(key)
                return _failed(spec.task_id(run.partition), error)
            except BaseException:
                await self._close(key)
                raise
            hosted.used_ms = self._clock.now().monotonic_ms
        return report

    async def answer(self, asked: AskStore) -> Answer:
        """Asks a store as the last commit has left it: between the runs of its task. Opens nothing.

        Never raises what a store raises.
        """
        ask = partial(answered, asked.question)
        if asked.task_name is None:
            async with self._clients.global_task(asked.application_digest, asked.store) as task:
                if task is None:
                    return NotHere()
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._kernel, ask, task)
        key = asked.application_id, asked.task_name
        hosted = self._hosted.get(key)
        if hosted is None:
            return NotHere()
        async with hosted.lock:
            active = self._tasks.running(key)
            if active is None or hosted.digest != asked.application_digest:
                return NotHere()
            hosted.used_ms = self._clock.now().monotonic_ms
            return await active.ask(ask)

    def keep_standbys(self, request: KeepStandbys) -> StandbysKept:
        """Takes up standbys, which `catch_up_standbys` then opens and keeps."""
        application = self._applications[request.application_digest]

        def name_of(standby: Standby) -> str:
            spec = application.spec(standby.sub_topology, standby.topics)
            return spec.task_name(standby.partition)

        return self._standbys.keep(request, name_of)

    async def catch_up_standbys(self) -> int:
        """Brings each standby a little further, and returns how many records are left."""
        await self._close_unwanted_standbys()
        left = 0
        for key in self._standbys.wanted():
            hosted = self._hosted_task(key)
            if hosted.lock.locked():
                continue
            async with hosted.lock:
                # While the standbys before it were brought further its task may have come here, which is not closed for it.
                wanted = self._standbys.wanted_now(key)
                application = None if wanted is None else self._applications.get(wanted.digest)
                if wanted is not None and application is not None:
                    await self._close(key)  # the driver has it elsewhere
                    standby = wanted.standby
                    spec = application.spec(standby.sub_topology, standby.topics)
                    left += await self._standbys.catch_up(key, spec, standby.partition)
        return left

    async def _close_unwanted_standbys(self) -> None:
        for key in self._standbys.unwanted():
            async with self._hosted_task(key).lock:
                await self._standbys.close(key)

    async def close_tasks(self, application_id: str) -> None:
        """Closes all tasks of an application, and forgets it."""
        self._standbys.forget(application_id)
        await self._close_unwanted_standbys()
        await self._close_where(lambda owner, _: owner == application_id)
        for digest, application in list(self._applications.items()):
            if application.config.application_id == application_id:
                del self._applications[digest]

    async def close_task(self, application_id: str, task_name: str) -> None:
        """Closes one task, after the run that it is in, or its standby. Its next run starts it anew."""
        key = application_id, task_name
        hosted = self._hosted_task(key)
        async with hosted.lock:
            await self._close(key)
            await self._standbys.give_up(key)

    async def close_idle(self) -> None:
        """Closes the tasks that have moved elsewhere."""
        since_ms = self._clock.now().monotonic_ms - IDLE_MS
        await self._close_where(lambda _, hosted: hosted.used_ms < since_ms)

    async def close(self) -> None:
        """Closes all tasks and clients."""
        await self._close_where(lambda *_: True)
        await self._standbys.close_all()
        await self._clients.close()
        self._kernel.shutdown()
        self._copier.shutdown(wait=False, cancel_futures=True)

    async def _active(
        self,
        key: Key,
        digest: str,
        application: HostedApplication,
        spec: TaskSpec,
        partition: int,
    ) -> ActiveTask:
        """Returns the task as it runs here, or starts it: its first run, or it has been given other topics."""
        hosted, active = self._hosted_task(key), self._tasks.running(key)
        if active is not None:
            if (hosted.digest, active.sources) == (digest, spec.sources):
                return active
            await self._close(key)
        await self._standbys.give_up(key)
        hosted.digest, hosted.application = digest, application
        self._tasks.create(key, spec, partition)
        return await self._tasks.restore(key)

    async def create_active_task(self, key: Key, task: Task) -> TaskStart:
        """Has other processes of this machine close the task, and opens the global stores."""
        hosted, spec = self._hosted_task(key), task.spec
        application = hosted.application
        assert application is not None, "it is being opened"
        environment = self._environment(application)
        await self._claim(application.state_directory, *key)
        global_stores = await self._clients.global_stores(
            hosted.digest, application.kafka, spec, environment
        )
        return TaskStart(spec, task.partition, environment, global_stores)

    async def create_standby_task(self, key: Key, task: Task) -> StandbyTask | None:
        """Looks whether another process of this machine has the task."""
        application = self._applications[self._standbys.digest_of(key)]
        directory, name = application.state_directory, key[1]
        if not await asyncio.to_thread(self._may_stand_by, directory, name):
            return None
        return StandbyTask(task.spec, task.partition, self._environment(application))

    def _hosted_task(self, key: Key) -> _HostedTask:
        return self._hosted.setdefault(key, _HostedTask())

    def _environment(self, application: HostedApplication) -> TaskEnvironment:
        clients = self._clients.of(application.kafka)
        return TaskEnvironment(clients, self._clock, self._kernel, self._observe, self._copier)

    async def _close_where(self, wanted: Callable[[str, _HostedTask], bool]) -> None:
        for key, hosted in list(self._hosted.items()):
            async with hosted.lock:
                if wanted(key[0], hosted):
                    await self._close(key)
        await self._clients.close_global_stores(
            lambda digest: any(hosted.digest == digest for hosted in self._hosted.values())
        )

    async def _close(self, key: Key) -> None:
        """Closes an active task, if there is one: what is not committed is aborted, and the next run starts it anew."""
        hosted = self._hosted_task(key)
        hosted.digest, hosted.application = "", None
        task = self._tasks.get(key)
        if task is not None and not task.is_standby:
            await self._tasks.close((key,), None)


def _forgotten(run: RunTask) -> TaskFailed:
    task_id = f"{run.sub_topology}_{run.partition}"
    return TaskFailed(task_id, "its application was closed in the task host", is_retriable=True)


def _failed(task_id: str, error: Exception) -> TaskFailed:
    """`module.Error: what it says`, as Python prints it, in one line."""
    kind = type(error)
    text = " ".join(f"{kind.__module__}.{kind.__qualname__}: {error}".split())
    return TaskFailed(task_id, text, is_retriable=is_retriable(error))


def _producer(kafka: KafkaSettings, transactional_id: str | None) -> Producer:
    settings = {"linger_ms": 0} | kafka.of_producer()
    if transactional_id is not None:
        settings |= {
            "transactional_id": transactional_id,
            "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
        }
    return Producer(**settings)
