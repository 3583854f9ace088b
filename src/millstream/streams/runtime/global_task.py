"""One global sub-topology in a process: reads all partitions of its topic, and fills the global store.

Kafka Streams' GlobalStateUpdateTask.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from millstream.clients import TopicDeleted
from millstream.model import TopicPartition
from millstream.streams.dropped_log import DroppedLog
from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.runtime.columns import raw_batch
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.errors import DataLoss
from millstream.streams.runtime.logs import ReadableLog
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.stored_state import StoredState, StoreMarker, stored_marker
from millstream.streams.runtime.tasks.opening import open_task
from millstream.streams.state.store import StateStore

if TYPE_CHECKING:
    import pyarrow as pa

_PARTITION: Final = 0
"""One task reads all partitions."""
_LOGGER = logging.getLogger(__name__)


class GlobalTask:
    """The task of one global sub-topology, made by `open`. Not for use by two callers at a time.

    Its marker has `<topic>-<partition>` where that of other tasks has topics, which have one partition there.
    """

    def __init__(
        self,
        spec: TaskSpec,
        environment: TaskEnvironment,
        task: StreamTask,
        marker: StoreMarker | None,
    ) -> None:
        self._spec = spec
        self._environment = environment
        self._clients = environment.clients
        self._task = task
        self._dropped_log = DroppedLog(environment.clock, f"global stores {_names(task)}:")
        self.metrics = task.metrics.values()
        """Those of the task, as of its last records."""
        self._offsets = dict(marker.offsets) if marker else {}
        self._topic_ids = dict(marker.topic_ids) if marker else {}

    @classmethod
    async def open(cls, spec: TaskSpec, environment: TaskEnvironment) -> GlobalTask:
        """Opens the store; one that cannot be trusted is deleted first.

        Raises StoreLocked, and what the cluster answers.
        """
        logs = await environment.clients.logs_of_all_partitions(spec.sources)
        task = await _opened(spec, environment)
        try:
            marker = stored_marker(task)
            why = _why_unusable(marker, logs, environment.clock.now().wall_ms)
        except BaseException:
            await environment.close_in_kernel(task.close)
            raise
        if why is not None:
            _LOGGER.warning("global stores %s are deleted and read anew: %s", _names(task), why)
            await environment.close_in_kernel(task.close)
            await environment.in_kernel(lambda: shutil.rmtree(spec.stores_path(_PARTITION)))
            task, marker = await _opened(spec, environment), None
        return cls(spec, environment, task, marker)

    @property
    def stores(self) -> Mapping[str, StateStore]:
        return self._task.stores

    @property
    def task(self) -> StreamTask:
        return self._task

    async def catch_up(self) -> int:
        """Reads what the topic has got, each partition to its end, and returns how many records it was.

        Where it raises, the store is at the last record that it has kept.
        """
        read = 0
        for topic in self._spec.sources:
            for partition, end in (await self._clients.readable_ends(topic)).items():
                read += await self._read(TopicPartition(topic, partition), end)
        self._dropped_log.take(self._task.id, self._task.dropped.take())
        return read

    async def close(self) -> None:
        self._dropped_log.close()
        await self._environment.close_in_kernel(self._task.close)

    async def _read(self, tp: TopicPartition, end: int) -> int:
        start = self._offsets.get(str(tp))
        if start is None:
            log = (await self._clients.logs([tp.topic], tp.partition))[tp.topic]
            start, self._topic_ids[str(tp)] = log.start, str(log.topic_id)
            log.tell_what_is_gone(f"global stores {_names(self._task)}", str(tp), start)
        if end < start:
            raise self._made_anew(tp, start)
        read = 0
        id_ = self._topic_ids.get(str(tp))
        try:
            async for rows in self._clients.read(tp.topic, tp.partition, start, end, topic_id=id_):
                await self._environment.in_kernel(partial(self._apply, tp, rows))
                read += rows.num_rows
            if start < end:  # where the last offsets hold no records, and for a topic that has none
                await self._environment.in_kernel(partial(self._keep, tp, end))
        except BaseException as error:
            await self._environment.in_kernel(self._task.rollback)
            if isinstance(error, TopicDeleted):
                log = (await self._clients.logs([tp.topic], tp.partition))[tp.topic]
                if str(log.topic_id) != id_:
                    raise self._made_anew(tp, start) from error
            raise
        return read

    def _made_anew(self, tp: TopicPartition, start: int) -> DataLoss:
        return DataLoss(
            f"{tp} is not the one that global stores {_names(self._task)} have read up to {start}: the topic was made anew. "
            "Start the application again to read it from the beginning"
        )

    # Beside the loop.

    def _apply(self, tp: TopicPartition, rows: pa.RecordBatch) -> None:
        task = self._task
        task.set_partition(tp.partition)
        task.add(tp.topic, raw_batch(rows))
        task.process(self._environment.clock.now().wall_ms)
        task.prepare_commit()
        self.metrics = task.metrics.values()
        self._keep(tp, rows.column("offset")[-1].as_py() + 1)

    def _keep(self, tp: TopicPartition, offset: int) -> None:
        offsets = self._offsets | {str(tp): offset}
        written_ms = self._environment.clock.now().wall_ms
        self._task.commit(marker=StoreMarker(self._topic_ids, offsets, written_ms).encode())
        self._offsets = offsets


async def _opened(spec: TaskSpec, environment: TaskEnvironment) -> StreamTask:
    make = partial(
        StreamTask,
        spec.topology,
        spec.sub_topology,
        _PARTITION,
        lambda _: spec.stores(_PARTITION),
        spec.config,
        wall_clock_ms=environment.clock.now().wall_ms,
    )
    return await open_task(make, environment, f"the global stores in {spec.state_directory}")


def _why_unusable(
    marker: StoreMarker | None, logs: Mapping[TopicPartition, ReadableLog], now_ms: int
) -> str | None:
    """Returns the reason why reading cannot go on from the rows; None where it can, and for a store that has none."""
    if marker is None:
        return None
    by_name = {str(tp): log for tp, log in logs.items()}
    gone = marker.offsets.keys() - by_name.keys()
    if gone:
        return f"{min(gone)} is not there any more"
    return StoredState(marker, marker.offsets, is_logged=True).why_unusable(
        by_name, CommittedPosition(), now_ms
    )


def _names(task: StreamTask) -> str:
    return ", ".join(sorted(task.stores))
