"""StreamTask: one sub-topology on one partition, driven by a runner.

A task knows neither Kafka nor Spark nor a clock. The runner adds records, calls `process`, writes what comes
out, and commits; see README.md of this package for the order of calls that loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

from millstream.streams.config import OnError, StreamsConfig
from millstream.streams.kernel.columns.batch import RawBatch
from millstream.streams.kernel.columns.origins import OriginBatch, never_back
from millstream.streams.kernel.compile import make_operator
from millstream.streams.kernel.context import NodeContext, TaskFacts, TaskParts
from millstream.streams.kernel.counts import TaskCounts
from millstream.streams.kernel.current_run import PUNCTUATION, CurrentRun
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.resolved_serdes import source_serdes
from millstream.streams.kernel.schedule import Schedule
from millstream.streams.kernel.stateless import PassThroughOperator
from millstream.streams.kernel.task.caches import TaskCaches
from millstream.streams.kernel.task.failures import Failures
from millstream.streams.kernel.task.idling import IdlePolicy, Readiness
from millstream.streams.kernel.task.inputs import Inputs, TaskTopics
from millstream.streams.kernel.task.metrics import (
    ENFORCED_PROCESSING,
    PROCESS,
    PUNCTUATE,
    TaskMetrics,
)
from millstream.streams.kernel.task.output import PreparedCommit, TaskOutput
from millstream.streams.kernel.task.processor_topology import ProcessorTopology
from millstream.streams.kernel.task.sinks import Sink, SinkRecords
from millstream.streams.kernel.task.state import TaskState
from millstream.streams.kernel.task.upstreams import DoneBehind
from millstream.streams.metrics import StreamsMetrics
from millstream.streams.processor import PunctuationType
from millstream.streams.queries.result import Position, QueryResult, StateQueryRequest
from millstream.streams.restore_listener import StateRestoreListener
from millstream.streams.state.cache import CacheRoom
from millstream.streams.state.storage.byte_store import StoreFactory
from millstream.streams.state.store import OwningTask, StateStore
from millstream.streams.topology.execution_plan import ExecutionPlan, NodePlan, plan_execution
from millstream.streams.topology.nodes import ProcessorNode, SinkNode, SourceNode
from millstream.streams.topology.topology import SubTopology, Topology
from millstream.streams.tracing import OnTrace

_ALL_TOPICS: Final = TaskTopics()
_ID_WITHOUT_OWNER: Final = "-1_-1"
"""What Kafka Streams calls a task that fills global stores where processors and metrics see it."""
_TIMER_MS: Final = 100
"""An operator's retries come to an end after so long, and go on with the next call: commits and other tasks wait meanwhile.
It is Kafka Streams' commit interval with exactly once.
"""


class StreamTask:
    """One sub-topology on one partition.

    `topics` are those that have this partition. `global_stores` are those of the tasks that fill global stores.
    `cache_room`: shared by the caches of several tasks, as by those of a thread of Kafka Streams. `restore_listener` is
    told what is restored. `wall_clock_ms`: the clock now, from which the punctuations count that processors schedule in
    `init`. Stores are opened here and stay open until `close`.

    A runner reaches the parts of a task through them: `inputs` (queues and positions), `state` (stores: restored,
    marked), `schedule` (when it is to be called), `dropped`, `failures`, `metrics`, `current` (time).
    """

    def __init__(
        self,
        topology: Topology,
        sub_topology: int | SubTopology,
        partition: int,
        stores: StoreFactory,
        config: StreamsConfig,
        *,
        topics: TaskTopics = _ALL_TOPICS,
        global_stores: Mapping[str, StateStore] | None = None,
        restore_listener: StateRestoreListener | None = None,
        cache_room: CacheRoom | None = None,
        wall_clock_ms: int = 0,
    ) -> None:
        if isinstance(sub_topology, int):
            sub_topology = topology.sub_topologies[sub_topology]
        is_global = sub_topology.is_global
        self.id = f"{sub_topology.id}_{partition}"
        self.config = config
        self.current = current = CurrentRun(partition, wall_clock_ms)
        self.counts = counts = TaskCounts(current)
        self.dropped = counts.dropped
        self.schedule = Schedule()
        byte_stores = stores(self.id)
        task_id = _ID_WITHOUT_OWNER if is_global else self.id
        metrics = StreamsMetrics(lambda: current.wall_clock_ms, {"task-id": task_id})
        facts = TaskFacts(config, task_id, is_global, metrics, byte_stores.directory)
        self._records = SinkRecords()
        self.failures = Failures(facts, current, counts.dropped, self._records.append_letter)
        self.state = TaskState(
            topology,
            sub_topology,
            byte_stores,
            partition,
            OwningTask(config, task_id, current.record, counts.dropped.add_expired),
            listener=restore_listener,
            cache_room=cache_room or CacheRoom(config.cache_max_bytes),
        )
        self.stores: Mapping[str, StateStore] = self.state.stores
        plan = self._plan_execution(topology, sub_topology)
        parts = TaskParts(facts, current, counts, self.schedule)
        make = partial(self._make_operator, topology, topics, global_stores or {})
        self._topology = ProcessorTopology(plan, parts, self.failures, make)
        way_of_table, end_run = self._topology.way_of_table, self._records.end_run
        self.caches = TaskCaches(plan, self.stores, current, way_of_table, end_run)
        sources = [each.node for each in plan.nodes.values() if isinstance(each.node, SourceNode)]
        self.inputs = Inputs(sources, topology, config, current, self.failures, topics=topics)
        self._group = self.inputs.group
        nodes, queues = self._topology.nodes, self._group.queues
        self.metrics = TaskMetrics(parts, nodes, queues, self.state)
        self.idling = IdlePolicy(config.max_task_idle_ms)
        self._reads_aligned = bool(topics.aligned.read)
        self._measured_ms: Callable[[], int] = lambda: 0
        self._punctuation_ms = 0
        self._topology.initialize_processors()

    # What the runner sees.

    def trace(self, every: int, on_trace: OnTrace) -> None:
        """Give the trace of one record of so many to `on_trace`, from now on; 0: of none."""
        self._topology.trace(every, on_trace)

    @property
    def source_topics(self) -> tuple[str, ...]:
        """Topics whose records the task takes."""
        return tuple(self._group.queues)

    def query(self, request: StateQueryRequest, position: Position | None = None) -> QueryResult:
        """Ask one of the task's stores. Raises InvalidStoreError for a store that is not here.

        `position`: what the stores have seen, for a runner that knows of records before those of this task. None: that
        of the inputs.
        """
        known = self.inputs.position if position is None else position
        return self.state.ask(self.id, request, known)

    def resume(
        self,
        partition_times: Mapping[str, int],
        store_times: Mapping[str, Mapping[str, int]] | None = None,
        *,
        origin_time: int = -1,
        held: Mapping[str, tuple[int, DoneBehind]] | None = None,
    ) -> None:
        """Go on where an earlier task of the same partition stopped: its stream time, and the times of its topics.

        Call it before `add`, and after stores are restored. A runner keeps `PreparedCommit.partition_times` with the offsets
        it commits, and `store_times` where stores may be lost; `offset_metadata` has Kafka Streams' form of them. `held` has the
        committed offset of a topic beside what is done behind it.
        """
        self.state.resume(store_times or {})
        for topic, queue in self._group.queues.items():
            queue.resume(partition_times.get(topic, -1))
        for topic, begin in (held or {}).items():
            self.inputs.upstreams_of(topic).resume(*begin)
        stream_time = self.current.stream_time = self._group.stream_time
        self.current.origin_time = max(origin_time, -1 if self._reads_aligned else stream_time)
        for timer in self.schedule.timers:
            timer.prepare()

    def measure_with(self, now_ms: Callable[[], int]) -> None:
        """Has punctuations timed by a clock of the runner's. Without one they take no time."""
        self._measured_ms = now_ms

    def add(self, topic: str, records: RawBatch | OriginBatch) -> None:
        """Queue records of one input topic, in offset order."""
        self._group.add(topic, records)

    def set_partition(self, partition: int) -> None:
        """Says of which partition the records are that are added next. A task that fills global stores reads all of its topic's.

        What was added before must have been processed.
        """
        self.current.partition = partition

    def is_ready(self, lags: Mapping[str, int], wall_clock_ms: int) -> bool:
        """Whether to process now, or to wait for topics that have nothing queued (`max_task_idle_ms`).

        `lags`: by input topic, how many records lie behind those that were added; leave out what is not known yet.
        For runners that read several topics side by side; one that adds all there is need not ask.
        """
        readiness = self.idling.judge(self._group.queues.values(), lags, wall_clock_ms)
        if readiness is Readiness.ENFORCED:
            self.counts.by_node["", ENFORCED_PROCESSING] += 1
        return readiness is not Readiness.WAIT

    def process(
        self,
        wall_clock_ms: int,
        records_max: int | None = None,
        *,
        lags: Mapping[str, int] | None = None,
    ) -> TaskOutput:
        """Processes what is queued, at most `records_max` records, and gives out everything produced.

        With `lags` only as long as the task `is_ready`. Wall-clock punctuations that are due come first, if time has passed; with a `records_max` of 0 in any case.
        Raises StreamsError when a record cannot be read or processed; the task must then be rolled back or
        thrown away.
        """
        current, counts = self.current, self.counts.by_node
        punctuated, punctuation_ms = counts["", PUNCTUATE], self._punctuation_ms
        if wall_clock_ms > current.wall_clock_ms or records_max == 0:
            current.wall_clock_ms = max(wall_clock_ms, current.wall_clock_ms)
            self._punctuate(PunctuationType.WALL_CLOCK_TIME, current.wall_clock_ms)
            self._fire_timers(current.wall_clock_ms)
        left = records_max if records_max is not None else -1
        processed = 0
        while left and (lags is None or self.is_ready(lags, wall_clock_ms)):
            rows_max = self._topology.rows_max
            taken = self._group.take(rows_max if left < 0 else min(rows_max, left))
            if taken is None:
                break
            run, rows = taken.run, len(taken.batch)
            if run.origin_times is not None:
                run.origin_times = never_back(run.origin_times, current.origin_time)
            run.time_before = current.stream_time
            current.begin(run)
            self.metrics.record_lateness(run.timestamps)
            current.stream_time = max(current.stream_time, taken.newest)
            self._topology.run(taken.node, taken.batch)
            if run.origin_times is not None:
                current.origin_time = int(run.origin_times[-1])
            self._punctuate(PunctuationType.STREAM_TIME, current.stream_time)
            self._records.end_run()
            processed += rows
            left -= rows
        self.metrics.record_round()
        counts["", PROCESS] += processed
        output = self._take_output()
        output.processed = processed
        output.punctuated = counts["", PUNCTUATE] - punctuated
        output.punctuation_ms = self._punctuation_ms - punctuation_ms
        return output

    def prepare_commit(self) -> PreparedCommit:
        """Everything up to here is one unit: these input offsets, this output, the stores' writes.

        What the caches hold goes on now and is part of the output.
        """
        self.caches.flush()
        self.state.flush()
        times = {topic: queue.taken_time for topic, queue in self._group.queues.items()}
        known = {topic: time for topic, time in times.items() if time >= 0}
        return PreparedCommit(
            self.inputs.next_offsets,
            self._take_output(),
            known,
            self.state.times,
            self.current.origin_time,
            self.inputs.held,
        )

    def commit(
        self,
        *,
        marker: str | None = None,
        changelog_offsets: Mapping[str, int] | None = None,
    ) -> None:
        """Apply the writes of all stores, in one write. Call it after outputs and offsets are safe.

        `changelog_offsets`: by changelog topic, the offset after the last changelog record written.
        `marker`: kept with the rows, for instance a batch id; `state.marker_of` gives it back.
        """
        # Outputs and offsets are safe by now. Where this write fails, the stores stay as the commit before has left them,
        # and the task must be thrown away: the next one restores what they lack from the changelogs.
        self.state.commit(marker, changelog_offsets or {}, self.inputs.next_offsets)
        self._group.commit()
        self.schedule.commit_requested = False

    def discard_output(self) -> None:
        """Forget what was produced and not taken: of a record that failed, say. The stores keep their writes."""
        self._records.discard()
        self.state.take_changelogs()

    def rollback(self) -> None:
        """Forget everything since the last commit: queued records, outputs, the stores' writes.

        The runner then adds records again from the last committed offsets.
        """
        self._group.clear()
        self.current.stream_time = self._group.stream_time
        self._records.discard()
        self.state.discard()

    def close(self) -> None:
        """Close processors and stores; what was not committed is forgotten.

        All of them are closed, also where some fail; the last failure is raised. What a processor raises is a ProcessingError.
        """
        with ExitStack() as last_first:
            # Processors may still read their stores in `close`, so these go last.
            for close in (self.state.close, *reversed(self._topology.closers)):
                last_first.callback(close)

    # Construction.

    def _plan_execution(self, topology: Topology, group: SubTopology) -> ExecutionPlan:
        config = self.config
        cached = (name for name, store in self.stores.items() if store.cache is not None)
        return plan_execution(
            topology,
            group,
            cached_stores=frozenset(cached),
            sink_letters=self.failures.sink_letters,
            single=config.on_processing_error is not OnError.FAIL or config.batch_records_max == 1,
        )

    def _make_operator(
        self,
        topology: Topology,
        topics: TaskTopics,
        global_stores: Mapping[str, StateStore],
        plan: NodePlan,
        context: NodeContext,
    ) -> Operator:
        node = plan.node
        if isinstance(node, ProcessorNode):
            return make_operator(node, plan, context, self.stores, global_stores)
        if isinstance(node, SinkNode):
            return Sink(
                context,
                node,
                source_serdes(node, self.config),
                self._records,
                topic_name=partial(topology.decorated, application_id=self.config.application_id),
                failures=self.failures,
                aligned=topics.aligned.written,
            )
        return PassThroughOperator(context)

    # Running.

    def _punctuate(self, kind: PunctuationType, time_ms: int) -> None:
        """Fire what is due; on stream time nothing is before the first record."""
        queue = self.schedule.punctuations[kind]
        while time_ms >= 0 and (due := queue.take_due(time_ms)) is not None:
            with self._punctuation():
                try:
                    self._topology.processors[due.node].punctuate(due, time_ms)
                except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
                    self.failures.handle_punctuation_failure(due.node, time_ms, error)
                finally:
                    queue.append(due)

    def _fire_timers(self, time_ms: int) -> None:
        """Has operators do what is due, each for a round's time; where nobody measures that, all of it."""
        for timer in self.schedule.timers:
            due_ms = timer.next_ms
            if due_ms is not None and due_ms <= time_ms:
                with self._punctuation() as began_ms:
                    timer.fire(
                        time_ms, lambda: self._measured_ms() - began_ms < _TIMER_MS
                    )  # called meanwhile

    @contextmanager
    def _punctuation(self) -> Iterator[int]:
        """Gives the time when it began, and counts it."""
        self.current.begin(PUNCTUATION)
        self.counts.by_node["", PUNCTUATE] += 1
        began_ms = self._measured_ms()
        try:
            yield began_ms
        finally:
            self._punctuation_ms += self._measured_ms() - began_ms

    def _take_output(self) -> TaskOutput:
        return TaskOutput(self._records.take(), self.state.take_changelogs())
