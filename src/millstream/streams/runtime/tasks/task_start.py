"""Starts a task: fences every other attempt, finds the position of the last commit, and brings the stores to it.

Steps 1 to 3 of the order of effects in active_task.py.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from millstream.clients import Producer
from millstream.errors import ConfigError
from millstream.model import ZERO_UUID
from millstream.streams.kernel.task.stream_task import StreamTask
from millstream.streams.options import OffsetReset
from millstream.streams.runtime.committed import CommittedPosition
from millstream.streams.runtime.errors import DataLoss, StoreNotWritten, TaskMigrated
from millstream.streams.runtime.failures import is_disk_failure
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.logs import ReadableLog
from millstream.streams.runtime.renaming import version_of
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.steps import Step
from millstream.streams.runtime.task_names import transactional_id
from millstream.streams.runtime.tasks.active_task import ActiveTask, StartedTask
from millstream.streams.runtime.tasks.processor_state_manager import ProcessorStateManager

_LOGGER = logging.getLogger(__name__)


class TaskStart:
    """One start of one task; `start` is called once. A start that fails leaves nothing open."""

    def __init__(
        self,
        spec: TaskSpec,
        partition: int,
        environment: TaskEnvironment,
        global_stores: GlobalStores | None = None,
    ) -> None:
        self._spec = spec
        self._partition = partition
        self._environment = environment
        self._clients = environment.clients
        self._id = spec.task_id(partition)
        self.stores: Final = ProcessorStateManager(spec, partition, environment, global_stores)
        """They can be asked beside `start`."""
        self._committed: CommittedPosition | None = None
        """None before it is fetched."""

    async def start(self) -> ActiveTask:
        """Fences every other attempt of the task and brings its stores up to date.

        Raises StoreLocked, StoreNotWritten, TaskMigrated, DataLoss, ConfigError where the application's offsets do
        not fit its state, and what the cluster answers.
        """
        spec, partition, environment = self._spec, self._partition, self._environment
        producer = self._clients.producer(
            spec.transactional_id(partition) if spec.is_exact else None
        )
        try:
            environment.observe(Step.STARTING, self._id)
            if spec.is_exact:
                await producer.init_transactions()
                await _fence_former_owners(spec, partition, environment)
            environment.observe(Step.FENCED, self._id)
            started = await self._started(producer)
        except BaseException:
            await self._clients.release(producer)
            raise
        active = ActiveTask(spec, partition, environment, producer, started)
        try:
            await active.begin()
            environment.observe(Step.RESTORED, self._id)
        except BaseException:
            await active.close()
            raise
        return active

    async def _started(self, producer: Producer) -> StartedTask:
        try:
            return await self._behind_the_fence(producer)
        except BaseException as error:
            await self.stores.close()
            if isinstance(error, ConfigError | DataLoss):
                await self._require_not_migrated(error)
            elif isinstance(error, Exception) and is_disk_failure(error):
                raise StoreNotWritten(
                    f"the stores of task {self._id} in {self._spec.state_directory} could not be opened and restored: {error}. See to the "
                    "disk; what is committed stays"
                ) from error
            raise

    async def _behind_the_fence(self, producer: Producer) -> StartedTask:
        spec, partition = self._spec, self._partition
        committed = await self._fetch_committed()
        self._committed = committed
        logs = await self._clients.logs(spec.sources, partition)
        self._require_same_inputs(committed, logs)
        task = await self.stores.restore(committed, producer, logs)
        self._require_known_origin(committed, task)
        self._notice_version(committed)
        begin = {
            topic: await self._first_offset(topic, logs[topic])
            for topic in spec.sources
            if topic not in committed.offsets
        }
        for topic, offset in begin.items():
            if spec.reset_of(topic) is not OffsetReset.LATEST:
                logs[topic].tell_what_is_gone(f"task {self._id}", f"{topic}-{partition}", offset)
        self._require_no_loss(committed, logs)
        held = {topic: (committed.offsets[topic], each) for topic, each in committed.held.items()}
        resume = partial(task.resume, origin_time=committed.origin_time, held=held)
        await self._environment.in_kernel(partial(resume, committed.times, committed.store_times))
        # Kafka before 2.8 has no ids.
        ids = {each: str(log.topic_id) for each, log in logs.items() if log.topic_id != ZERO_UUID}
        position = replace(committed, offsets={**committed.offsets, **begin}, input_ids=ids)
        return StartedTask(
            task=task,
            stores=self.stores,
            position=position,
            is_committed=not begin,
            begins_late=any(spec.reset_of(topic) is not OffsetReset.EARLIEST for topic in begin),
        )

    async def _fetch_committed(self) -> CommittedPosition:
        spec = self._spec
        return await self._clients.committed(spec.application, spec.sources, self._partition)

    async def _require_not_migrated(self, error: Exception) -> None:
        """Raises TaskMigrated where the position is not the committed one any more.

        Logs and stores are read after the position. Who has taken over in between (a second attempt of Spark's, another
        member of the group) has written and committed what no longer fits it, which says nothing of the application.
        """
        if self._committed is None:
            return
        committed = await self._fetch_committed()
        if committed.offsets != self._committed.offsets:
            raise TaskMigrated(
                f"task {self._id} runs elsewhere: its offsets were committed while it was started here"
            ) from error

    async def _first_offset(self, topic: str, log: ReadableLog) -> int:
        reset = self._spec.reset_of(topic)
        if reset is OffsetReset.EARLIEST:
            return log.start
        if reset is OffsetReset.LATEST:
            return log.end
        if reset is OffsetReset.NONE:
            raise ConfigError(
                f"topic {topic} has reset=NONE, and group {self._spec.application} has no committed offset for "
                f"partition {self._partition}: set one, or say EARLIEST, LATEST or a timedelta"
            )
        now_ms = self._environment.clock.now().wall_ms
        since_ms = max(0, now_ms - reset // timedelta(milliseconds=1))
        first = await self._clients.offset_at(topic, self._partition, since_ms)
        return log.end if first is None else first

    def _notice_version(self, committed: CommittedPosition) -> None:
        """Says once for all tasks that another version of the topology has been here, which may still run elsewhere."""
        told = self._environment.told_versions
        mine = version_of(self._spec.topology)
        others = committed.versions - {mine} - told
        if not others:
            return
        told.update(others)
        _LOGGER.warning(
            "task %s of application %s goes on where another version of the topology has committed (%s, this one is %s): after a change "
            "that is as it should be; otherwise instances with different topologies share the application",
            *(self._id, self._spec.application, ", ".join(sorted(others)), mine),
        )

    def _require_known_origin(self, committed: CommittedPosition, task: StreamTask) -> None:
        """Raises ConfigError for state without offsets: what it has counted would be counted again."""
        positions = task.state.restore_positions()
        own = positions.keys() - set(self._spec.sources)
        has_state = any(positions[topic] is not None for topic in own)
        if has_state and not committed.offsets:
            application = self._spec.application
            if self._spec.sources and task.inputs.pattern_of_topic.keys() >= set(
                self._spec.sources
            ):
                _LOGGER.warning(
                    "task %s has state, and group %s no committed offset for %s: they are taken for topics that have come since",
                    *(self._id, application, ", ".join(self._spec.sources)),
                )
                return
            raise ConfigError(
                f"application {application} has state, but its group {application} has no committed offsets for task {self._id}: "
                "they have expired, were deleted, or the state was written by a version that did not commit them. What it has "
                "counted would be counted again. Set the offsets of the group, or reset the application"
            )

    def _require_same_inputs(
        self, committed: CommittedPosition, logs: Mapping[str, ReadableLog]
    ) -> None:
        """Raises DataLoss for an offset of another topic of the name: it says nothing of what was read of this one.

        Brokers forget the offsets of a topic that is deleted, but a task that ran meanwhile may have committed again.
        """
        for topic, known in committed.input_ids.items():
            if logs[topic].topic_id != ZERO_UUID and known != str(logs[topic].topic_id):
                raise DataLoss(
                    f"topic {topic} is not the one that task {self._id} has read up to offset {committed.offsets[topic]}: it was deleted and made "
                    f"anew, or the offsets are of another cluster. Set the offsets of group {self._spec.application} to where "
                    "it shall go on, or reset the application"
                )

    def _require_no_loss(
        self, committed: CommittedPosition, logs: Mapping[str, ReadableLog]
    ) -> None:
        for topic, offset in committed.offsets.items():
            log = logs[topic]
            if not log.start <= offset <= log.end:
                raise DataLoss(
                    f"{topic}-{self._partition} was read up to offset {offset}, and its log holds {log.start} to {log.end}: "
                    "records were deleted before they were read, or the topic was made anew. Set the offsets of group "
                    f"{self._spec.application} to go on with what is left, or reset the application"
                )


async def _fence_former_owners(
    spec: TaskSpec, partition: int, environment: TaskEnvironment
) -> None:
    """Fences the attempts that ran under another name: an older version of the application may have called the task so.

    A task writes its name beside the offsets that it commits. Its transactional id follows from the name, so whoever
    takes over an input partition knows whom to fence, whatever the topology was then. What they left open is aborted.
    """
    names = await environment.clients.owners(spec.application, spec.sources, partition)
    for name in sorted(names - {spec.name}):
        former = transactional_id(spec.application, name, partition)
        producer = environment.clients.make_producer(former)
        try:
            await producer.init_transactions()
        finally:
            await producer.close(timeout_ms=0)
