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
from millstream.streams.dropped_records import DroppedRecords
from millstream.streams.handlers import OutgoingRecord
from millstream.streams.kernel.columns.batch import Batch, RawBatch
from millstream.streams.kernel.columns.origins import OriginBatch, never_back
from millstream.streams.kernel.compile import make_operator
from millstream.streams.kernel.context import TaskContext
from millstream.streams.kernel.operator import Operator
from millstream.streams.kernel.processors.processor import ProcessOperator
from millstream.streams.kernel.resolved_serdes import source_serdes
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
from millstream.streams.kernel.task.questions import ask_store
from millstream.streams.kernel.task.sinks import Sink, SinkRecords
from millstream.streams.kernel.task.state import TaskState
from millstream.streams.kernel.task.tracing import Tracer
from millstream.streams.kernel.task.traversal import DepthFirst, RunningNode, Traversal
from millstream.streams.kernel.task.upstreams import DoneBehind
from millstream.streams.metrics import MetricName
from millstream.streams.processor import PunctuationType
from millstream.streams.queries.result import (
    Position,
    QueryResult,
    StateQueryRequest,
)
from millstream.streams.restore_listener import StateRestoreListener
from millstream.streams.state.cache import CacheRoom
from millstream.streams.state.storage.task_stores import StoreFactory
from millstream.streams.state.store import StateStore
from millstream.streams.topology.execution_plan import (
    ExecutionPlan,
    NodePlan,
    SourcePlan,
    plan_execution,
)
from millstream.streams.topology.nodes import ProcessorNode, SinkNode, SourceNode
from millstream.streams.topology.topology import SubTopology, Topology
from millstream.streams.tracing import OnTrace

_ALL_TOPICS: Final = TaskTopics()
_ID_WITHOUT_OWNER: Final = "-1_-1"
"""What Kafka Streams calls a task that fills global stores where processors and metrics see it."""
_TIMER_MS: Final = 100
"""An operator's retries come to an end after so long, and go on with the next call: commits and other tasks wait meanwhile."""


