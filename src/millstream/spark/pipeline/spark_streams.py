"""`SparkStreams`: a topology as an application on a Spark session, with the life of a `KafkaStreams`."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from millstream.clients.cluster.cluster import require_listener
from millstream.clients.core.illegal_state import IllegalState
from millstream.errors import ConfigError
from millstream.runtime import Clock
from millstream.runtime.system import SystemClock
from millstream.spark.data_source import FORMAT, register
from millstream.spark.kafka_settings import for_both
from millstream.spark.pipeline import explanation
from millstream.spark.pipeline.hosted_application import HostedApplication
from millstream.spark.pipeline.inputs import (
    DataFrameInput,
    InputQuery,
    checked_inputs,
    input_queries,
)
from millstream.spark.pipeline.jobs import JobFailed, TaskJobs
from millstream.spark.pipeline.lifecycle import TRANSITIONS, State
from millstream.spark.pipeline.micro_batches import (
    ApplicationDriver,
    MicroBatches,
    PipelineFailed,
    Progress,
)
from millstream.spark.pipeline.pausing import Pausing
from millstream.spark.pipeline.planning import CurrentPlan
from millstream.spark.pipeline.progress_line import ProgressLine
from millstream.spark.pipeline.queries.queryable import Queryable
from millstream.spark.pipeline.queries.store_queries import StoreQueries
from millstream.spark.pipeline.runner_options import RunnerOptions
from millstream.spark.pipeline.signalled_driver import SignalledDriver
from millstream.spark.pipeline.upstreams import TimeOrder
from millstream.spark.told_errors import cause
from millstream.streams.application.ending_signals import cut_short, of_process
from millstream.streams.arguments import check_kind
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.dropped_log import DroppedLog
from millstream.streams.errors import StreamsNotStarted
from millstream.streams.failure_reports import log_failure, without_causes
from millstream.streams.metrics import MetricName
from millstream.streams.progress.terminal_line import stream_of_a_person
from millstream.streams.runtime.snapshots.description import SnapshotPlan
from millstream.streams.runtime.task_names import sub_topology_name, transactional_id
from millstream.streams.topology.plan import SubTopologyPlan, TopologyPlan, outputs_of, sink_topics
from millstream.streams.topology.topology import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

STANDBY_INTERVAL_S: Final = 10.0
"""A sixth of LEASE_MS of hosts: a few of these jobs may fail before copies are closed."""
_JOIN_S: Final = 0.2
"""So soon whoever waits hears of a failure, and a signal is heeded."""
_LOGGER = logging.getLogger(__name__)


class SparkStreams(Queryable):
    """A topology on Spark. `run_available` works through what is there; `start` goes on until `close`.

    Exactly once unless the configuration says at_least_once. The application's group holds what is done, so that any
    session may go on with it, on any machine. A context manager.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        session: SparkSession,
        options: RunnerOptions,
        *,
        inputs: Mapping[str, DataFrameInput] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Creates the internal topics that are missing.

        `inputs`: DataFrames that stand for source topics of these names.

        Raises ConfigError, TopologyError, BrokerNotAvailable where nothing listens, and what the cluster answers.
        """
        _check_arguments(topology, config, options)
        config = _exactly_once_by_default(config)
        given = {"bootstrap.servers": options.bootstrap_servers, **options.client_settings}
        self._kafka = for_both(given)
        self._config = config
        self._options = options
        self._clock = SystemClock() if clock is None else clock
        self._session = session
        fed = checked_inputs(inputs or {})
        self._topology = topology.with_own_changelogs().with_fed_sources(fed)
        self._inputs = input_queries(inputs or {}, config.application_id, options, self._kafka)
        application = HostedApplication(
            self._topology,
            config,
            self._kafka,
            None if options.directory is None else str(Path(options.directory).resolve()),
            _snapshots(options),
        )
        self._jobs = TaskJobs(session, application)
        asyncio.run(require_listener(self._kafka.of_start()))
        interval_ms = options.discovery_interval_ms
        self._plan = CurrentPlan(
            self._topology, config.application_id, self._kafka, self._clock, interval_ms
        )
        self._order = TimeOrder(application.alignment, config.upstream_timeout_ms)
        may_be_asked = self._require_askable
        self._queries = StoreQueries(self._topology, config, self._jobs, self._plan, may_be_asked)
        self._state = State.CREATED
        self._listeners: list[Callable[[State, State], object]] = []
        self._observers: list[Callable[[Progress], object]] = []
        self._progress: dict[int, Progress] = {}
        self._metrics: dict[str, Mapping[MetricName, float]] = {}
        self._dropped_log = DroppedLog(self._clock, f"application {config.application_id}:")
        self._stopping = threading.Event()
        self._ender: threading.Thread | None = None  # closes it where one of its own threads asked
        self._signals = SignalledDriver(
            f"application {config.application_id}", of_process(), self._stopping.set
        )
        self._pausing = Pausing(config.application_id, self._kafka)
        self._line = _progress_line(options, config.application_id, self._clock)
        self._threads: list[threading.Thread] = []
        self._failures: list[BaseException] = []
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._config.application_id}, {self._state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def state(self) -> State:
        return self._state

    @property
    def topology(self) -> Topology:
        """The topology that it runs: changelogs are its own, and sources that DataFrames feed have their partitions."""
        return self._topology

    @property
    def config(self) -> StreamsConfig:
        """The configuration, with the guarantee that holds where none was given."""
        return self._config

    @property
    def plan(self) -> TopologyPlan:
        """The sub-topologies with their topics and tasks, as they were when the cluster was last looked at."""
        return self._plan.last

    @property
    def last_progress(self) -> Mapping[int, Progress]:
        """The last micro-batch of each sub-topology, by its number."""
        return dict(self._progress)

    def explain(self) -> str:
        """Returns what the tasks read, keep and write, and where they are, as text."""
        return explanation.as_text(self._title(), self._explained())

    def _repr_html_(self) -> str:
        """The form for notebooks."""
        return explanation.as_html(self._title(), self._explained())

    def metrics(self) -> dict[MetricName, float]:
        """Returns the metrics of all tasks by Kafka Streams' names, those of processors included, as their
        last runs have reported them.

        Each has its task's id among its tags. They count from the start of the task in its host.
        """
        return {
            name: value
            for of_task in list(self._metrics.values())
            for name, value in of_task.items()
        }

    def on_state_change(self, listener: Callable[[State, State], object]) -> None:
        """Has the listener called with each new state and the one before it."""
        self._listeners.append(listener)

    def on_progress(self, observer: Callable[[Progress], object]) -> None:
        """Has the observer called after each micro-batch, from the thread of its sub-topology."""
        self._observers.append(observer)

    @property
    def input_queries(self) -> Mapping[str, StreamingQuery]:
        """The queries that feed the inputs, by name, as far as they have been started."""
        queries = {name: each.query for name, each in self._inputs.items()}
        return {name: query for name, query in queries.items() if query is not None}

    def read_stream(self, topic: str, **options: str) -> DataFrame:
        """Returns what the topology writes to a topic as a streaming DataFrame: only what is
        committed, from the start on.

        `options` are those of the source. Raises ConfigError for a topic that is no output of the topology.
        """
        outputs = outputs_of(self._topology)
        if outputs is not None and topic not in outputs:
            raise ConfigError(
                f"the topology does not write to {topic}, but to {', '.join(sorted(outputs)) or 'no topic'}"
            )
        register(self._session)
        given = self._kafka.source_options() | {"startingOffsets": "earliest", "subscribe": topic}
        reader = self._session.readStream.format(FORMAT)
        return reader.options(**(given | options)).load()

    def run_available(self, observe: Callable[[Progress], object] | None = None) -> None:
        """Processes everything that is readable in the source topics now, writers before readers, then returns.

        What it has written can then be read with read_committed: it waits for the markers of its
        transactions. `observe` is called after each micro-batch. Raises PipelineFailed, and IllegalState for
        an application that is paused from elsewhere. May be called again and again. SIGINT and SIGTERM end
        it, and the program, after the micro-batches under way.
        """
        if self._state is not State.CREATED:
            raise IllegalState(f"run_available is for an application that is not {self._state}")
        if self._pausing.look():
            raise IllegalState(
                f"application {self._config.application_id} is paused: `millstream pipeline resume` ends that"
            )
        self._signals.begin()
        try:
            with self._signals.heeding():
                self._run_available(observe)
        except PipelineFailed as error:
            log_failure(_LOGGER, f"application {self._config.application_id} has failed", error)
            raise without_causes(error) from None
        if self._signals.number is not None:
            self.close()
            raise cut_short(self._signals.number)

    def _run_available(self, observe: Callable[[Progress], object] | None) -> None:
        for each in self._inputs.values():
            each.run_available(self._stopping)
        plan = self._plan.looked_at()
        groups: list[MicroBatches] = []
        with ExitStack() as last_first:
            last_first.callback(self._clear_line)
            last_first.callback(self._order.available.clear)
            for part in plan.sub_topologies:
                groups.append(MicroBatches(part, self._driver(observe)))
                last_first.callback(groups[-1].close)
            if self._order.alignment.writers:
                _begin(groups)
            is_left = True
            while (
                is_left and not self._stopping.is_set()
            ):  # sub-topologies that feed each other: what one has written for another that ran before it
                if self._order.alignment.writers:
                    _run_in_slices(groups)
                moved = [each.run_available() for each in groups]
                is_left = plan.is_circular and any(moved)

    def start(self) -> None:
        """Starts all sub-topologies; they run until `close` or a signal, or until one of them fails."""
        self._pausing.look()
        self._enter(State.RUNNING)
        self._signals.begin()
        self._begin("pausing", self._pausing.watch, self._stopping)
        for each in self._plan.last.sub_topologies:
            self._begin(str(each.id), self._run, each)
        for name, feeding in self._inputs.items():
            self._begin(f"input {name}", self._feed, feeding)
        if self._config.num_standby_replicas > 0:
            self._begin("standbys", self._keep_standbys)

    def pause(self) -> None:
        """Begins no more micro-batches until `resume`; those under way are finished."""
        self._pausing.pause(is_paused=True)

    def resume(self) -> None:
        """Goes on after `pause`, within a second.

        What `millstream pipeline pause` has paused, `millstream pipeline resume` resumes.
        """
        self._pausing.pause(is_paused=False)

    @property
    def is_paused(self) -> bool:
        return self._pausing.is_on.is_set()

    def await_termination(self, timeout_s: float | None = None) -> bool:
        """Waits until the application has been closed, in the main thread also by SIGINT or SIGTERM.

        False at the time limit.

        Raises PipelineFailed as soon as it has failed.
        """
        with self._signals.heeding():
            has_ended = self._await_threads(timeout_s)
        if self._signals.number is not None:
            self.close()
            return True
        return has_ended

    def _await_threads(self, timeout_s: float | None) -> bool:
        clock = self._clock
        deadline_ms = None
        if timeout_s is not None:
            deadline_ms = clock.now().monotonic_ms + int(timeout_s * 1000)
        while left := self._running_threads():
            self._raise_failure()
            left_s = _JOIN_S
            if deadline_ms is not None:
                left_s = min(left_s, (deadline_ms - clock.now().monotonic_ms) / 1000)
                if left_s <= 0:
                    return False
            for thread in left:
                thread.join(left_s / len(left))
        self._raise_failure()
        return True

    def _running_threads(self) -> list[threading.Thread]:
        enders = () if self._ender is None else (self._ender,)
        return [each for each in (*self._threads, *enders) if each.is_alive()]

    def close(self) -> None:
        """Ends after the micro-batches under way, and closes the tasks in their hosts. Idempotent.

        Observers and listeners may call it: it does not wait in a thread of the application, which cannot wait for its
        own end.
        """
        is_in_own_thread = threading.current_thread() in {*self._threads, self._ender}
        with self._lock:
            is_first = self._state not in {State.NOT_RUNNING, State.PENDING_SHUTDOWN}
            if is_first:
                if self._state is State.PENDING_ERROR:
                    self._enter(State.ERROR)
                self._enter(State.PENDING_SHUTDOWN)
                self._signals.close_begins()
                self._stopping.set()
            if is_first and is_in_own_thread:
                name = f"{self._config.application_id}-close"
                # No daemon: a program that ends meanwhile has its tasks closed, too.
                self._ender = threading.Thread(target=self._end, name=name)
                self._ender.start()
        if is_in_own_thread:
            return
        if is_first:
            self._end()
        elif self._ender is not None:
            self._ender.join()

    def _end(self) -> None:
        for thread in self._threads:
            thread.join()
        self._dropped_log.close()
        self._clear_line()
        self._queries.close()
        self._jobs.close()
        self._enter(State.NOT_RUNNING)
        self._signals.end()

    def _clear_line(self) -> None:
        if self._line is not None:
            self._line.clear()

    def _title(self) -> str:
        guarantee = self._config.processing_guarantee
        return f"application {self._config.application_id}, {guarantee}, {self._state}"

    def _explained(self) -> list[explanation.ExplainedSubTopology]:
        application_id = self._config.application_id
        plans, jobs = self.plan.sub_topologies, self._jobs
        return explanation.explained(
            self._topology, application_id, plans, jobs.executors_of_tasks, jobs.copies
        )

    def _require_askable(self) -> None:
        """After `run_available` the stores can be asked, too: the tasks stay open."""
        has_run = self._state is State.RUNNING or bool(self._jobs.slots_of_tasks)
        if self._state not in {State.CREATED, State.RUNNING} or not has_run:
            raise StreamsNotStarted(
                f"application {self._config.application_id} is {self._state}: its stores can be asked once it has been started"
            )

    # In threads.

    def _begin(self, name: str, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(
            target=work,
            args=arguments,
            name=f"{self._config.application_id}-{name}",
            daemon=True,
        )
        self._threads.append(thread)
        thread.start()

    def _run(self, plan: SubTopologyPlan) -> None:
        batches = MicroBatches(plan, self._driver(None))
        try:
            batches.run()
        except BaseException as error:  # noqa: BLE001  # whoever waits is told
            self._note_failure(error)
        finally:
            batches.close()

    def _feed(self, feeding: InputQuery) -> None:
        try:
            feeding.run(self._stopping)
        except BaseException as error:  # noqa: BLE001  # whoever waits is told
            self._note_failure(error)

    def _keep_standbys(self) -> None:
        """Asks for standbys again and again: tasks move, and executors come and go."""
        while not self._stopping.wait(STANDBY_INTERVAL_S):
            if self.is_paused:
                continue
            topics = self._plan.last.topics_of_logged_tasks(self._topology)
            try:
                self._jobs.keep_standbys(topics, self._config.num_standby_replicas)
            except JobFailed as error:  # an executor is gone, say
                _LOGGER.info("standbys are asked for again soon: %s", cause(str(error)))

    def _note_failure(self, error: BaseException) -> None:
        with self._lock:
            self._failures.append(error)
            self._stopping.set()
            if self._state is State.RUNNING:
                self._clear_line()
                _LOGGER.error("application %s: %s", self._config.application_id, error)
                self._enter(State.PENDING_ERROR)
                if self.state is State.PENDING_ERROR:  # a listener may have closed it
                    self._enter(State.ERROR)

    def _raise_failure(self) -> None:
        if self._failures:
            raise without_causes(self._failures[0])

    def _driver(self, observe: Callable[[Progress], object] | None) -> ApplicationDriver:
        def observe_progress(progress: Progress) -> None:
            self._progress[progress.sub_topology] = progress
            if self._line is not None:
                self._line.take(progress)
            for observer in self._observers if observe is None else [*self._observers, observe]:
                observer(progress)

        return ApplicationDriver(
            application_id=self._config.application_id,
            kafka=self._kafka,
            jobs=self._jobs,
            clock=self._clock,
            stopping=self._stopping,
            paused=self._pausing.is_on,
            observe=observe_progress,
            transactional_ids=self._transactional_ids,
            records_max=self._options.records_per_trigger_max,
            plan=self._plan,
            max_task_idle_ms=self._config.max_task_idle_ms,
            repartition_purge_interval_ms=self._config.repartition_purge_interval_ms,
            metrics=self._metrics,
            order=self._order,
            own_outputs=sink_topics(self._topology),
            dropped_log=self._dropped_log,
        )

    def _transactional_ids(self, plan: SubTopologyPlan) -> list[str]:
        if self._config.processing_guarantee is ProcessingGuarantee.AT_LEAST_ONCE:
            return []
        application_id = self._config.application_id
        group = self._topology.sub_topologies[plan.id]
        name = sub_topology_name(self._topology, group, application_id)
        return [transactional_id(application_id, name, task) for task in range(plan.tasks)]

    def _enter(self, state: State) -> None:
        with self._lock:
            before = self._state
            if state not in TRANSITIONS[before]:
                raise IllegalState(
                    f"application {self._config.application_id} is {before} and cannot become {state}"
                )
            self._state = state
        for listener in self._listeners:
            listener(state, before)


def _begin(groups: Sequence[MicroBatches]) -> None:
    """Fixes what all of them are to work through before the first one does: others look how much it has left."""
    for each in groups:
        each.begin_available()


def _run_in_slices(groups: Sequence[MicroBatches]) -> None:
    """Has all sub-topologies come forward in time together, so that none has to hold back much of
    what those before it have written.
    """
    has_more = True
    while has_more:
        moved = [each.run_slice() for each in groups]
        has_more = any(moved)


def _check_arguments(topology: object, config: object, options: object) -> None:
    check_kind("SparkStreams: topology", topology, Topology)
    check_kind("SparkStreams: config", config, StreamsConfig)
    check_kind("SparkStreams: options", options, RunnerOptions)


def _exactly_once_by_default(config: StreamsConfig) -> StreamsConfig:
    if config.processing_guarantee is not None:
        return config
    return replace(config, processing_guarantee=ProcessingGuarantee.EXACTLY_ONCE_V2)


def _progress_line(
    options: RunnerOptions, application_id: str, clock: Clock
) -> ProgressLine | None:
    stream = stream_of_a_person() if options.show_progress else None
    return None if stream is None else ProgressLine(application_id, clock, stream)


def _snapshots(options: RunnerOptions) -> SnapshotPlan | None:
    if options.checkpoint_directory is None:
        return None
    directory = str(Path(options.checkpoint_directory).resolve())
    return SnapshotPlan(directory, options.checkpoint_interval_ms)


class MicroBatchRunner(SparkStreams):
    """The name that `SparkStreams` had at first. `stop` is `close`."""

    def stop(self) -> None:
        self.close()
