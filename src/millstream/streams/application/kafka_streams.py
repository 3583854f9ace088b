"""`KafkaStreams`: one instance of an application, from its start to its end.

It owns the stream threads, the global stores and the state directory of the instance. The state is kept in `current_state`, queries are
answered by `interactive`, and what a task does is `runtime`'s.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from millstream.clients.cluster.cluster import require_listener
from millstream.clients.config import ConsumerConfig
from millstream.clients.config.settings import parse_settings
from millstream.clients.core.illegal_state import IllegalState
from millstream.foreign_names.explanation import explain_construction
from millstream.net.client.tasks import TaskScope, uninterrupted
from millstream.runtime import Clock
from millstream.runtime.system import SystemClock, SystemRandom
from millstream.streams.application.application_environment import (
    ApplicationEnvironment,
    membership_policy,
)
from millstream.streams.application.clients import ClientSupplier, DefaultClientSupplier
from millstream.streams.application.current_state import CurrentState, StateListener
from millstream.streams.application.ending_signals import Interrupted, Terminated, of_process
from millstream.streams.application.global_stream_thread import GlobalStreamThread
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.group.remarks import ShutdownRequested
from millstream.streams.application.group.standby_replicas import set_standby_replicas
from millstream.streams.application.group.topology_description import describe
from millstream.streams.application.interactive.hosts_of_stores import HostsOfStores
from millstream.streams.application.interactive.interactive_queries import InteractiveQueries
from millstream.streams.application.interactive.local_stores import LocalStores
from millstream.streams.application.interactive.store_lags import LagsOfStores, StoreLags
from millstream.streams.application.metrics.client_metrics import ClientMetrics, MetricValue
from millstream.streams.application.processes.outer_application import OuterApplication
from millstream.streams.application.processes.pickling import pickled_application
from millstream.streams.application.processes.process_stream_thread import ProcessStreamThread
from millstream.streams.application.signalled_end import SignalledEnd
from millstream.streams.application.state_cleaner import ObsoleteTasks, StateCleaner
from millstream.streams.application.state_directory import StateDirectory
from millstream.streams.application.states import (
    ApplicationState,
    ThreadState,
    are_restoring,
    state_of_threads,
)
from millstream.streams.application.stream_thread import StreamThread
from millstream.streams.application.stream_threads import AnyStreamThread, StreamThreads
from millstream.streams.application.thread_metadata import ThreadMetadata, thread_metadata
from millstream.streams.arguments import check_kind
from millstream.streams.config import GroupProtocol, ProcessingGuarantee, StreamsConfig
from millstream.streams.errors import TopologyError
from millstream.streams.failure_reports import without_causes
from millstream.streams.handlers import (
    OnUncaughtError,
    UncaughtErrorHandler,
    shut_down_client,
)
from millstream.streams.host_info import HostInfo
from millstream.streams.metrics import MetricName
from millstream.streams.queries import (
    StateQueryRequest,
    StateQueryResult,
    StoreQueryParameters,
)
from millstream.streams.queries.metadata import KeyQueryMetadata, Partitioner, StreamsMetadata
from millstream.streams.restore_listener import StateRestoreListener
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.steps import Observer, observe_nothing
from millstream.streams.runtime.task_names import sub_topology_name, task_name
from millstream.streams.serdes.serde import Serde
from millstream.streams.topology.topology import Topology

_LOGGER = logging.getLogger(__name__)


@explain_construction
class KafkaStreams:
    """A topology as an application. Instances with one application id share its tasks, by the `group_protocol` of the configuration.

    Use it as `async with`, or call `close` in the end. `clients`: settings of all clients by Kafka's names, `bootstrap_servers`
    among them, and with Kafka Streams' prefixes of one kind, or a supplier that makes the clients. Exactly once where the configuration says so, else at least once.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        clients: Mapping[str, object] | ClientSupplier,
        *,
        clock: Clock | None = None,
        on_uncaught_error: UncaughtErrorHandler = shut_down_client,
        restore_listener: StateRestoreListener | None = None,
        observe: Observer = observe_nothing,
    ) -> None:
        """Connects to nothing yet. `restore_listener` is called in the thread that restores, or in its process.

        Raises ConfigError, and TopologyError for what a group of applications cannot run.
        """
        check_kind("KafkaStreams: config", config, StreamsConfig)
        if config.processing_guarantee is None:
            config = replace(config, processing_guarantee=ProcessingGuarantee.AT_LEAST_ONCE)
        self._topology = topology
        self._config = config
        if not topology.sub_topologies:
            raise TopologyError("the topology reads nothing: give it a source or a global table")
        server = config.application_server
        self._own_host = HostInfo.parsed(server) if server else None
        self._has_tasks = any(not group.is_global for group in topology.sub_topologies)
        by_broker = config.group_protocol is GroupProtocol.STREAMS
        self._told = describe(topology, config.application_id) if by_broker else None
        self._supplier = DefaultClientSupplier(clients) if isinstance(clients, Mapping) else clients
        self._clock = SystemClock() if clock is None else clock
        self._on_uncaught_error = on_uncaught_error
        self._restore_listener = restore_listener
        self._observe = observe
        self._directory = StateDirectory(config.state_dir, config.application_id, SystemRandom())
        if config.checkpoint_directory is not None:
            self._directory.require_apart(config.checkpoint_directory)
        self._state = CurrentState(
            config.application_id, _log_prefix(config.client_id or config.application_id)
        )
        self._scope = TaskScope(f"application {config.application_id}")
        self._threads = StreamThreads(
            self._new_thread, self._scope, self._on_thread_failure, self._cache_share
        )
        self._signals = SignalledEnd(
            f"application {config.application_id}", of_process(), self._close_soon
        )
        self._pickled: bytes | None = None
        """The application as processes of stream threads get it; None where its threads share this process."""
        self._global_thread: GlobalStreamThread | None = None
        self._closing: asyncio.Task[None] | None = None
        self._cleaner: StateCleaner | None = None
        self._metrics: ClientMetrics | None = None
        self._cleaning: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._starting = asyncio.Lock()
        """Held by `start`, whose end the shutdown waits for."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._error: BaseException | None = None
        self._closers = contextlib.AsyncExitStack()
        self._queries = self._new_queries()
        self._local_stores = LocalStores(topology, self._threads.query, lambda: self._global_thread)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._config.application_id}, {self.state}>"

    def __reduce__(self) -> tuple[type[OuterApplication], tuple[str]]:
        """Pickles what a function that holds the application gets in the process of a stream thread."""
        return OuterApplication, (self._config.application_id,)

    async def __aenter__(self) -> Self:
        await self.start()
        self._signals.enter_block()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        ends = self._signals.leave_block(kind)
        await self.close()
        if ends is not None:
            raise ends

    @property
    def state(self) -> ApplicationState:
        """The state of the application."""
        return self._state.now

    @property
    def topology(self) -> Topology:
        """The topology that it runs."""
        return self._topology

    @property
    def config(self) -> StreamsConfig:
        """The settings of the application."""
        return self._config

    @property
    def error(self) -> BaseException | None:
        """The error that has ended the application."""
        return self._error

    @property
    def tasks(self) -> Mapping[str, frozenset[StreamsTaskId]]:
        """By thread, the active tasks that it has."""
        return {thread.name: thread.active_tasks for thread in self._threads.all}

    @property
    def reports(self) -> Mapping[StreamsTaskId, TaskReport]:
        """The last commit of each task."""
        return self._threads.reports

    def metadata_for_local_threads(self) -> tuple[ThreadMetadata, ...]:
        """Returns the stream threads of this instance, with their states, tasks and client ids."""
        return tuple(
            thread_metadata(
                each.name, each.state, each.active_tasks, each.reports, each.standby_tasks
            )
            for each in self._threads.all
        )

    def metrics(self) -> dict[MetricName, MetricValue]:
        """Returns the metrics of the instance, its stream threads and their tasks by Kafka Streams' names; none before the start.

        Those of tasks are as of their last commits, those of threads that are processes at most some seconds old.
        """
        if self._metrics is None:
            return {}
        return self._metrics.metrics(self.state, self._threads, self._global_thread)

    def on_state_change(self, listener: StateListener) -> None:
        """Has the listener called with each new state and the one before it. Raises IllegalState after the start."""
        self._state.add_listener(listener)

    async def start(self) -> None:
        """Starts the threads. Returns once global stores are filled.

        Raises IllegalState for an application that was started before, StoreLocked, ConfigError, BrokerNotAvailable where nothing listens,
        and what the cluster answers.
        """
        self._state.require_created()
        self._loop = asyncio.get_running_loop()
        with self._signals.starting():
            try:
                async with self._starting:
                    await self._start()
            except BaseException:
                if self._closing is not None:
                    await asyncio.wait({self._closing})  # another instance may be started now
                else:
                    self._signals.stop_listening()
                raise

    async def _start(self) -> None:
        self._state.require_created()
        await self._lock_directory()
        try:
            self._state.enter(ApplicationState.REBALANCING)
            if self._config.use_processes:
                self._pickled = pickled_application(self._application)
            await self._find_cluster()
            await self._set_standby_replicas()
            await self._open_global_stores()
        except BaseException:
            if self._closing is None:
                self._begin_to_end(ApplicationState.PENDING_SHUTDOWN, ApplicationState.NOT_RUNNING)
            raise
        if not self.state.is_running_or_rebalancing:
            return  # it was closed meanwhile
        if not self._has_tasks:  # global stores alone
            self._state.enter(ApplicationState.RUNNING)
            return
        self._begin_to_clean()
        for _ in range(self._config.num_stream_threads):
            self._threads.add(self._application.client_id)

    async def _lock_directory(self) -> None:
        """Takes the state directory, whose process id the instance has from now on. Raises StoreLocked and ConfigError."""
        loop = asyncio.get_running_loop()
        try:
            process_id = await uninterrupted(loop.run_in_executor(None, self._directory.lock))
        except asyncio.CancelledError:  # else it has locked nothing, and `clean_up` may have
            self._directory.unlock()
            raise
        self._closers.callback(self._directory.unlock)
        client_id = self._config.client_id or f"{self._config.application_id}-{process_id}"
        self._state.log_prefix = _log_prefix(client_id)
        self._metrics = ClientMetrics.of(self._topology, self._config, client_id, process_id)
        self._application = ApplicationEnvironment(
            topology=self._topology,
            config=self._config,
            supplier=self._supplier,
            clock=self._clock,
            policy=membership_policy(self._config, self._told, self._own_host, process_id),
            state_directory=str(self._directory.path),
            client_id=client_id,
            observe=self._observe,
            restore_listener=self._restore_listener,
        )

    def _begin_to_clean(self) -> None:
        """Begins to delete the stores of tasks that other instances have for long."""
        self._cleaner = StateCleaner(
            self._directory,
            ObsoleteTasks(self._config.state_cleanup_delay_ms, self._clock.now().monotonic_ms),
            self._directory_of,
            self._clock,
            self._state.log_prefix,
            are_tasks_elsewhere=self._config.use_processes,
        )
        cleaning = self._cleaner.run(self._settled_tasks)
        self._cleaning = self._scope.start(cleaning, "cleaner", awaited=True)

    def add_stream_thread(self) -> str:
        """Starts one more thread, and returns its name. Raises IllegalState where the application does not run, or `start` has not returned."""
        self._require_threads()
        if not self._has_tasks:
            raise IllegalState("global stores need no stream threads")
        return self._threads.add(self._application.client_id)

    async def remove_stream_thread(self) -> str:
        """Ends a thread, whose tasks go to the others, and returns its name. Raises IllegalState as above, and for the last one."""
        self._require_threads()
        return await self._threads.remove()

    async def query(self, request: StateQueryRequest) -> StateQueryResult:
        """Asks a store of this instance (KIP-796). Standby copies and stores that are being restored answer, too, unless active ones are required.

        Partitions that are not here are NOT_PRESENT. Raises StreamsNotStarted, and UnknownStore for a store that the topology does not have.
        """
        check_kind("query: request", request, StateQueryRequest)
        self._state.require_queryable()
        return await self._local_stores.query(request)

    def store(
        self,
        wanted: str | StoreQueryParameters[Any],  # Any: the rows of every type of store
    ) -> Any:  # Any: LiveKeyValueStore or another, as the type says that is wanted
        """Returns a store of this instance to be read, by coroutines. A name alone: values as rows, without timestamps (KIP-67).

        Raises StreamsNotStarted, UnknownStore, and InvalidStoreError for a store that has no read-only view. Methods of the store raise
        InvalidStoreError where it is of another type, StoreNotAvailable while tasks are restored unless `stale_stores`, StoreMigrated
        where this instance has no partition of it, and InvalidStorePartition where it does not have the one of the parameters.
        """
        check_kind("store: wanted", wanted, str | StoreQueryParameters)
        self._state.require_queryable()
        return self._queries.store(wanted, self.query, self._is_restoring)

    def metadata_for_all_streams_clients(self) -> list[StreamsMetadata[HostInfo]]:
        """Returns what each instance with an `application_server` has: stores and input partitions. Raises StreamsNotStarted."""
        self._state.require_queryable()
        return self._queries.metadata()

    def streams_metadata_for_store(self, store: str) -> list[StreamsMetadata[HostInfo]]:
        """Returns the instances that have partitions of a store. Raises StreamsNotStarted, UnknownStore."""
        self._state.require_queryable()
        return self._queries.metadata_of_store(store)

    async def query_metadata_for_key(
        self,
        store: str,
        key: object,
        key_serde: Serde[Any] | None = None,  # Any: a key of any type
        *,
        partitioner: Partitioner | None = None,
    ) -> KeyQueryMetadata[HostInfo]:
        """Returns the partition of a key, and the address of the instance that has it. Without a serde the store's own writes the key.

        `partitioner` is for keys that another one than Kafka's has spread: it is given the key and the number of partitions.
        Partition -1 without a host says that no addresses are known yet. Raises StreamsNotStarted, UnknownStore, SerializationError.
        """
        self._state.require_queryable()
        return await self._queries.metadata_of_key(store, key, key_serde, partitioner)

    async def all_local_store_partition_lags(self) -> StoreLags:
        """Returns, by store and partition, how far this instance's stores, standby copies included, are behind their changelogs (KIP-535).

        Raises StreamsNotStarted, and what the cluster answers.
        """
        self._state.require_queryable()
        return await self._queries.lags(await self._threads.store_offsets())

    def pause(self) -> None:
        """Processes nothing until `resume`. The tasks stay, and are restored (KIP-834)."""
        self._set_paused(is_paused=True)

    def resume(self) -> None:
        """Goes on after `pause`."""
        self._set_paused(is_paused=False)

    @property
    def is_paused(self) -> bool:
        """Whether `pause` was called, and `resume` not since."""
        return self._threads.is_paused

    async def run(self) -> None:
        """Starts, and returns when the application has ended, also by SIGINT or SIGTERM. Raises what `start` raises, and the error that ends it.

        Closes when it is cancelled.
        """
        try:
            await self.start()
            await self.wait_ended()
        except (Interrupted, Terminated):
            _LOGGER.debug("%s was told to end before it ran", self._state.log_prefix)
        finally:
            await self.close()

    async def wait_ended(self) -> None:
        """Waits until the application has ended. Raises the error that has ended it, without its causes, which `error` has."""
        with self._signals.waiting():
            await self._ended.wait()
        if self._error is not None:
            raise without_causes(self._error)

    async def close(self, timeout_s: float | None = None) -> bool:
        """Ends after the turns under way, commits and leaves the group. Idempotent. Returns whether all has ended in time.

        Raises ValueError for a negative time. With 0 it does not wait.
        """
        if timeout_s is not None and timeout_s < 0:
            raise ValueError(f"close: timeout_s must not be negative, but is {timeout_s}")
        if not self.state.has_completed_shutdown and self._closing is None:
            self._begin_to_end(ApplicationState.PENDING_SHUTDOWN, ApplicationState.NOT_RUNNING)
        if self._closing is None:
            return True
        if self._threads.is_one(asyncio.current_task()):
            return False  # a thread cannot wait for its own end
        done, _ = await asyncio.wait((self._closing,), timeout=timeout_s)
        return bool(done)

    def request_close(self) -> None:
        """Has the application end soon, and returns at once. Idempotent; for each thread, and for functions that the application calls.

        `close` waits for such functions, so they call this instead. Raises IllegalState before the start.
        """
        if self.state.has_completed_shutdown:
            return
        if self._loop is None:
            raise IllegalState(
                f"application {self._config.application_id} was not started: close it with `close`"
            )
        self._loop.call_soon_threadsafe(self._close_soon)

    def _close_soon(self) -> None:
        self._begin_to_end(ApplicationState.PENDING_SHUTDOWN, ApplicationState.NOT_RUNNING)

    @property
    def is_caller(self) -> bool:
        """Whether a function that this application runs in its stream threads is the one that asks."""
        return any(thread.is_current for thread in self._threads.all)

    async def clean_up(self) -> None:
        """Deletes the stores on this machine; the next start restores them. Raises IllegalState while the application runs."""
        is_closing = self._closing is not None and not self._closing.done()
        is_stopped = self.state.has_completed_shutdown and not is_closing
        # It is CREATED until it has its directory, and may have it by now.
        state = "being started" if self._starting.locked() else self.state
        if state is not ApplicationState.CREATED and not is_stopped:
            raise IllegalState(
                f"stores are in use: application {self._config.application_id} is {state}"
            )
        await asyncio.to_thread(self._directory.clean_up)

    def _new_thread(self, name: str) -> AnyStreamThread:
        if self._pickled is not None:
            return ProcessStreamThread(
                name, self._pickled, self._on_thread_change, self._answer, self.request_close
            )
        stores = None if self._global_thread is None else self._global_thread.stores
        return StreamThread(name, self._application, self._on_thread_change, self._answer, stores)

    def _cache_share(self, threads: int) -> int:
        """Returns what the caches of one of so many threads may hold. As in Kafka Streams that of global stores counts as one."""
        return self._config.cache_max_bytes // (threads + bool(self._topology.global_stores))

    def _on_thread_failure(self, thread: AnyStreamThread, error: Exception) -> None:
        if not self.state.is_running_or_rebalancing:
            return
        if thread.answer is OnUncaughtError.REPLACE_THREAD:
            self._threads.add(self._application.client_id)
            return
        self._error = error
        self._begin_to_end(ApplicationState.PENDING_ERROR, ApplicationState.ERROR)

    async def _answer(self, error: Exception) -> OnUncaughtError:
        """Asks the application's handler, but for the end of all instances that another one has asked for."""
        if isinstance(error, ShutdownRequested):
            return OnUncaughtError.SHUTDOWN_CLIENT
        return self._on_uncaught_error(error)

    def _begin_to_end(self, pending: ApplicationState, end: ApplicationState) -> None:
        """Begins the shutdown, and enters the first of the two states. A listener that raises does not keep the application from its end."""
        if self._closing is not None or self.state.has_completed_shutdown:
            return
        if self._cleaning is not None:
            self._cleaning.cancel()
        self._closing = self._scope.start(self._end(end), "close", awaited=True)
        self._state.enter(pending)

    async def _end(self, end: ApplicationState) -> None:
        async with self._starting:
            pass
        await self._threads.stop()
        try:
            await self._closers.aclose()
        except Exception:  # whatever stores and clients raise
            _LOGGER.exception("%s was not closed in order", self._state.log_prefix)
        finally:
            self._ended.set()
            try:
                self._state.enter(end)
            except Exception:  # whatever a listener raises: nobody waits for this task's result
                _LOGGER.exception("%s has a listener that failed", self._state.log_prefix)
            self._signals.stop_listening()

    async def _find_cluster(self) -> None:
        """Raises BrokerNotAvailable where nothing listens, and the refusal of a login. All clients that follow wait for a cluster that refuses: it restarts."""
        settings = self._supplier.settings_of_member(f"{self._application.client_id}-start")
        await require_listener(parse_settings(ConsumerConfig, settings))

    async def _set_standby_replicas(self) -> None:
        replicas = self._config.num_standby_replicas
        if not replicas or self._config.group_protocol is GroupProtocol.CLASSIC:
            return  # whatever the group's config says, or the leader of the group
        async with self._supplier.admin(f"{self._application.client_id}-admin") as admin:
            await set_standby_replicas(admin, self._config.application_id, replicas)

    async def _open_global_stores(self) -> None:
        if not self._topology.global_stores:
            return
        name = f"{self._application.client_id}-GlobalStreamThread"
        self._global_thread = await GlobalStreamThread.start(
            name, self._application, self._on_global_stores_failure
        )
        self._closers.push_async_callback(self._global_thread.close)

    def _on_global_stores_failure(self, error: Exception) -> None:
        """Asks the handler as about a stream thread, and ends the instance, whose tasks would go on with old rows."""
        if not self.state.is_running_or_rebalancing:
            return
        self._error = error
        try:
            answer = self._on_uncaught_error(error)
            if answer is not OnUncaughtError.SHUTDOWN_CLIENT:
                _LOGGER.warning(
                    "%s answers a failure of global stores with %s, and ends alone: no thread takes the place of theirs",
                    self._state.log_prefix,
                    answer,
                )
        finally:
            self._begin_to_end(ApplicationState.PENDING_ERROR, ApplicationState.ERROR)

    def _on_thread_change(self, thread: AnyStreamThread) -> None:
        if not self.state.is_running_or_rebalancing:
            return
        if self._cleaner is not None:
            self._cleaner.note(self._threads.tasks)
        now = state_of_threads([each.state for each in self._threads.all])
        ends_all = thread.answer not in (None, OnUncaughtError.REPLACE_THREAD)
        if now is not self.state and not ends_all:
            self._state.enter(now)

    def _settled_tasks(self) -> frozenset[StreamsTaskId] | None:
        """Returns the tasks of the instance; None while others are about to come."""
        is_settled = all(each.state is ThreadState.RUNNING for each in self._threads.all)
        return self._threads.tasks if is_settled else None

    def _directory_of(self, task: StreamsTaskId) -> str:
        group = self._topology.sub_topologies[task.sub_topology]
        name = sub_topology_name(self._topology, group, self._config.application_id)
        return task_name(name, task.partition)

    def _require_threads(self) -> None:
        """Raises IllegalState unless there are threads, which come last in `start`."""
        self._state.require_running()
        if self._starting.locked():
            raise IllegalState(
                f"application {self._config.application_id} is being started: wait until `start` returns"
            )

    def _is_restoring(self) -> bool:
        threads = [each.state for each in self._threads.all]
        return self.state is not ApplicationState.RUNNING and are_restoring(threads)

    def _new_queries(self) -> InteractiveQueries:
        config = self._config
        hosts = HostsOfStores(
            self._topology, config.application_id, config.default_key, self._own_host
        )
        return InteractiveQueries(
            self._topology,
            hosts,
            lambda: self._threads.known_hosts,
            lambda: self._supplier.admin(f"{self._application.client_id}-query-admin"),
            self._closers,
            lags=LagsOfStores(self._topology, config.application_id),
        )

    def _set_paused(self, *, is_paused: bool) -> None:
        self._state.require_running()
        self._threads.set_paused(is_paused=is_paused)


def _log_prefix(client_id: str) -> str:
    return f"stream-client [{client_id}]"
