"""A stream thread: one member of the application's group, and the loop that runs the tasks it is given.

Not a thread of the operating system: the loop is a coroutine, and the kernel and the stores of its tasks work in one
thread beside it. The order of each turn is Kafka Streams': take over tasks, read, process with punctuations, commit.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from millstream.clients import Admin
from millstream.net.client.tasks import TaskScope
from millstream.streams.application.application_environment import ApplicationEnvironment
from millstream.streams.application.group.classic.source_topics import SourceTopics
from millstream.streams.application.group.known_hosts import NO_HOSTS
from millstream.streams.application.group.membership import (
    NO_TASKS,
    StreamsTaskId,
    TaskAssignment,
)
from millstream.streams.application.group.new_member import new_member
from millstream.streams.application.group.remarks import GroupRemarks
from millstream.streams.application.interactive.store_lags import StoreOffsets
from millstream.streams.application.metrics.thread_measures import ThreadMeasures
from millstream.streams.application.standby_updater import StandbyUpdater
from millstream.streams.application.states import ThreadState, thread_state_after
from millstream.streams.application.task_executor import TaskExecutor
from millstream.streams.application.task_reconciler import TaskReconciler, ThreadMember
from millstream.streams.application.task_specs import TaskSpecs
from millstream.streams.application.thread_metadata import ThreadClientIds
from millstream.streams.handlers import OnUncaughtError
from millstream.streams.metrics import MetricName
from millstream.streams.queries import QueryResult, StateQueryRequest
from millstream.streams.runtime.clients import TaskClients
from millstream.streams.runtime.columns import load_arrow
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.repartition_purge import Purging, RepartitionPurge
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.spec import TaskEnvironment
from millstream.streams.runtime.tasks.task_manager import TaskManager, ThreadTaskCreator
from millstream.streams.runtime.upstreams.looks import look_at_cluster
from millstream.streams.runtime.upstreams.progress import TaskKey
from millstream.streams.runtime.upstreams.watch import LocalTask
from millstream.streams.state.cache import CacheRoom

UPSTREAM_POLL_MS: Final = 100
"""So soon a thread looks again at tasks for which its own wait. It is woken up when these come
forward, but not when one is overdue."""
_ASSIGNED: Final = frozenset({ThreadState.PARTITIONS_ASSIGNED, ThreadState.RUNNING})
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a thread has while it runs."""

    member: ThreadMember
    manager: TaskManager[StreamsTaskId]
    executor: TaskExecutor
    standbys: StandbyUpdater
    reconciler: TaskReconciler
    purging: Purging

    @property
    def taken(self) -> TaskAssignment:
        """The tasks that the thread has."""
        return self.reconciler.taken or NO_TASKS


