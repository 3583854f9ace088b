"""A copy of the stores of a task that runs in another process, kept up with its changelogs.

It fences nobody and writes to no topic. Its stores lie where those of the task would lie in this process, so that the
task, when it comes here, opens them like any stores that it has left: nothing that is decided here is trusted there.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from millstream.model import TopicPartition
from millstream.streams.kernel.task.standby import StandbyStores
from millstream.streams.queries.result import QueryResult, StateQueryRequest, last_offsets
from millstream.streams.runtime.columns import raw_batch
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.logs import ReadableLog
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.steps import StandbyStep
from millstream.streams.runtime.stored_state import StoreMarker, stored_state
from millstream.streams.runtime.tasks.opening import mark, open_task, opened_or_made_anew

if TYPE_CHECKING:
    import pyarrow as pa

_LOGGER = logging.getLogger(__name__)


class CoveredInput:
    """The input that the stores of a standby cover, which is found out, since changelogs do not tell it. Pure.

    What a task has committed is in its changelogs before that. So the offsets of a commit are asked first and the ends
    of the changelogs after them: stores that have been restored to these ends cover those offsets.

    `offsets`: by input topic, the next one that the stores have not seen; empty before it is known.
    """

    def __init__(self) -> None:
        self.offsets: Mapping[str, int] = {}
        self._next: tuple[Mapping[str, int], Mapping[str, int]] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the stores have yet to come to the ends that were noted."""
        return self._next is not None

    def note(self, committed: Mapping[str, int], ends: Mapping[str, int]) -> None:
        """Takes the offsets of a commit, and the changelogs' ends after it, open transactions included."""
        self._next = committed, ends

    def note_restored(self, offsets: Mapping[str, int]) -> None:
        """Says how far each changelog has been restored."""
        if self._next is None:
            return
        committed, ends = self._next
        if all(offsets.get(topic, 0) >= end for topic, end in ends.items()):
            self.offsets, self._next = committed, None