class StreamTask:
    """One sub-topology on one partition.

    `topics` are those that have this partition. `global_stores` are those of the tasks that fill global stores.
    `cache_room`: shared by the caches of several tasks, as by those of a thread of Kafka Streams. `restore_listener` is told of `start_restore`, `restore` and `end_restore`.
    `wall_clock_ms`: the clock now, from which the punctuations count that processors schedule in `init`. Stores are
    opened here and stay open until `close`.
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
        known_as = _ID_WITHOUT_OWNER if is_global else self.id
        self._context = TaskContext(config, partition, known_as, is_global=is_global)
        self._context.wall_clock_ms = wall_clock_ms
        self._global_stores = global_stores or {}
        self._topology = topology
        self._aligned = topics.aligned
        self._records = SinkRecords()
        self._failures = Failures(self._context, self._records.append_letter)
        self._context.give_up = self._failures.handle_given_up
        self._context.send_on = self._send_on
        self._measured_ms: Callable[[], int] = lambda: 0
        self._punctuation_ms = 0
        byte_stores = stores(self.id)
        self._context.state_dir = byte_stores.directory
        self._state = TaskState(
            topology,
            sub_topology,
            byte_stores,
            self._context,
            listener=restore_listener,
            cache_room=cache_room or CacheRoom(config.cache_max_bytes),
        )
        self._stores = self._state.stores
        self._plan = self._plan_execution(sub_topology)
        self._nodes = self._make_nodes()
        nodes = tuple(self._nodes.values())
        self._metrics = TaskMetrics(self._context, nodes, self._state.database_properties)
        self._tracer: Tracer | None = None
        self._depth_first = DepthFirst(self._context, self._handle_error)
        self._caches = TaskCaches(
            self._plan, self._stores, self._context, self._traversal_of_table, self._records.end_run
        )
        self.trace(config.trace_every, config.on_trace)
        planned = (each.node for each in self._plan.nodes.values())
        sources = [node for node in planned if isinstance(node, SourceNode)]
        self._inputs = Inputs(sources, topology, self._context, self._failures, topics)
        self._group = self._inputs.group
        self._idling = IdlePolicy(config.max_task_idle_ms)
        self._has_processors = self._start_processors()

    # What the runner sees.

    def trace(self, every: int, on_trace: OnTrace) -> None:
        """Give the trace of one record of so many to `on_trace`, from now on; 0: of none."""
        if every:
            self._tracer = Tracer(self._context, self._handle_error, every, on_trace)
        else:
            self._tracer = None
        self._depth_first = self._tracer or DepthFirst(self._context, self._handle_error)
        self._traversals = {
            name: self._traversal(plan, self._nodes[name])
            for name, plan in self._plan.sources.items()
        }

    @property
    def source_topics(self) -> tuple[str, ...]:
        """Topics whose records the task takes."""
        return tuple(self._group.queues)

    @property
    def pattern_of_topic(self) -> Mapping[str, str]:
        """The pattern by which a topic is read, for topics that are read by one."""
        return self._inputs.pattern_of_topic

    def maybe_read(self, topic: str) -> bool:
        """Whether `add` takes records of this topic; one that a pattern matches is a source topic from now on.

        Raises TopologyError where patterns of two sources match it.
        """
        return self._inputs.maybe_read(topic)

    @property
    def changelog_topics(self) -> dict[str, str]:
        """Changelog topic of each store that writes one, by store."""
        return {
            name: store.changelog.topic
            for name, store in self._stores.items()
            if store.changelog is not None
        }

    @property
    def stores(self) -> Mapping[str, StateStore]:
        """The task's stores by name, for reading."""
        return self._stores

    @property
    def dropped_records(self) -> int:
        """Records left out so far: null keys, late, unreadable, failed."""
        return self._context.dropped_records

    def take_dropped(self) -> tuple[DroppedRecords, ...]:
        """Returns what was left out since this was last asked, by place and reason."""
        return self._context.dropped.take()

    @property
    def dropped_by_topic(self) -> Mapping[str, int]:
        """By input topic, how many of its records were left out so far."""
        return self._context.dropped.by_topic

    @property
    def commit_requested(self) -> bool:
        """A processor has asked for a commit since the last one."""
        return self._context.commit_requested

    @property
    def next_punctuation_ms(self) -> int | None:
        """The wall-clock time at which `process` has to be called although no record has come, for punctuations and retries."""
        return self._context.next_due_ms

    def metrics(self) -> dict[MetricName, float]:
        """Totals by Kafka Streams' names, and the metrics that processors have added."""
        queues = tuple(self._group.queues.values())
        return self._metrics.values(queues, self._stores)

    @property
    def position(self) -> Position:
        """By topic and partition, the offset of the last record taken, for all stores of the task alike."""
        partition = self._context.partition
        return {
            topic: {partition: queue.next_offset - 1}
            for topic, queue in self._group.queues.items()
            if queue.next_offset is not None
        }

    def query(self, request: StateQueryRequest, position: Position | None = None) -> QueryResult:
        """Ask one of the task's stores. Raises InvalidStoreError for a store that is not here.

        `position`: what the stores have seen, for a runner that knows of records before those of this task. None: `position` of the task.
        """
        known = self.position if position is None else position
        return ask_store(self.id, self._stores, request, known)

    @property
    def stream_time(self) -> int:
        """The largest timestamp processed so far, -1 at first."""
        return self._context.stream_time

    def go_back(self, store_times: Mapping[str, Mapping[str, int]]) -> None:
        """Say before stores are restored that changelogs are ahead of the last commit, which these are the times of: records come again."""
        self._state.go_back(store_times)

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
        self._state.resume(store_times or {})
        for topic, queue in self._group.queues.items():
            queue.resume(partition_times.get(topic, -1))
        for topic, begin in (held or {}).items():
            self._inputs.upstreams_of(topic).resume(*begin)
        self._context.stream_time = self._group.stream_time
        of_sources = -1 if self._aligned.read else self._context.stream_time
        self._context.origin_time = max(origin_time, of_sources)
        for timer in self._context.timers:
            timer.prepare()

    def measure_with(self, now_ms: Callable[[], int]) -> None:
        """Has punctuations timed by a clock of the runner's. Without one they take no time."""
        self._measured_ms = now_ms

    def add(self, topic: str, records: RawBatch | OriginBatch) -> None:
        """Queue records of one input topic, in offset order."""
        self._group.add(topic, records)

    def expect(self, topic: str, reached: Mapping[int, int]) -> None:
        """Says how far the upstream tasks of a repartition topic have come, as `UpstreamMerge.expect` takes it."""
        self._inputs.upstreams_of(topic).expect(reached)

    @property
    def origin_time(self) -> int:
        """The largest origin time of the records taken so far."""
        return self._context.origin_time

    def set_partition(self, partition: int) -> None:
        """Says of which partition the records are that are added next. A task that fills global stores reads all of its topic's.

        What was added before must have been processed.
        """
        self._context.partition = partition

    def is_ready(self, lags: Mapping[str, int], wall_clock_ms: int) -> bool:
        """Whether to process now, or to wait for topics that have nothing queued (`max_task_idle_ms`).

        `lags`: by input topic, how many records lie behind those that were added; leave out what is not known yet.
        For runners that read several topics side by side; one that adds all there is need not ask.
        """
        readiness = self._idling.judge(self._group.queues.values(), lags, wall_clock_ms)
        if readiness is Readiness.ENFORCED:
            self._context.counts["", ENFORCED_PROCESSING] += 1
        return readiness is not Readiness.WAIT

    @property
    def queued(self) -> Mapping[str, int]:
        """By input topic, how many records wait."""
        return {topic: len(queue) for topic, queue in self._group.queues.items()}

    def next_offset(self, topic: str) -> int | None:
        """The offset after everything that was taken of a topic, or of the first record that was not. None before the first record."""
        return self._group.queues[topic].next_offset

    @property
    def held(self) -> Mapping[str, int]:
        """By repartition topic, how many of the records that wait do so for upstream tasks."""
        return self._inputs.waiting_for_upstreams

    @property
    def holds_changes(self) -> bool:
        """Whether caches hold changes of records that were taken, which go on with the next commit at the latest."""
        return self._caches.hold_changes

    def newest_origin_time(self, topic: str) -> int:
        """The largest origin time that was added of an aligned topic, -1 at first."""
        return self._inputs.upstreams_of(topic).newest

    @property
    def idles_until_ms(self) -> int | None:
        """The wall-clock time to which the task waits for an empty topic; None where it does not, or not by the clock."""
        return self._idling.waits_until_ms

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
        context = self._context
        punctuated, punctuation_ms = context.counts["", PUNCTUATE], self._punctuation_ms
        if wall_clock_ms > context.wall_clock_ms or records_max == 0:
            context.wall_clock_ms = max(wall_clock_ms, context.wall_clock_ms)
            self._punctuate(PunctuationType.WALL_CLOCK_TIME, context.wall_clock_ms)
            self._fire_timers(context.wall_clock_ms)
        left = records_max if records_max is not None else -1
        processed = 0
        while left and (lags is None or self.is_ready(lags, wall_clock_ms)):
            batch_max = 1 if self._has_processors else self.config.batch_records_max
            if self._tracer is not None:
                batch_max = min(batch_max, max(1, self._tracer.untraced))
            run = self._group.take(batch_max if left < 0 else min(batch_max, left))
            if run is None:
                break
            times = run.origin_times
            if times is not None:
                times = never_back(times, self._context.origin_time)
            self._context.begin(run.topic, run.offsets, run.raw_keys, run.raw_values, times)
            self._context.note_times(run.batch.timestamps, run.batch.ordinals)
            self._metrics.record_lateness(run.batch.timestamps)
            self._context.stream_time = max(self._context.stream_time, run.newest)
            if self._tracer is None:
                self._traversals[run.node].run(run.batch)
            elif self._tracer.untraced:
                self._tracer.count_passed(len(run.batch))
                self._traversals[run.node].run(run.batch)
            elif len(run.batch):
                self._tracer.trace(self._nodes[run.node], run.batch)
            if times is not None:
                self._context.origin_time = int(times[-1])
            self._punctuate(PunctuationType.STREAM_TIME, self._context.stream_time)
            self._records.end_run()
            processed += len(run.batch)
            left -= len(run.batch)
        self._metrics.record_round(self._group.queues.values())
        self._context.counts["", PROCESS] += processed
        output = self._take_output()
        output.processed = processed
        output.punctuated = context.counts["", PUNCTUATE] - punctuated
        output.punctuation_ms = self._punctuation_ms - punctuation_ms
        return output

    def count_written(self, output: TaskOutput) -> None:
        """Says that an output is written, which counts its size."""
        for records in output.sinks.values():
            self._context.count_written(records)

    def production_failed(self, record: OutgoingRecord, error: Exception) -> OnError:
        """Decides about a record of this task that the broker refused: CONTINUE without it, or RETRY.

        Dead letters of the application's handler are part of the next output. Raises StreamsError where the task
        must stop. `error` has an attribute `retriable`, as `KafkaError` does, or counts as one that will not pass.
        """
        return self._failures.unsent(record, error)

    def prepare_commit(self) -> PreparedCommit:
        """Everything up to here is one unit: these input offsets, this output, the stores' writes.

        What the caches hold goes on now and is part of the output.
        """
        self._caches.flush()
        self._state.flush()
        times = {topic: queue.taken_time for topic, queue in self._group.queues.items()}
        known = {topic: time for topic, time in times.items() if time >= 0}
        return PreparedCommit(
            self._inputs.next_offsets,
            self._take_output(),
            known,
            self._state.times,
            self._context.origin_time,
            self._inputs.held,
        )

    def commit(
        self,
        *,
        marker: str | None = None,
        changelog_offsets: Mapping[str, int] | None = None,
    ) -> None:
        """Apply the writes of all stores, in one write. Call it after outputs and offsets are safe.

        `changelog_offsets`: by changelog topic, the offset after the last changelog record written.
        `marker`: kept with the rows, for instance a batch id; `store_marker` gives it back.
        """
        self._state.commit(marker, changelog_offsets or {}, self._inputs.next_offsets)
        self._group.commit()
        self._context.commit_requested = False

    def discard_output(self) -> None:
        """Forget what was produced and not taken: of a record that failed, say. The stores keep their writes."""
        self._records.discard()
        self._state.take_changelogs()

    def rollback(self) -> None:
        """Forget everything since the last commit: queued records, outputs, the stores' writes.

        The runner then adds records again from the last committed offsets.
        """
        self._group.clear()
        self._context.stream_time = self._group.stream_time
        self._records.discard()
        self._state.discard()

    def store_marker(self, store: str) -> str | None:
        """The marker of the store's last commit."""
        return self._stores[store].rows.metadata.marker

    def restore_positions(self) -> dict[str, int | None]:
        """By changelog topic, the offset to restore from; None means from the beginning.

        A topic that is one of `source_topics` too, a table's own, must be restored up to the task's committed
        offset of it and no further: what comes after is still to be processed.
        """
        return self._state.restore_positions()

    def start_restore(self, topic: str, starting_offset: int, ending_offset: int) -> None:
        """Tell the listener that records of a changelog topic will be restored."""
        self._state.start_restore(topic, starting_offset, ending_offset)

    def restore(self, topic: str, raw: RawBatch) -> None:
        """Apply records of a changelog topic to its store and commit them, at once."""
        self._state.restore(topic, raw)

    def end_restore(self, topic: str) -> None:
        """Tell the listener that a store is complete."""
        self._state.end_restore(topic)

    def close(self) -> None:
        """Close processors and stores; what was not committed is forgotten.

        All of them are closed, also where some fail; the last failure is raised. What a processor raises is a ProcessingError.
        """
        operators = (each.operator for each in self._nodes.values())
        processors = [each.close for each in operators if isinstance(each, ProcessOperator)]
        with ExitStack() as last_first:
            for close in (self._state.close, *reversed([*processors, *self._context.closers])):
                last_first.callback(close)

    # Construction.

    def _plan_execution(self, group: SubTopology) -> ExecutionPlan:
        config = self.config
        cached = (name for name, store in self._stores.items() if store.cache is not None)
        return plan_execution(
            self._topology,
            group,
            cached_stores=frozenset(cached),
            sink_letters=self._failures.sink_letters,
            single=config.on_processing_error is not OnError.FAIL or config.batch_records_max == 1,
        )

    def _make_nodes(self) -> dict[str, RunningNode]:
        plans = self._plan.nodes
        made = {
            name: RunningNode(name, plan, self._make_operator(plan)) for name, plan in plans.items()
        }
        for name, each in made.items():
            each.children = [made[child] for child in plans[name].children]
        return made

    def _traversal(self, plan: SourcePlan, start: RunningNode) -> Traversal:
        nodes = [start, *(self._nodes[name] for name in plan.order[1:])]
        origins = self._plan.keeps_origins
        return Traversal(plan, nodes, self._depth_first, self._handle_error, keeps_origins=origins)

    def _traversal_of_table(self, name: str) -> Traversal:
        """The way of what leaves the table's cache."""
        table = self._nodes[name]
        written = RunningNode(
            name, table.plan.as_start(), PassThroughOperator(self._context), table.children
        )
        return self._traversal(self._plan.tables[name], written)

    def _make_operator(self, plan: NodePlan) -> Operator:
        node = plan.node
        if isinstance(node, ProcessorNode):
            return make_operator(node, plan, self._context, self._stores, self._global_stores)
        if isinstance(node, SinkNode):
            serdes = source_serdes(node, self.config)
            return Sink(
                self._context,
                node,
                serdes,
                self._records,
                topic_name=partial(
                    self._topology.decorated, application_id=self.config.application_id
                ),
                failures=self._failures,
                aligned=self._aligned.written,
            )
        return PassThroughOperator(self._context)

    def _start_processors(self) -> bool:
        """Give every processor its way to forward, then call init in the order of the nodes."""
        started = [
            (each, each.operator)
            for each in self._nodes.values()
            if isinstance(each.operator, ProcessOperator)
        ]
        for each, operator in started:
            operator.processor_context.emit = partial(self._emit, each)
        for _, operator in started:
            operator.init()
        return bool(started)

    # Running.

    def _emit(self, each: RunningNode, rows: Batch, child: str | None) -> None:
        self._depth_first.forward(each, rows, child)

    def _punctuate(self, kind: PunctuationType, time_ms: int) -> None:
        """Fire what is due; on stream time nothing is before the first record."""
        queue = self._context.punctuations[kind]
        while time_ms >= 0 and (due := queue.take_due(time_ms)) is not None:
            operator = self._nodes[due.node].operator
            assert isinstance(operator, ProcessOperator), "only processors schedule punctuations"
            with self._punctuation():
                try:
                    operator.punctuate(due, time_ms)
                except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
                    self._failures.handle_punctuation_failure(due.node, time_ms, error)
                finally:
                    queue.append(due)

    def _fire_timers(self, time_ms: int) -> None:
        """Has operators do what is due, each for a round's time; where nobody measures that, all of it."""
        for timer in self._context.timers:
            due_ms = timer.next_ms
            if due_ms is not None and due_ms <= time_ms:
                with self._punctuation() as began_ms:
                    timer.fire(
                        time_ms, lambda: self._measured_ms() - began_ms < _TIMER_MS
                    )  # called meanwhile

    @contextmanager
    def _punctuation(self) -> Iterator[int]:
        """Gives the time when it began, and counts it."""
        self._context.begin(None, (-1,))
        self._context.counts["", PUNCTUATE] += 1
        began_ms = self._measured_ms()
        try:
            yield began_ms
        finally:
            self._punctuation_ms += self._measured_ms() - began_ms

    def _send_on(self, node: str, given: Batch, made: Batch) -> None:
        """Sends what a node makes of a row to its children. What a sink raises is a failure of the node, as in a traversal."""
        try:
            self._depth_first.forward(self._nodes[node], made, None)
        except Exception as error:  # noqa: BLE001  # the handler raises it again with the place
            self._handle_error(node, given, error)

    def _take_output(self) -> TaskOutput:
        return TaskOutput(self._records.take(), self._state.take_changelogs())

    def _handle_error(self, node: str, rows: Batch, error: Exception) -> None:
        self._context.failed_ordinal = None
        if isinstance(self._plan.nodes[node].node, SourceNode):
            self._failures.at_source(node, rows, error)
        self._failures.handle_processing_failure(node, rows, error)
