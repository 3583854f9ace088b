"""A stream task with its stores, its producer and the position that its last commit covers: the unit of exactly once.

The order of effects is what the guarantee rests on:

    start   1. the producer takes over the task's transactional id    every other attempt is fenced, what it left is aborted
            2. the committed position is fetched, once it is stable
            3. stores are opened, refused where they cannot be trusted, and caught up from their changelogs
    run     4. global stores are brought up to date; the input between position and end is read and processed; the stores'
               writes lie in an overlay
            5. outputs, changelogs and the new position are written in one transaction
            6. the transaction is committed        unknown outcome: the next start settles it
            7. the overlay is applied to the stores in one write       a crash before it: step 3 catches up

A repeated run, a second attempt of the same task, a lost store and a restarted runner are one case: steps 1 to 3. A
task that has failed is closed and started anew. At least once differs in 1, 5 and 6: nothing is fenced, and the
position is committed after the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from millstream.clients import Producer
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.runtime.thread_time import thread_waited_ns
from millstream.streams.kernel.task.output import PreparedCommit, TaskOutput
from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.kernel.task.upstreams import AT_ITS_END, NOT_BEGUN
from millstream.streams.queries.result import (
    Position,
    QueryResult,
    StateQueryRequest,
    furthest,
    last_offsets,
)
from millstream.streams.runtime.columns import origin_batch, raw_batch
from millstream.streams.runtime.commits import TaskCommits, WrittenOutput
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.errors import StoreNotWritten
from millstream.streams.runtime.outputs import record_count, together
from millstream.streams.runtime.report import ProcessedWork, TaskReport, with_tags
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.steps import Step
from millstream.streams.runtime.stored_state import StoreMarker
from millstream.streams.runtime.tasks.opening import mark
from millstream.streams.runtime.tasks.own_time import OwnTime
from millstream.streams.runtime.tasks.processor_state_manager import ProcessorStateManager
from millstream.streams.runtime.upstreams.progress import (
    FollowedWrites,
    Reached,
    ReachedForOthers,
    TaskProgress,
)

if TYPE_CHECKING:
    import pyarrow as pa

_Answer = TypeVar("_Answer")


_NO_UPSTREAMS: Final[Mapping[int, int]] = {}


@dataclass(slots=True)
class WorkDone:
    """Numbers of records since the last report; `log_ends`: by changelog topic, the offset after what was written."""

    read: int = 0
    processed: int = 0
    written: int = 0
    logged: int = 0
    log_ends: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StartedTask:
    """A kernel task whose stores hold what `position` covers."""

    task: StreamTask
    stores: ProcessorStateManager
    position: CommittedPosition
    is_committed: bool
    """The position stands in the group's offsets for every topic."""
    begins_late: bool
    """A topic is read from where its log ends now, or from a time: another start would begin elsewhere."""