class StandbyTask:
    """One standby task. Not for use by two callers at a time.

    After an exception it must be closed; another one goes on with its stores.
    """

    def __init__(self, spec: TaskSpec, partition: int, environment: TaskEnvironment) -> None:
        self.id = spec.task_id(partition)
        self._spec = spec
        self._partition = partition
        self._environment = environment
        self._clients = environment.clients
        self._task: StandbyStores | None = None
        self._topic_ids: Mapping[str, str] = {}
        self._covered = CoveredInput()
        self.restored_to: dict[str, int] = {}
        """By changelog topic, how far it has been restored."""

    @property
    def covers(self) -> Mapping[str, int]:
        """By input topic, the next offset that the stores have not seen; empty until `note_commit` and
        `catch_up` have found it.
        """
        return self._covered.offsets

    @property
    def inputs(self) -> frozenset[TopicPartition]:
        """The partitions that its task reads."""
        return frozenset(TopicPartition(topic, self._partition) for topic in self._spec.sources)

    @property
    def changelogs(self) -> frozenset[TopicPartition]:
        """The partitions that its stores are restored from; none while they are not open."""
        topics = () if self._task is None else self._task.state.restore_positions()
        return frozenset(TopicPartition(topic, self._partition) for topic in topics)

    def lacks(self, committed: Mapping[str, int], ends: Mapping[str, int]) -> bool:
        """Whether there is something for `note_commit` and `catch_up`, by the committed offsets of the inputs and the
        changelogs' ends, by topic.
        """
        for topic, end in ends.items():
            is_source = topic in self._spec.sources
            until = min(end, committed.get(topic, 0)) if is_source else end
            restored_to = self.restored_to.get(topic, -1)
            if restored_to < until or (restored_to > end and not is_source):  # made anew, or cut
                return True
        return committed != self.covers and not self._covered.is_waiting

    async def open(self) -> None:
        """Opens the stores, which `catch_up` does, too, and waits while another task has them.

        Raises StoreLocked, and what the cluster answers.
        """
        if self._task is None:
            self._task = await opened_or_made_anew(
                self._opened, self._delete_stores, f"the standby stores of task {self.id}"
            )
            await self._require_trust()

    async def note_commit(self) -> None:
        """Asks for what `covers` will tell, unless it has not come to what was asked before."""
        if self._task is None or self._covered.is_waiting:
            return
        sources, partition = self._spec.sources, self._partition
        committed = await self._clients.committed(
            self._spec.application, sources, partition, require_stable=False
        )
        topics = self._task.state.restore_positions().keys()
        logged = [TopicPartition(topic, partition) for topic in topics - set(sources)]
        ends = {tp.topic: end for tp, end in (await self._clients.ends(logged)).items()}
        processed = {topic: committed.offsets.get(topic, 0) for topic in topics & set(sources)}
        self._covered.note(committed.offsets, ends | processed)

    async def catch_up(self, records_max: int) -> int:
        """Restores up to `records_max` records of each changelog, and returns how many are left.

        Raises StoreLocked, DataLoss where a changelog was made anew or cut off under it, and what the cluster answers.
        """
        await self.open()
        task = self._task
        assert task is not None, "it has been opened"
        if not self._spec.is_exact:
            await self._go_back(task)
        logs = await self._logs(task)
        self._topic_ids = topic_ids = {topic: str(log.topic_id) for topic, log in logs.items()}
        left, read = 0, 0
        for topic, restored_to in task.state.restore_positions().items():
            self._require_whole(topic, restored_to, logs[topic])
            first = max(restored_to or 0, self.restored_to.get(topic, 0), logs[topic].start)
            end = max(first, min(logs[topic].end, first + records_max))
            if first < end:
                read += await self._restore(task, topic, first, end)
            self.restored_to[topic] = end  # markers of transactions at the end are no records
            left += max(0, logs[topic].end - end)
        self._covered.note_restored(self.restored_to)
        if read:
            now_ms = self._environment.clock.now().wall_ms
            await mark(task, self._environment, StoreMarker(topic_ids, {}, now_ms))
            self._environment.observe(StandbyStep.UPDATED, self.id)
        return left

    def _require_whole(self, topic: str, restored_to: int | None, log: ReadableLog) -> None:
        """Raises DataLoss for a changelog in which the rows do not go on: its end was cut off, or records that they
        lack are gone.

        They would pass over what stands there now, and the task that finds them could not tell.
        """
        seen = max(restored_to or 0, self.restored_to.get(topic, 0))
        # A source ends where the task is, which may be set back.
        if seen == 0 or topic in self._spec.sources:
            return
        if not log.start <= seen <= log.end:
            raise DataLoss(
                f"topic {topic} holds {log.start} to {log.end}, and the standby stores of it were restored up to {seen}"
            )

    async def _go_back(self, task: StandbyStores) -> None:
        """Keeps the rows that the task finds where it goes on, at the last commit: changelogs are
        ahead of that at least once.
        """
        sources = self._spec.sources
        committed = await self._clients.committed(
            self._spec.application, sources, self._partition, require_stable=False
        )
        if committed.tells_store_times:
            await self._environment.in_kernel(partial(task.state.go_back, committed.store_times))

    async def query(self, request: StateQueryRequest) -> QueryResult | None:
        """Asks a store as it is between two batches of its changelog; None where the stores are not open.

        May be called beside `catch_up`.
        """
        return await self._environment.in_kernel(partial(self._queried, request))

    async def close(self) -> None:
        """Closes the stores. What a cancelled call has begun in the kernel has ended then."""
        task, self._task = self._task, None
        await self._environment.close_in_kernel(None if task is None else task.close)

    def _queried(self, request: StateQueryRequest) -> QueryResult | None:
        """Asks the stores, in the kernel, where they are closed after they were taken from here."""
        task = self._task
        if task is None:
            return None
        return task.query(request, last_offsets(self.covers, self._partition))

    async def _opened(self) -> StandbyStores:
        spec = self._spec
        stores = spec.stores(self._partition)
        make = partial(
            StandbyStores,
            spec.topology,
            spec.sub_topology,
            self._partition,
            lambda _: stores,
            spec.config,
        )
        return await open_task(make, self._environment, f"task {self.id} in {spec.state_directory}")

    async def _require_trust(self) -> None:
        """Deletes stores that a task would delete, and goes on with empty ones."""
        assert self._task is not None, "it has been opened"
        logs = await self._logs(self._task)
        now_ms = self._environment.clock.now().wall_ms
        why = stored_state(self._task).why_unusable(logs, CommittedPosition(), now_ms)
        if why is None and stored_state(self._task).marker is not None:
            return
        if why is not None:
            _LOGGER.warning(
                "the standby stores of task %s are deleted and restored: %s", self.id, why
            )
            await self.close()
            await self._delete_stores()
            self._task = await self._opened()
        topic_ids = {topic: str(log.topic_id) for topic, log in logs.items()}
        await mark(self._task, self._environment, StoreMarker(topic_ids, {}, now_ms))

    async def _delete_stores(self) -> None:
        directory = self._spec.stores_path(self._partition)
        await self._environment.in_kernel(lambda: shutil.rmtree(directory))

    async def _logs(self, task: StandbyStores) -> dict[str, ReadableLog]:
        """Returns the logs to restore from. A source topic counts as far as the task has processed it."""
        logs = await self._clients.logs(list(task.state.restore_positions()), self._partition)
        made_anew = [
            topic
            for topic, log in logs.items()
            if self._topic_ids.get(topic, str(log.topic_id)) != str(log.topic_id)
        ]
        if made_anew:
            raise DataLoss(f"topic {made_anew[0]} was made anew under the standby stores of it")
        sources = logs.keys() & set(self._spec.sources)
        if sources:
            application = self._spec.application
            committed = await self._clients.committed(application, sources, self._partition)
            for topic in sources:
                end = min(logs[topic].end, committed.offsets.get(topic, 0))
                logs[topic] = replace(logs[topic], end=end)
        return logs

    async def _restore(self, task: StandbyStores, topic: str, first: int, end: int) -> int:
        read = 0
        async for rows in self._clients.read_changelog(topic, self._partition, first, end):
            await self._environment.in_kernel(partial(_put, task, topic, rows))
            read += rows.num_rows
        return read


def _put(task: StandbyStores, topic: str, rows: pa.RecordBatch) -> None:
    task.state.restore(topic, raw_batch(rows))
