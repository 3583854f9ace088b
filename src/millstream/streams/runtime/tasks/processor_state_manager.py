"""The stores of one task from their opening to its first run.

Kafka Streams' ProcessorStateManager and StoreChangelogReader. Stores that cannot be trusted are deleted; those that are
left, a snapshot's or empty ones are caught up from their changelogs.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.clients import Producer
from millstream.errors import ConfigError
from millstream.streams.kernel.task.inputs import TaskTopics
from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.queries.result import QueryResult, StateQueryRequest
from millstream.streams.runtime.columns import raw_batch
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.logs import ReadableLog
from millstream.streams.runtime.renaming import changelogs_of, require_known_stores
from millstream.streams.runtime.snapshots.tasks import (
    TaskSnapshots,
    fetch_newest,
    remove_leftovers,
)
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.stored_state import StoredState, StoreMarker, stored_state
from millstream.streams.runtime.tasks.opening import mark, open_task, opened_or_made_anew
from millstream.streams.state.storage.factory import RocksTaskStores

if TYPE_CHECKING:
    import pyarrow as pa

_NOTHING: Final = StoredState(None, {}, is_logged=True)
_LOGGER = logging.getLogger(__name__)


class ProcessorStateManager:
    """The stores of one start of a task; `restore` is called once. One that fails leaves nothing open."""

    def __init__(
        self,
        spec: TaskSpec,
        partition: int,
        environment: TaskEnvironment,
        global_stores: GlobalStores | None,
    ) -> None:
        self._spec = spec
        self._partition = partition
        self._environment = environment
        self._clients = environment.clients
        self.global_stores: Final = global_stores
        self._id = spec.task_id(partition)
        self._path = spec.stores_path(partition)
        self._config = spec.config
        self.aligned = spec.alignment.of(spec.sub_topology)
        self.topic_ids: Mapping[str, str] = {}
        """By changelog topic."""
        self._input_ids: Mapping[str, str] = {}
        self.restored = 0
        """Changelog records that were read."""
        self._covered = 0
        """Changelog records that a snapshot has spared."""
        self._task: StreamTask | None = None
        self._stores: RocksTaskStores | None = None

    async def query(self, request: StateQueryRequest) -> QueryResult | None:
        """Asks a store as it is between two batches that are restored; None where the stores are not open.

        What it has seen of the input nobody knows yet. May be called beside `restore`, and until the task that it
        has opened is closed.
        """
        return await self._environment.in_kernel(partial(self._queried, request))

    async def restored_to(self) -> Mapping[str, int]:
        """Returns, by changelog topic, how far it is restored; nothing where the stores are not open."""
        return await self._environment.in_kernel(self._restored_to)

    def _queried(self, request: StateQueryRequest) -> QueryResult | None:
        return None if self._task is None else self._task.query(request, {})

    def _restored_to(self) -> Mapping[str, int]:
        positions = {} if self._task is None else self._task.state.restore_positions()
        return {topic: offset or 0 for topic, offset in positions.items()}

    @property
    def marked_ids(self) -> Mapping[str, str]:
        """The ids of changelogs and inputs, which stand beside the rows."""
        return {**self._input_ids, **self.topic_ids}

    async def restore(
        self,
        committed: CommittedPosition,
        producer: Producer,
        inputs: Mapping[str, ReadableLog],
    ) -> StreamTask:
        """Opens the stores and catches them up; those that cannot be trusted are deleted first.

        `inputs`: by topic, what can be read of the task's partitions.
        """
        if self._config.partition_count is None:
            counted = _partition_count(producer)
            self._config = replace(self._config, partition_count=counted)
        # Where time_across_repartitions has become `kafka` since, what is done behind an offset is still not to come again.
        read = self.aligned.read | committed.held.keys()
        self.aligned = replace(self.aligned, read=read)
        await self._environment.in_kernel(partial(remove_leftovers, self._path))
        self._task = task = await self._opened_or_made_anew()
        logs = await self._changelogs(task, committed)
        self._require_same_changelogs(committed, logs)
        self._require_same_forms(committed, task.state.changelog_forms)
        await self._require_no_renamed_store(committed, logs)
        self.topic_ids = _ids_of(logs)
        self._input_ids = _ids_of(inputs)
        now_ms = self._environment.clock.now().wall_ms
        stored = await self._trusted(logs, committed, now_ms)
        task = self._open_task
        if stored.marker is None:  # a restored row counts from now on
            await mark(task, self._environment, StoreMarker(self.marked_ids, {}, now_ms))
        # The run before may have been at least once, whatever this one is.
        if committed.tells_store_times:
            await self._environment.in_kernel(partial(task.state.go_back, committed.store_times))
        for topic, restored_to in task.state.restore_positions().items():
            first = max(restored_to or 0, logs[topic].start)
            await self._restore(task, topic, first, logs[topic].end)
        marker = StoreMarker(self.marked_ids, committed.offsets, now_ms, committed.held_text)
        await mark(task, self._environment, marker)
        return task

    def snapshots(self) -> TaskSnapshots:
        """Returns what takes snapshots of the stores while their task runs."""
        assert self._stores is not None, "the task has been opened"
        return TaskSnapshots(
            self._spec,
            self._partition,
            self._environment,
            self._open_task,
            self._stores,
            covered=self._covered,
        )

    async def close(self) -> None:
        """Closes the stores of a start that has failed."""
        if self._task is not None:
            await self._close_stores()

    async def _trusted(
        self, logs: Mapping[str, ReadableLog], committed: CommittedPosition, now_ms: int
    ) -> StoredState:
        """Leaves stores open that are a base to go on from: those that are there, a snapshot's, or empty ones."""

        def why_unusable(state: StoredState) -> str | None:
            of_inputs = state.of_inputs(self._spec.sources)
            return of_inputs.why_unusable(logs, committed, now_ms, self._input_ids)

        stored = stored_state(self._open_task)
        why = why_unusable(stored)
        base = stored if why is None else _NOTHING
        snapshot = await self._snapshot(base.behind(logs), logs, why_unusable)
        if why is not None:
            _LOGGER.warning("the stores of task %s are deleted and restored: %s", self._id, why)
        if why is None and snapshot is None:
            return stored
        stored = await self._replaced(snapshot)
        if snapshot is None:
            return stored
        why = why_unusable(stored)
        if why is None:
            self._covered = stored.records
            return stored
        _LOGGER.warning("task %s cannot begin with a snapshot: %s", self._id, why)
        return await self._replaced(None)

    async def _snapshot(
        self,
        behind: int,
        logs: Mapping[str, ReadableLog],
        why_unusable: Callable[[StoredState], str | None],
    ) -> Path | None:
        """Fetches a snapshot where that spares enough of the records that would be restored."""
        plan = self._spec.snapshots
        if plan is None or behind < plan.records_min:
            return None

        def is_worth_it(state: StoredState) -> bool:
            return behind - state.behind(logs) >= plan.records_min

        return await asyncio.to_thread(
            fetch_newest, self._spec, self._partition, why_unusable, is_worth_it
        )

    async def _replaced(self, snapshot: Path | None) -> StoredState:
        """Opens other stores in place of those that are open: a snapshot's or empty ones."""
        await self._close_stores()
        await self._environment.in_kernel(self._delete_stores)
        if snapshot is not None:
            await self._environment.in_kernel(partial(snapshot.rename, self._path))
        self._task = await self._opened_or_made_anew()
        return stored_state(self._task)

    async def _changelogs(
        self, task: StreamTask, committed: CommittedPosition
    ) -> dict[str, ReadableLog]:
        """Returns the logs to restore from.

        A source topic counts as far as it was processed; the rest of it is still to come.
        """
        logs = await self._clients.logs(list(task.state.restore_positions()), self._partition)
        for topic in logs.keys() & set(self._spec.sources):
            processed = committed.offsets.get(topic, 0)
            logs[topic] = replace(logs[topic], end=min(logs[topic].end, processed))
        return logs

    async def _close_stores(self) -> None:
        """Takes them away from whoever asks them before they are closed in the kernel."""
        task, self._task = self._open_task, None
        await self._environment.surely_in_kernel(task.close)

    @property
    def _open_task(self) -> StreamTask:
        assert self._task is not None, "the task has been opened"
        return self._task

    async def _opened_or_made_anew(self) -> StreamTask:
        delete = partial(self._environment.in_kernel, self._delete_stores)
        return await opened_or_made_anew(self._opened, delete, f"the stores of task {self._id}")

    async def _opened(self) -> StreamTask:
        spec = self._spec
        self._stores = stores = spec.stores(self._partition)
        make = partial(
            StreamTask,
            spec.topology,
            spec.sub_topology,
            self._partition,
            lambda _: stores,
            self._config,
            topics=TaskTopics(
                spec.sources, spec.sources, self.aligned, by_arrival=spec.takes_ties_by_arrival
            ),
            global_stores=None if self.global_stores is None else self.global_stores.stores,
            wall_clock_ms=self._environment.clock.now().wall_ms,
            restore_listener=self._environment.restore_listener,
            cache_room=self._environment.cache_room,
        )
        return await open_task(
            make, self._environment, f"task {self._id} in {spec.state_directory}"
        )

    def _delete_stores(self) -> None:
        shutil.rmtree(self._path, ignore_errors=True)

    async def _restore(self, task: StreamTask, topic: str, first: int, end: int) -> None:
        if first >= end:
            return
        assert self._stores is not None, "the task has been opened"
        in_kernel = self._environment.in_kernel
        await in_kernel(lambda: task.state.start_restore(topic, first, end))
        await in_kernel(self._stores.begin_bulk_load)
        await self._restore_rows(
            task, topic, self._clients.read_changelog(topic, self._partition, first, end)
        )
        await in_kernel(self._stores.end_bulk_load)
        await in_kernel(lambda: task.state.end_restore(topic))

    async def _restore_rows(
        self, task: StreamTask, topic: str, batches: AsyncIterator[pa.RecordBatch]
    ) -> None:
        """Reads the next batch while the kernel has one."""
        storing: asyncio.Future[None] | None = None
        try:
            async for batch in batches:
                if storing is not None:
                    await storing
                storing = self._environment.kernel_call(partial(_restore_rows, task, topic, batch))
                self.restored += batch.num_rows
        finally:
            if storing is not None:
                await storing

    def _require_same_changelogs(
        self, committed: CommittedPosition, logs: Mapping[str, ReadableLog]
    ) -> None:
        """Raises DataLoss for a changelog that is not the one of the last commit: the state that
        the position counts is lost.
        """
        for topic, topic_id in committed.changelogs.items():
            if topic in logs and topic_id != str(logs[topic].topic_id):
                raise DataLoss(
                    f"topic {topic} is not the one that task {self._id} has written to: it was deleted and made anew, and with it "
                    "the state that the application's offsets count. Reset the application"
                )

    def _require_same_forms(self, committed: CommittedPosition, forms: Mapping[str, str]) -> None:
        """Raises ConfigError for a changelog whose records the store that has its name now cannot read.

        Warns where its windows have another size, as Kafka Streams does not either: starts alone tell them apart.
        """
        for topic, form in forms.items():
            known = committed.forms.get(topic, form)
            if known.split()[0] != form.split()[0]:
                raise ConfigError(
                    f"changelog {topic} of task {self._id} has records of {known}, and its store is one of {form} now: they cannot be read as "
                    "such. Give the store another name (materialized=, store=), or reset the application"
                )
            if known != form:
                _LOGGER.warning(
                    "the store of changelog %s of task %s had %s before, and has %s now: those that were open go on with what the one with "
                    "the same start has counted. Reset the application to count everything anew",
                    *(topic, self._id, known, form),
                )

    async def _require_no_renamed_store(
        self, committed: CommittedPosition, logs: Mapping[str, ReadableLog]
    ) -> None:
        """Raises ConfigError for a store that would begin empty behind the committed
        offsets where an old one may be meant.
        """
        new = [
            topic
            for topic in sorted(logs.keys() - committed.changelogs.keys())
            if logs[topic].end == 0 and topic not in self._spec.sources
        ]
        if not new or not committed.changelogs:
            return
        left = committed.changelogs.keys() - changelogs_of(
            self._spec.topology, self._spec.application
        )
        still_there = left & set(await self._clients.admin.list_topics()) if left else left
        require_known_stores(self._spec.application, self._id, new, still_there)
        _LOGGER.warning(
            "task %s has stores that the committed offsets do not count: they begin empty with the next records: %s",
            *(self._id, ", ".join(new)),
        )


def _ids_of(logs: Mapping[str, ReadableLog]) -> dict[str, str]:
    return {topic: str(log.topic_id) for topic, log in logs.items()}


def _restore_rows(task: StreamTask, topic: str, rows: pa.RecordBatch) -> None:
    task.state.restore(topic, raw_batch(rows))


def _partition_count(producer: Producer) -> Callable[[str], int]:
    """Returns what tells the number of a topic's partitions to the kernel, which runs beside the loop."""
    loop = asyncio.get_running_loop()

    def count(topic: str) -> int:
        asked = asyncio.run_coroutine_threadsafe(producer.partitions_for(topic), loop)
        return len(asked.result())

    return count