class ActiveTask:
    """One task as its owner runs it; made by a `TaskStart`. Not for use by two callers at a time."""

    def __init__(
        self,
        spec: TaskSpec,
        partition: int,
        environment: TaskEnvironment,
        producer: Producer,
        started: StartedTask,
    ) -> None:
        self.id: Final = spec.task_id(partition)
        self._spec = spec
        self._partition = partition
        self._environment = environment
        self._clients = environment.clients
        self._producer = producer
        self._commits = TaskCommits(spec, partition, environment, producer)
        self._task: StreamTask | None = started.task
        self._own_time = OwnTime(environment.clock, thread_waited_ns)
        started.task.measure_with(lambda: environment.clock.now().monotonic_ms)
        self._global_stores = started.stores.global_stores
        self._position = started.position
        self._read_to = dict(started.position.offsets)
        self._output: list[TaskOutput] = []
        self._done = WorkDone()
        self._is_committed = started.is_committed
        self._begins_late = started.begins_late
        self._topic_ids = started.stores.topic_ids
        self._marked_ids = started.stores.marked_ids
        self._restored = started.stores.restored
        self.snapshots: Final = started.stores.snapshots()
        self._dropped = 0
        self.aligned: Final = started.stores.aligned
        self._writes = FollowedWrites()
        self._unwritten = AT_ITS_END
        """The origin time of the first record that waits for the commit to be written to an aligned topic."""
        self.progress = TaskProgress(
            started.position.offsets, started.task.current.origin_time, self._writes
        )
        """As others of the process see it, when the task was left alone last."""
        self._dropped_before = dict(started.position.dropped)

    async def begin(self) -> None:
        """Sees to it that another start would begin where this one does. To be called once, before anything else."""
        await self._look_what_is_written()
        if not (self._spec.is_exact or self._is_committed):
            # Or a first run that is interrupted would leave state without offsets.
            await self._commits.commit_offsets(self._position)
            self._is_committed = True
        elif self._begins_late:  # or what comes now is passed over where the task moves on
            await self.commit(renew=True)

    async def run(
        self,
        ends: Mapping[str, int],
        *,
        lags: Mapping[str, int] | None = None,
        reached: Reached | None = None,
        renew: bool = False,
    ) -> TaskReport:
        """Processes the input up to `ends` (by topic, exclusive) and commits it.

        Punctuations that are due come with it.

        With `lags`, how many records each topic has behind its end, it waits for empty topics as max.task.idle.ms says:
        what it has read and cannot process yet it keeps for the next run, and does not commit. With `reached` the same
        holds for records that upstream tasks have not come to.

        `renew` commits the offsets also where nothing is new: a group forgets them offsets.retention.minutes after the
        last commit. After an exception the task must be closed: its outcome is settled by the next start.
        """
        if self._global_stores is not None:
            await self._global_stores.catch_up()
        await self._read_up_to(ends)
        self._step(Step.READ)
        await self.process(lags=lags, reached=reached)
        return await self.commit(renew=renew)

    async def add(self, topic: str, records: pa.RecordBatch) -> int:
        """Queues records of an input topic, in the order of offsets, and returns how many.

        Of aligned topics it takes whole record batches.

        What was read of the first one before is not queued again.
        """
        if topic in self.aligned.read:
            add = partial(_add_aligned, self._open_task, topic, records, self._read_to[topic])
        else:
            add = partial(_add_rows, self._open_task, topic, records)
        added = await self._environment.in_kernel(add)
        self._done.read += added
        if records.num_rows:
            self.note_read_to(topic, records.column("offset")[-1].as_py() + 1)
        return added

    def note_read_to(self, topic: str, offset: int) -> None:
        """Says that all records before this offset have been added: between the last one and it
        there may be none to read.
        """
        if offset > self._read_to[topic]:
            self._read_to[topic] = offset
            self.progress = self._progress_by_now(self._open_task)

    async def process(
        self,
        *,
        lags: Mapping[str, int] | None = None,
        reached: Reached | None = None,
        for_others: ReachedForOthers | None = None,
        records_max: int | None = None,
    ) -> ProcessedWork:
        """Processes what is queued, or `records_max` of it, and punctuations that are due. Returns how much it was.

        With exactly once the outputs wait for the commit; at least once they are written now. `lags` and `reached` as
        `run` has them; where that holds for what was read of one input alone, `for_others` says it of the others.
        """
        task = self._open_task
        now_ms = self._environment.clock.now().wall_ms
        is_idle = not any(task.inputs.queued.values())
        if reached is None:  # nobody is waited for
            reached = dict.fromkeys(self.aligned.read & self._read_to.keys(), _NO_UPSTREAMS)
        work = partial(
            _process,
            task,
            now_ms,
            0 if is_idle else records_max,
            lags,
            reached,
            for_others=for_others or {},
        )
        output, own_ms, whole_ms = await self._environment.in_kernel(
            partial(self._own_time.measure, work)
        )
        self._done.processed += output.processed
        if self._spec.is_exact:
            self._output.append(output)
            self._unwritten = min(self._unwritten, self._first_origin_time(output))
        else:
            self._count(await self._commits.write(task, output))
        self.progress = self._progress_by_now(task)
        # Whoever waits for a processor does so in punctuations as among records.
        records_ms = own_ms * max(0, whole_ms - output.punctuation_ms) // max(1, whole_ms)
        return ProcessedWork(output.processed, output.punctuated, output.punctuation_ms, records_ms)

    async def commit(self, *, renew: bool = False) -> TaskReport:
        """Makes everything processed so far durable, with its position. `renew` as `run` has it."""
        task = self._open_task
        # Nobody adds or processes from here on, or the position would cover what is not in the output: a host has one
        # call for a task at a time. Questions come between and change nothing.
        prepared = await self._environment.in_kernel(task.prepare_commit)
        output = together([*self._output, prepared.output])
        self._output.clear()
        self._step(Step.PROCESSED)
        held = {topic for topic, waiting in task.inputs.queued.items() if waiting}
        position = self._advanced(prepared, held)
        is_committed = renew or self._is_new(position, output)
        if is_committed:
            await self._commit(position, output)
        done, self._done = self._done, WorkDone()
        return TaskReport(
            task=self.id,
            position=dict(position.offsets),
            read=done.read,
            processed=done.processed,
            written=done.written,
            logged=done.logged,
            dropped=self._take_dropped(task),
            dropped_records=task.dropped.take(),
            restored=self._take_restored(),
            next_punctuation_ms=task.schedule.next_due_ms,
            held_to={topic: self._read_to[topic] for topic in held},
            idles_until_ms=task.idling.waits_until_ms if held else None,
            metrics=with_tags(task.metrics.values(), {"task-id": self.id}),
            is_committed=is_committed,
        )

    @property
    def sources(self) -> tuple[str, ...]:
        """The topics that it reads."""
        return self._spec.sources

    @property
    def held(self) -> Mapping[str, int]:
        """By repartition topic, how many of the queued records wait for upstream tasks."""
        return self._open_task.inputs.waiting_for_upstreams

    def has_read(self, topic: str) -> int:
        """Returns the offset before which all records of an input topic have been added."""
        return self._read_to[topic]

    def newest_origin_time(self, topic: str) -> int:
        """Returns the largest origin time of the records of an input topic that have been added, as far as it is known.

        It is -1 at first.
        """
        return self._open_task.inputs.group.queues[topic].newest_origin_time

    @property
    def position(self) -> Mapping[str, int]:
        """The position: by input topic, the next offset to read."""
        return self._position.offsets

    @property
    def queued(self) -> Mapping[str, int]:
        """By input topic, how many records wait."""
        return self._open_task.inputs.queued

    @property
    def has_queued(self) -> bool:
        return any(self.queued.values())

    @property
    def next_punctuation_ms(self) -> int | None:
        """The wall-clock time at which `process` has to be called although no record has come."""
        return self._open_task.schedule.next_due_ms

    @property
    def commit_requested(self) -> bool:
        """Whether a processor has asked for a commit since the last one."""
        return self._open_task.schedule.commit_requested

    async def query(self, request: StateQueryRequest) -> QueryResult:
        """Asks a store as it is now, between two calls of the kernel: what is not committed yet
        shows, as in Kafka Streams.
        """
        return await self._environment.in_kernel(
            partial(_queried, self._open_task, request, self._covered)
        )

    async def ask(self, question: Callable[[StreamTask, Position], _Answer]) -> _Answer:
        """Asks the stores, which are as the last commit has left them, and says what that covers.

        Not for use while the task runs.
        """
        return await self._environment.in_kernel(partial(question, self._open_task, self._covered))

    async def close(self) -> None:
        """Closes the stores and the producer, unless other tasks use that, too. What is not committed is aborted.

        Idempotent.
        """
        task, self._task = self._task, None
        try:
            await self._environment.close_in_kernel(None if task is None else task.close)
        finally:
            await self._clients.release(self._producer)

    @property
    def _covered(self) -> Position:
        """By topic and partition, the last offset that the last commit covers."""
        return last_offsets(self._position.offsets, self._partition)

    @property
    def _open_task(self) -> StreamTask:
        if self._task is None:
            raise MillstreamError(f"task {self.id} is closed")
        return self._task

    async def _read_up_to(self, ends: Mapping[str, int]) -> None:
        """Queues the input up to `ends`."""
        for topic, end in ends.items():
            start = self._read_to[topic]
            if start >= end:
                continue
            async for batch in self._clients.read(
                topic,
                self._partition,
                start,
                end,
                topic_id=self._position.input_ids.get(topic),
                whole_batches=topic in self.aligned.read,
            ):
                await self.add(topic, batch)
            self.note_read_to(topic, end)

    def _advanced(self, prepared: PreparedCommit, held: Collection[str]) -> CommittedPosition:
        """Returns the position after a run.

        Offsets behind the last record are done, too, unless records before them wait (`held`).
        """
        offsets = {
            topic: max(
                offset,
                prepared.offsets.get(topic, 0),
                0 if topic in held else self._read_to[topic],
            )
            for topic, offset in self._position.offsets.items()
        }
        times = {**self._position.times, **prepared.partition_times}
        dropped = {
            topic: self._dropped_before.get(topic, 0) + count
            for topic, count in self._open_task.dropped.by_topic.items()
        }
        return CommittedPosition(
            offsets,
            times,
            prepared.store_times,
            self._topic_ids,
            origin_time=prepared.origin_time,
            held=prepared.held,
            dropped={**self._dropped_before, **dropped},
            input_ids=self._position.input_ids,
            forms=self._open_task.state.changelog_forms,
        )

    def _progress_by_now(self, task: StreamTask) -> TaskProgress:
        """Returns what is done, committed or not: others know what waits for the commit.

        What caches hold has not been done for them.
        """
        if task.caches.hold_changes:
            return TaskProgress(
                self._position.offsets, task.current.origin_time, self._writes, self._unwritten
            )
        done = {
            topic: self._read_to[topic] if not waiting else task.inputs.next_offsets.get(topic)
            for topic, waiting in task.inputs.queued.items()
        }
        position = {
            topic: max(offset, done.get(topic) or 0)
            for topic, offset in self._position.offsets.items()
        }
        return TaskProgress(
            position,
            task.current.origin_time,
            self._writes,
            self._unwritten,
            self._queued_for_others(task),
        )

    def _queued_for_others(self, task: StreamTask) -> dict[str, int]:
        """Returns by source topic of which records wait a time before which neither these are nor those still to come.

        What punctuations by the wall clock write has the time that the task had reached before.
        """
        if not self.aligned.written or task.schedule.next_due_ms is not None:
            return {}
        return {
            topic: queue.first_origin_time
            for topic, queue in task.inputs.group.queues.items()
            if len(queue) and topic not in self.aligned.read
        }

    async def _look_what_is_written(self) -> None:
        """Finds how far others have to read what the task has written where it was before:
        all that is there may be its own.
        """
        clients = self._environment.clients
        for topic in self.aligned.followed:
            partitions = await clients.readable_ends(topic)
            ends = await clients.ends([TopicPartition(topic, number) for number in partitions])
            self._writes.note(ends, NOT_BEGUN)

    def _first_origin_time(self, output: TaskOutput) -> int:
        """Returns a time before which no record is that is to be written to topics whose readers follow the task."""
        followed = [output.sinks[topic] for topic in self.aligned.followed & output.sinks.keys()]
        times = [
            # Origin times do not go back. Records of a cycle bear none, and are not before what the task had reached.
            self.progress.origin_time if batch.origin_times is None else int(batch.origin_times[0])
            for batch in followed
            if len(batch)
        ]
        return min(times, default=AT_ITS_END)

    def _is_new(self, position: CommittedPosition, output: TaskOutput) -> bool:
        has_output = bool(output.sinks or output.changelogs or self._done.log_ends)
        return has_output or not self._is_committed or position != self._position

    def _count(self, written: WrittenOutput) -> None:
        self._open_task.counts.count_written(written.output.sinks)
        self._done.written += record_count(written.output.sinks)
        self._done.logged += record_count(written.output.changelogs)
        self._done.log_ends.update(written.logged)
        first = self._first_origin_time(written.output)
        self._writes.note(written.followed, first)

    async def _commit(self, position: CommittedPosition, output: TaskOutput) -> None:
        task = self._open_task
        # Who dies or is cancelled in it does not know whether it is committed. Nor does anybody who asks this task
        # then: it has to be closed, and its next start reads the group's offsets behind its own fence.
        self._count(await self._commits.commit(task, position, output))
        self._position, self._is_committed = position, True
        self._unwritten = AT_ITS_END
        self.progress = TaskProgress(position.offsets, position.origin_time, self._writes)
        written_ms = self._environment.clock.now().wall_ms
        marker = StoreMarker(self._marked_ids, position.offsets, written_ms, position.held_text)
        try:
            await mark(task, self._environment, marker, self._done.log_ends)
        except Exception as error:
            raise StoreNotWritten(
                f"the stores of task {self.id} in {self._spec.state_directory} could not be written, and are restored at its "
                f"next start; what it has committed stays: {error}"
            ) from error
        self._step(Step.STORED)
        await self.snapshots.maybe_snapshot()

    def _take_dropped(self, task: StreamTask) -> int:
        before, self._dropped = self._dropped, task.dropped.total
        return self._dropped - before

    def _take_restored(self) -> int:
        restored, self._restored = self._restored, 0
        return restored

    def _step(self, step: Step) -> None:
        self._environment.observe(step, self.id)


def _add_rows(task: StreamTask, topic: str, rows: pa.RecordBatch) -> int:
    records = raw_batch(rows)
    task.add(topic, records)
    return len(records)


def _add_aligned(task: StreamTask, topic: str, rows: pa.RecordBatch, first_offset: int) -> int:
    records = origin_batch(rows)
    new = records.part(int(records.offsets.searchsorted(first_offset)), len(records))
    task.add(topic, new)
    return len(new)


def _process(
    task: StreamTask,
    now_ms: int,
    records_max: int | None,
    lags: Mapping[str, int] | None,
    reached: Reached,
    *,
    for_others: ReachedForOthers,
) -> TaskOutput:
    for topic, of_upstreams in reached.items():
        task.inputs.upstreams_of(topic).expect(of_upstreams, for_others.get(topic))
    return task.process(now_ms, records_max, lags=lags)


def _queried(task: StreamTask, request: StateQueryRequest, covered: Position) -> QueryResult:
    """Asks a store.

    A task knows of the records that it has taken itself; `covered` tells of those before its start
    and of the ends of transactions.
    """
    return task.query(request, furthest([covered, task.inputs.position]))