class StreamThread:
    """`run` it once; it ends after `stop`, or raises what the tasks or the group raise.

    `on_change` is called with each new state, after tasks were taken over, and after the tasks have committed.
    `on_error` is asked about an error that ends the thread, while it is in the group still.
    """

    def __init__(
        self,
        name: str,
        application: ApplicationEnvironment,
        on_change: Callable[[StreamThread], None],
        on_error: Callable[[Exception], Awaitable[OnUncaughtError]],
        global_stores: GlobalStores | None = None,
    ) -> None:
        self.name: Final = name
        self.state = ThreadState.CREATED
        self.is_paused = False
        self.reports: dict[StreamsTaskId, TaskReport] = {}
        """The last commit of each task that the thread has."""
        self.known_hosts = NO_HOSTS
        """The hosts of the group that answer queries."""
        self.answer: OnUncaughtError | None = None
        """What follows the error that has ended the thread; None where it has not come to ask."""
        self.global_stores = global_stores
        """Those of its process, which may be filled after it was made, and before it runs."""
        self._application = application
        self._on_change = on_change
        self._on_error = on_error
        self._stopping = False
        self._remarks = GroupRemarks()
        self._committed_ms = 0
        self._waits_to_commit = False
        """The group rebalances, and a commit is due once that is over."""
        self._parts: _Parts | None = None
        """None before the thread runs and after that."""
        self._kernel_thread: int | None = None
        self._measures = ThreadMeasures(name, application.clock)
        self._cache_room = CacheRoom(0)

    @property
    def active_tasks(self) -> frozenset[StreamsTaskId]:
        return frozenset() if self._parts is None else self._parts.taken.active

    @property
    def standby_tasks(self) -> Mapping[StreamsTaskId, Mapping[str, int]]:
        """Its standby tasks, those that warm up among them, with the input offsets that their
        stores cover as far as these are known.
        """
        if self._parts is None:
            return {}
        known = self._parts.standbys.tasks
        return {task: known.get(task, {}) for task in self._parts.taken.copies}

    @property
    def cache_bytes(self) -> int:
        """The room that the caches of its tasks have together.

        When it becomes smaller, what no longer fits goes on with the next write.
        """
        return self._cache_room.bytes_max

    @cache_bytes.setter
    def cache_bytes(self, cache_bytes: int) -> None:
        self._cache_room.bytes_max = cache_bytes

    @property
    def is_current(self) -> bool:
        """Whether the caller is a function that the tasks of this thread run, which their end cannot wait for."""
        return self._kernel_thread == threading.get_ident()

    def stop(self) -> None:
        """Has `run` end after its turn."""
        self._stopping = True
        if self.state is not ThreadState.DEAD:
            self._enter(ThreadState.PENDING_SHUTDOWN)

    def metrics(self) -> dict[MetricName, float]:
        """Returns what the thread has measured of itself."""
        return self._measures.metrics()

    async def query(self, request: StateQueryRequest) -> dict[int, QueryResult]:
        """Returns, by partition, what the stores of its tasks answer."""
        return {} if self._parts is None else await self._parts.manager.query(request)

    async def store_offsets(self) -> StoreOffsets:
        """Returns how far the stores of its tasks are with their changelogs."""
        return {} if self._parts is None else await self._parts.manager.store_offsets()

    def local_tasks(self) -> Mapping[TaskKey, LocalTask]:
        """Returns how far its active tasks have come."""
        return {} if self._parts is None else self._parts.executor.as_upstreams()

    async def run(self) -> None:
        """Runs until `stop`. Tasks are committed and closed, and the group is left, however it ends."""
        self._enter(ThreadState.STARTING)
        async with AsyncExitStack() as last_first:
            last_first.callback(self._enter, ThreadState.DEAD)
            last_first.callback(self._enter, ThreadState.PENDING_SHUTDOWN)
            self._parts = parts = await self._open_parts(last_first)
            await self._run_loop(parts)

    async def _open_parts(self, last_first: AsyncExitStack) -> _Parts:
        application, supplier = self._application, self._application.supplier
        exact, ids = application.is_exact, ThreadClientIds(self.name)
        kernel = ThreadPoolExecutor(1, self.name, self._note_kernel_thread)
        last_first.callback(kernel.shutdown)
        copier = ThreadPoolExecutor(1, f"{self.name}-snapshots")
        last_first.push_async_callback(asyncio.to_thread, copier.shutdown)
        admin = supplier.admin(ids.admin)
        last_first.push_async_callback(admin.close)
        reader = supplier.reader(ids.restore_consumer, read_committed=exact)
        last_first.push_async_callback(reader.close)
        consumer = supplier.consumer(ids.consumer, read_committed=exact)
        last_first.push_async_callback(consumer.close, commit=False)
        producer = None if exact else supplier.producer(ids.producer, None)
        if producer is not None:
            last_first.push_async_callback(producer.close, timeout_ms=0)
        sources = SourceTopics(application.topology, application.config.application_id)
        told_versions: set[str] = set()
        member = new_member(
            application,
            self.name,
            sources,
            admin,
            copies=self._copies,
            other_versions=told_versions,
        )
        last_first.push_async_callback(member.leave)
        make_producer = partial(supplier.producer, ids.producer)
        environment = TaskEnvironment(
            TaskClients(reader, admin, make_producer, member, producer, consumer=consumer),
            application.clock,
            kernel,
            application.observe,
            copier,
            application.restore_listener,
            told_versions=told_versions,
            cache_room=self._cache_room,
            upstreams=application.upstreams,
        )
        prefix = f"stream-thread [{self.name}]"
        creator = ThreadTaskCreator(environment, self.global_stores)
        manager = TaskManager[StreamsTaskId](creator, application.clock, prefix)
        executor = TaskExecutor(
            manager, environment, consumer, application.config, self._report, log_prefix=prefix
        )
        on_change = partial(self._on_change, self)
        standbys = StandbyUpdater(manager, environment.clients, on_change, log_prefix=prefix)
        self._join_upstreams(last_first, executor, admin)
        purging = Purging(admin, self._new_purge(), prefix)
        last_first.push_async_callback(purging.close)
        await environment.in_kernel(load_arrow)  # later it would keep records waiting
        specs = TaskSpecs(application, sources, admin)
        reconciler = TaskReconciler(
            self.name, member, executor, standbys, specs, self._enter, application.observe
        )
        return _Parts(member, manager, executor, standbys, reconciler, purging)

    def _join_upstreams(
        self, last_first: AsyncExitStack, executor: TaskExecutor, admin: Admin
    ) -> None:
        """Tells other threads how far its tasks have come, and looks at those of other instances for all threads."""
        application = self._application
        id_, is_exact = application.config.application_id, application.is_exact
        look = partial(look_at_cluster, admin, id_, is_read_committed=is_exact)
        looking = TaskScope("upstream tasks")
        last_first.push_async_callback(looking.close)
        application.upstreams.join(self.name, executor.as_upstreams, look, looking)
        last_first.callback(application.upstreams.leave, self.name)

    async def _run_loop(self, parts: _Parts) -> None:
        failed = True
        try:
            parts.member.start()
            self._committed_ms = self._now_ms
            while not self._stopping:
                await self._turn(parts)
            failed = False
            _LOGGER.info("stream-thread [%s] ends, as it was told to", self.name)
        except Exception as error:
            self.answer = await self._on_error(error)
            if self.answer is OnUncaughtError.SHUTDOWN_APPLICATION:
                parts.member.shut_down_application()
            raise
        finally:
            self._enter(ThreadState.PENDING_SHUTDOWN)
            self._parts = None
            await parts.reconciler.close(commit=not failed)

    async def _turn(self, parts: _Parts) -> None:
        member, manager, executor = parts.member, parts.manager, parts.executor
        config, measured = self._application.config, self._measures.begin_turn()
        member.check()
        await self._heed_group(parts)
        executor.take_up_restored()
        if manager.misses_topic:
            manager.misses_topic = False
            member.look_at_topics()
        if self._remarks.is_ready and self.state in _ASSIGNED:
            settled = ThreadState.RUNNING if manager.is_settled else ThreadState.PARTITIONS_ASSIGNED
            self._enter(settled)
        if self.is_paused:
            await asyncio.sleep(config.poll_ms / 1000)
        else:
            measured.lap()
            measured.record_poll(await executor.read(self._patience_ms(executor)))
            measured.record_process(await executor.process(self._application.clock.now().wall_ms))
        interval_ms = executor.commit_interval_ms(self._application.commit_interval_ms)
        is_due = self._now_ms - self._committed_ms >= interval_ms
        if is_due or executor.commit_requested:
            with member.keeping_generation() as is_kept:
                self._waits_to_commit = not is_kept
                if is_kept:
                    measured.lap()
                    measured.record_commit(await self._commit(executor))
                    parts.purging.maybe_begin(executor.committed, self._now_ms)
        measured.end(manager.created, manager.closed)

    async def _heed_group(self, parts: _Parts) -> None:
        """Takes note of what the group says, and does what it wants."""
        told = parts.member.membership
        if told.known_hosts is not self.known_hosts:
            self.known_hosts = told.known_hosts
            self._on_change(self)
        self._remarks.heed(told.statuses, told.heartbeat_interval_ms, self._now_ms)
        if await parts.reconciler.reconcile():
            kept = self.reports.keys() & self.active_tasks
            self.reports = {task: self.reports[task] for task in kept}
            if not self._enter(ThreadState.PARTITIONS_ASSIGNED):
                self._on_change(self)

    async def _commit(self, executor: TaskExecutor) -> int:
        """Commits all tasks that have done something, and tells of all these commits at once.

        Returns how many it was.
        """
        committed = await executor.commit()
        self._committed_ms = self._now_ms
        if committed:
            self._on_change(self)
        return committed

    def _patience_ms(self, executor: TaskExecutor) -> int:
        """Returns how long to wait for records."""
        if executor.has_more:
            return 0
        if executor.waits_for_upstreams:
            return min(UPSTREAM_POLL_MS, self._idle_patience_ms(executor))
        return self._idle_patience_ms(executor)

    def _idle_patience_ms(self, executor: TaskExecutor) -> int:
        """Returns how long nothing has to be done where no records come."""
        application = self._application
        interval_ms = executor.commit_interval_ms(application.commit_interval_ms)
        commit_in_ms = self._committed_ms + interval_ms - self._now_ms
        patience_ms = min(application.config.poll_ms, max(0, commit_in_ms))
        if executor.has_news and not self._waits_to_commit:
            return patience_ms
        punctuation_ms = executor.next_punctuation_ms
        if punctuation_ms is None:
            return application.config.poll_ms
        due_in_ms = punctuation_ms - application.clock.now().wall_ms
        return min(application.config.poll_ms, max(0, due_in_ms))

    def _copies(self) -> Mapping[StreamsTaskId, Mapping[str, int]]:
        return {} if self._parts is None else self._parts.standbys.restored_to

    def _new_purge(self) -> RepartitionPurge:
        application = self._application
        topology, config = application.topology, application.config
        repartition = {
            topic
            for group in topology.sub_topologies
            for topic in topology.topics_of(group, config.application_id).repartition
        }
        return RepartitionPurge(repartition, config.repartition_purge_interval_ms, self._now_ms)

    @property
    def _now_ms(self) -> int:
        return self._application.clock.now().monotonic_ms

    def _report(self, task: StreamsTaskId, report: TaskReport) -> None:
        self.reports[task] = report

    def _note_kernel_thread(self) -> None:
        self._kernel_thread = threading.get_ident()

    def _enter(self, wanted: ThreadState) -> bool:
        """Returns whether that is a change, of which it has told then."""
        before = self.state
        self.state = thread_state_after(self.name, before, wanted)
        if self.state is before:
            return False
        _LOGGER.info(
            "stream-thread [%s] state transition from %s to %s", self.name, before, self.state
        )
        self._on_change(self)
        return True
