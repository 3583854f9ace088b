"""A stream task with its stores, its producer and the position that its last commit covers: the unit of exactly once.

The order of effects is what the guarantee rests on:

    start   1. the producer takes over the task's transactional id    every other attempt is fenced, what it left is aborted
            2. the committed position is fetched, once it is stable
            3. stores are opened, refused where they cannot be trusted, and caught up from their changelogs
    run     4. the input between position and end is read and processed; the stores' writes lie in an overlay
            5. outputs, changelogs and the new position are written in one transaction
            6. the transaction is committed        unknown outcome: the next start settles it
            7. the overlay is applied to the stores in one write       a crash before it: step 3 catches up

A repeated run, a second attempt of the same task, a lost store and a restarted runner are one case: steps 1 to 3. A task that has
failed is closed and started anew. At least once differs in 1, 5 and 6: nothing is fenced, and the position is committed after the
outputs.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from millstream.clients import Producer
from millstream.clients.core.values import ConsumerGroupMetadata
from millstream.errors import ConfigError, MillstreamError
from millstream.runtime import Clock
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.kernel.task.stream_task import StreamTask, TaskOutput
from millstream.streams.options import OffsetReset
from millstream.streams.runtime.clients import ReadableLog, TaskClients
from millstream.streams.runtime.columns import raw_batch
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.errors import DataLoss, StoreLocked
from millstream.streams.runtime.outputs import record_count, together, write
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.restoration import StoredState, StoreMarker
from millstream.streams.runtime.steps import Observer, Step, unobserved
from millstream.streams.state.storage.factory import rocksdb_stores
from millstream.streams.topology.nodes import SourceNode
from millstream.streams.topology.topology import Topology

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_TIMEOUT_MS: Final = 30_000
OPEN_RETRY_S: Final = 0.05
_LOGGER = logging.getLogger(__name__)
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """Everything that the tasks of a sub-topology are made from. `state_directory` holds a directory for each task."""

    topology: Topology
    sub_topology: int
    config: StreamsConfig
    state_directory: str

    @property
    def sources(self) -> tuple[str, ...]:
        group = self.topology.sub_topologies[self.sub_topology]
        return self.topology.topics_of(group, self.config.application_id).sources

    def reset_of(self, topic: str) -> OffsetReset | timedelta:
        """Returns the offset at which a task begins with a topic that has no committed one."""
        group = self.topology.sub_topologies[self.sub_topology]
        for name in group.nodes:
            node = self.topology.nodes[name]
            if isinstance(node, SourceNode) and topic in node.topics and node.reset is not None:
                return node.reset
        return OffsetReset.EARLIEST

    def task_id(self, partition: int) -> str:
        return f"{self.sub_topology}_{partition}"


@dataclass(frozen=True, slots=True)
class TaskEnvironment:
    """Clients, clock and threads that the tasks of one process use.

    `kernel` runs the kernel and the stores beside the event loop, for each task one call at a time.
    """

    clients: TaskClients
    clock: Clock
    kernel: Executor
    observe: Observer = unobserved

    async def in_kernel(self, work: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self.kernel, work)


class ActiveTask:
    """One task as its owner runs it; made by `start`. Not for use by two callers at a time."""

    def __init__(
        self, spec: TaskSpec, partition: int, environment: TaskEnvironment, producer: Producer
    ) -> None:
        self.id: Final = spec.task_id(partition)
        self._spec = spec
        self._partition = partition
        self._environment = environment
        self._clients = environment.clients
        self._producer = producer
        self._position = CommittedPosition()
        self._is_committed = False
        """The position stands in the group's offsets for every topic."""
        self._topic_ids: dict[str, str] = {}
        self._restored = 0
        self._task: StreamTask | None = None

    @classmethod
    async def start(
        cls, spec: TaskSpec, partition: int, environment: TaskEnvironment
    ) -> ActiveTask:
        """Fences every other attempt of the task and brings its stores up to date.

        Raises StoreLocked, DataLoss, ConfigError where the application's offsets do not fit its state, and what the cluster answers.
        """
        active = cls._new(spec, partition, environment)
        try:
            await active._start()
        except BaseException:
            await active.close()
            raise
        return active

    @classmethod
    def _new(cls, spec: TaskSpec, partition: int, environment: TaskEnvironment) -> ActiveTask:
        is_exact = spec.config.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2
        transactional_id = f"{spec.config.application_id}-{spec.task_id(partition)}"
        producer = environment.clients.make_producer(transactional_id if is_exact else None)
        return cls(spec, partition, environment, producer)

    async def run(self, ends: Mapping[str, int], *, renew: bool = False) -> TaskReport:
        """Processes the input up to `ends` (by topic, exclusive) and commits it. Punctuations that are due come with it.

        `renew` commits the offsets also where nothing is new: a group forgets them offsets.retention.minutes after the last commit.
        After an exception the task must be closed: its outcome is settled by the next start.
        """
        task = self._open_task
        now_ms = self._environment.clock.now().wall_ms
        read = await self._read(ends)
        self._step(Step.READ)
        first = await self._environment.in_kernel(lambda: task.process(now_ms, None if read else 0))
        prepared = await self._environment.in_kernel(task.prepare_commit)
        output = together([first, prepared.output])
        self._step(Step.PROCESSED)
        position = CommittedPosition(
            offsets={
                topic: max(offset, prepared.offsets.get(topic, 0), ends.get(topic, 0))
                for topic, offset in self._position.offsets.items()
            },
            times={**self._position.times, **prepared.partition_times},
            store_times=prepared.store_times,
            changelogs=self._topic_ids,
        )
        is_committed = renew or self._is_new(position, output)
        if is_committed:
            await self._commit(position, output)
        return TaskReport(
            task=self.id,
            position=dict(position.offsets),
            read=read,
            processed=output.processed,
            written=record_count(output.sinks),
            logged=record_count(output.changelogs),
            dropped=task.dropped_records,
            restored=self._take_restored(),
            next_punctuation_ms=task.next_punctuation_ms,
            is_committed=is_committed,
        )

    @property
    def position(self) -> Mapping[str, int]:
        """The position: by input topic, the next offset to read."""
        return self._position.offsets

    async def close(self) -> None:
        """Closes stores and producer; what is not committed is aborted. Idempotent."""
        task, self._task = self._task, None
        try:
            if task is not None:
                await self._environment.in_kernel(task.close)
        finally:
            await self._producer.close(timeout_ms=0)

    # Starting.

    async def _start(self) -> None:
        self._step(Step.STARTING)
        if self._is_exact:
            await self._producer.init_transactions()
        self._step(Step.FENCED)
        spec, partition = self._spec, self._partition
        application = spec.config.application_id
        committed = await self._clients.committed(application, spec.sources, partition)
        logs = await self._clients.logs(spec.sources, partition)
        await self._open(committed)
        self._require_known_origin(committed)
        begin = {
            topic: await self._first_offset(topic, logs[topic])
            for topic in spec.sources
            if topic not in committed.offsets
        }
        self._require_no_loss(committed, logs)
        self._is_committed = not begin
        self._position = replace(committed, offsets={**committed.offsets, **begin})
        resume = self._open_task.resume
        await self._environment.in_kernel(lambda: resume(committed.times, committed.store_times))
        self._step(Step.RESTORED)

    async def _open(self, committed: CommittedPosition) -> None:
        """Opens the stores and catches them up; those that cannot be trusted are deleted first."""
        self._task = task = await self._opened()
        changelogs = list(task.restore_positions())
        logs = await self._clients.logs(changelogs, self._partition)
        self._require_same_changelogs(committed, logs)
        why = _stored_state(task).why_unusable(
            logs, committed.offsets, self._environment.clock.now().wall_ms
        )
        if why is not None:
            _LOGGER.warning(
                "the stores of task %s are deleted and restored: %s",
                self._spec.task_id(self._partition),
                why,
            )
            await self._environment.in_kernel(task.close)
            await self._environment.in_kernel(self._delete_stores)
            self._task = task = await self._opened()
        self._topic_ids = {topic: str(log.topic_id) for topic, log in logs.items()}
        for topic, restored_to in task.restore_positions().items():
            end = logs[topic].end
            if topic in self._spec.sources:  # the rest of it is still to be processed
                end = min(end, committed.offsets.get(topic, 0))
            first = max(restored_to or 0, logs[topic].start)
            await self._restore(task, topic, first, end)

    async def _opened(self) -> StreamTask:
        """Waits for a process that is still closing the stores, then says who holds them. RocksDB has no lock to wait on."""
        clock, spec = self._environment.clock, self._spec
        stores = rocksdb_stores(Path(spec.state_directory), persist_all=True)
        config = spec.config
        if config.partition_count is None:
            config = replace(config, partition_count=self._partition_count())
        deadline_ms = clock.now().monotonic_ms + OPEN_TIMEOUT_MS
        while True:
            try:
                return await self._environment.in_kernel(
                    partial(
                        StreamTask,
                        spec.topology,
                        spec.sub_topology,
                        self._partition,
                        stores,
                        config,
                        wall_clock_ms=clock.now().wall_ms,
                    )
                )
            except Exception as error:
                if not _is_lock_error(error):
                    raise
                if clock.now().monotonic_ms >= deadline_ms:
                    raise StoreLocked(
                        f"the stores of task {self.id} in {spec.state_directory} are open in another process: stop the other "
                        "run of this application, or give each its own state directory"
                    ) from error
            await asyncio.sleep(OPEN_RETRY_S)

    def _delete_stores(self) -> None:
        shutil.rmtree(Path(self._spec.state_directory) / self.id, ignore_errors=True)

    def _partition_count(self) -> Callable[[str], int]:
        """Asked by the kernel, which runs beside the loop."""
        loop, producer = asyncio.get_running_loop(), self._producer

        def count(topic: str) -> int:
            asked = asyncio.run_coroutine_threadsafe(producer.partitions_for(topic), loop)
            return len(asked.result())

        return count

    async def _restore(self, task: StreamTask, topic: str, first: int, end: int) -> None:
        if first >= end:
            return
        in_kernel = self._environment.in_kernel
        await in_kernel(lambda: task.start_restore(topic, first, end))
        async for batch in self._clients.read(topic, self._partition, first, end):
            await in_kernel(partial(_restore_rows, task, topic, batch))
            self._restored += batch.num_rows
        await in_kernel(lambda: task.end_restore(topic))

    def _require_same_changelogs(
        self, committed: CommittedPosition, logs: Mapping[str, ReadableLog]
    ) -> None:
        """A changelog that is not the one of the last commit has lost the state that the position counts."""
        for topic, topic_id in committed.changelogs.items():
            if topic in logs and topic_id != str(logs[topic].topic_id):
                raise DataLoss(
                    f"topic {topic} is not the one that task {self.id} has written to: it was deleted and made anew, and with it "
                    "the state that the application's offsets count. Reset the application"
                )

    def _require_known_origin(self, committed: CommittedPosition) -> None:
        """State without offsets would count again what it has counted."""
        if self._restored and not committed.offsets:
            application = self._spec.config.application_id
            raise ConfigError(
                f"application {application} has state, but its group {application} has no committed offsets for task {self.id}: "
                "they have expired, were deleted, or the state was written by a version that did not commit them. What it has "
                "counted would be counted again. Set the offsets of the group, or reset the application"
            )

    async def _first_offset(self, topic: str, log: ReadableLog) -> int:
        reset = self._spec.reset_of(topic)
        if reset is OffsetReset.EARLIEST:
            return log.start
        if reset is OffsetReset.LATEST:
            return log.end
        if reset is OffsetReset.NONE:
            raise ConfigError(
                f"topic {topic} has reset=NONE, and group {self._spec.config.application_id} has no committed offset for "
                f"partition {self._partition}: set one, or say EARLIEST, LATEST or a timedelta"
            )
        now_ms = self._environment.clock.now().wall_ms
        since_ms = max(0, now_ms - reset // timedelta(milliseconds=1))
        return (await self._clients.reader.offsets(topic, since_ms))[self._partition]

    def _require_no_loss(
        self, committed: CommittedPosition, logs: Mapping[str, ReadableLog]
    ) -> None:
        for topic, offset in committed.offsets.items():
            log = logs[topic]
            if not log.start <= offset <= log.end:
                raise DataLoss(
                    f"{topic}-{self._partition} was read up to offset {offset}, and its log holds {log.start} to {log.end}: "
                    "records were deleted before they were read, or the topic was made anew. Set the offsets of group "
                    f"{self._spec.config.application_id} to go on with what is left, or reset the application"
                )

    # Running.

    @property
    def _open_task(self) -> StreamTask:
        if self._task is None:
            raise MillstreamError(f"task {self.id} is closed")
        return self._task

    async def _read(self, ends: Mapping[str, int]) -> int:
        """Queues the input up to `ends`, and returns how many records it is."""
        read, task = 0, self._open_task
        for topic, end in ends.items():
            start = self._position.offsets[topic]
            if start >= end:
                continue
            async for batch in self._clients.read(topic, self._partition, start, end):
                await self._environment.in_kernel(partial(_add_rows, task, topic, batch))
                read += batch.num_rows
        return read

    def _is_new(self, position: CommittedPosition, output: TaskOutput) -> bool:
        has_output = bool(output.sinks or output.changelogs)
        return has_output or not self._is_committed or position != self._position

    async def _commit(self, position: CommittedPosition, output: TaskOutput) -> None:
        commit = self._commit_exactly_once if self._is_exact else self._commit_at_least_once
        logged = await commit(position, output)
        self._step(Step.COMMITTED)
        self._position, self._is_committed = position, True
        written_ms = self._environment.clock.now().wall_ms
        marker = StoreMarker(self._topic_ids, position.offsets, written_ms).encode()
        task = self._open_task
        await self._environment.in_kernel(
            lambda: task.commit(marker=marker, changelog_offsets=logged)
        )
        self._step(Step.STORED)

    async def _commit_exactly_once(
        self, position: CommittedPosition, output: TaskOutput
    ) -> dict[str, int]:
        producer = self._producer
        await producer.begin_transaction()
        logged = await write(producer, output, self._partition)
        self._step(Step.PRODUCED)
        group = ConsumerGroupMetadata(self._spec.config.application_id)
        await producer.send_offsets_to_transaction(position.encode(self._partition), group)
        self._step(Step.OFFSETS_SENT)
        await producer.commit_transaction()
        return logged

    async def _commit_at_least_once(
        self, position: CommittedPosition, output: TaskOutput
    ) -> dict[str, int]:
        logged = await write(self._producer, output, self._partition)
        self._step(Step.PRODUCED)
        group_id = self._spec.config.application_id
        offsets = position.encode(self._partition)
        committed = await self._clients.admin.alter_consumer_group_offsets(group_id, offsets)
        committed.raise_errors()
        return logged

    @property
    def _is_exact(self) -> bool:
        return self._spec.config.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE_V2

    def _take_restored(self) -> int:
        restored, self._restored = self._restored, 0
        return restored

    def _step(self, step: Step) -> None:
        self._environment.observe(step, self.id)


def _add_rows(task: StreamTask, topic: str, rows: pa.RecordBatch) -> None:
    task.add(topic, raw_batch(rows))


def _restore_rows(task: StreamTask, topic: str, rows: pa.RecordBatch) -> None:
    task.restore(topic, raw_batch(rows))


def _stored_state(task: StreamTask) -> StoredState:
    markers = (task.store_marker(store) for store in task.stores)
    text = next((marker for marker in markers if marker is not None), None)
    restored_to = task.restore_positions()
    return StoredState(
        StoreMarker.decode(text), restored_to, is_logged=len(restored_to) >= len(task.stores)
    )


def _is_lock_error(error: Exception) -> bool:
    """RocksDB tells in words only: `IO error: While lock file: .../LOCK: ...`, or `lock hold by current process`."""
    return "/LOCK" in str(error)
