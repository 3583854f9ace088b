"""The micro-batches of one sub-topology: look what has come, choose how far to read, run the tasks,
note what they have done.

Runs in a thread of the driver with connections of its own. Keeps nothing that matters: whoever goes on asks the group.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import (
    Callable,
    Collection,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass
from typing import Final

from millstream.clients.admin import Admin
from millstream.errors import ConfigError, KafkaError, MillstreamError, RetriableError
from millstream.model import Offset, TopicPartition
from millstream.runtime import Clock
from millstream.spark import admission
from millstream.spark.connections import Connections
from millstream.spark.kafka_settings import KafkaSettings
from millstream.spark.pipeline.backlog import Backlog, DueTask
from millstream.spark.pipeline.jobs import JobFailed, TaskJobs
from millstream.spark.pipeline.markers import await_markers
from millstream.spark.pipeline.messages import Reply, RunTask, TaskFailed
from millstream.spark.pipeline.planning import CurrentPlan
from millstream.spark.pipeline.upstreams import NOTHING_REACHED, TimeOrder, UpstreamTasks
from millstream.spark.source.positions import LATEST
from millstream.spark.told_errors import cause
from millstream.streams.dropped_log import DroppedLog
from millstream.streams.dropped_records import DroppedRecords, together
from millstream.streams.metrics import MetricName
from millstream.streams.runtime.repartition_purge import RepartitionPurge
from millstream.streams.runtime.report import TaskReport
from millstream.streams.runtime.upstreams.progress import Reached
from millstream.streams.topology.plan import SubTopologyPlan

ATTEMPTS_MAX: Final = 6
"""With pauses that double from RETRY_FIRST_MS 3.1 s in all, beside the time that clients themselves wait for brokers.
Two more than spark.task.maxFailures: a host that was lost costs one, and stores that it had locked another."""
RETRY_FIRST_MS: Final = 100
"""retry.backoff.ms of Kafka's clients."""
POLL_MS: Final = 1_000
"""So late an application that waits for records heeds its end or a pause."""
UPSTREAM_POLL_MS: Final = 50
"""So soon upstream tasks are looked at again for which records wait. A micro-batch takes about as long."""
TOPIC_TIMEOUT_MS: Final = 1_000
"""A topic that does not answer for so long may be gone."""
_LOGGER = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, Offset]


class PipelineFailed(MillstreamError):
    """A sub-topology has failed for good; the text names it and the cause."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One micro-batch.

    Numbers of records, but for `tasks`; `lag`: input records that lay behind it when it was planned.
    """

    sub_topology: int
    batch_id: int
    input_records: int
    duration_ms: int
    tasks: int = 0
    output_records: int = 0
    changelog_records: int = 0
    restored_records: int = 0
    dropped_records: int = 0
    lag: int = 0
    dropped: tuple[DroppedRecords, ...] = ()
    """What was dropped, by node, topic partition and reason; `dropped_records` counts a record that is late
    for three windows three times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationDriver:
    """The things that all sub-topologies of an application share in the driver.

    `observe` is called by several threads.
    """

    application_id: str
    kafka: KafkaSettings
    jobs: TaskJobs
    clock: Clock
    stopping: threading.Event
    paused: threading.Event
    observe: Callable[[Progress], None]
    transactional_ids: Callable[[SubTopologyPlan], Collection[str]]
    """Those of the tasks of a sub-topology; none where the application is not transactional."""
    records_max: int | None
    plan: CurrentPlan
    max_task_idle_ms: int
    repartition_purge_interval_ms: int
    metrics: MutableMapping[str, Mapping[MetricName, float]]
    """Those of the last report of each task, by its id."""
    order: TimeOrder
    own_outputs: frozenset[str]
    """The topics that the application writes for others. It may read them, too."""
    dropped_log: DroppedLog


class MicroBatches:
    """To be used by one thread. `close` ends its connections."""

    def __init__(self, plan: SubTopologyPlan, driver: ApplicationDriver) -> None:
        self._plan = plan
        self._driver = driver
        self._clock = driver.clock
        self._backlog = Backlog(plan.topics_of_tasks)
        self._link = Connections(driver.kafka, driver.plan.interval_ms)
        self._admin: Admin | None = None
        self._batch_id = 0
        self._read = 0
        self._available: Offsets = {}
        self._attempts = 0
        interval_ms = driver.repartition_purge_interval_ms
        self._upstreams = UpstreamTasks(driver.application_id, plan.id, driver.order)
        self._repartition = RepartitionPurge(plan.repartition_sources, interval_ms, self._now_ms)

    def begin_available(self) -> None:
        """Fixes what is to be worked through, of topics that others write: what is readable now."""
        if not self._reads_own_outputs:
            self._fix_available()

    def run_available(self) -> bool:
        """Works until everything that is available has been processed, and returns whether that was anything.

        When it is called again, it goes on with what the application itself has written since. What it has written can
        be read when it returns. Raises PipelineFailed.
        """
        read = self._read
        self._fix_available()
        while not self._driver.stopping.is_set() and self._step(self._available):
            """Goes on."""
        self.end_available()
        return self._read > read

    def run_slice(self) -> bool:
        """Works on the next slice of time of what is available, and returns whether there was one.

        What it has written can be read then.
        """
        if self._driver.stopping.is_set() or self._reads_own_outputs:
            return False  # these would have no end where the application feeds itself
        if not self._step(self._more_available()):
            return False
        self._await_markers()
        return True

    def end_available(self) -> None:
        """Deletes what has been read of repartition topics. What the tasks have written can be read then."""
        if self._holds_back and not self._driver.stopping.is_set():
            _LOGGER.warning(
                "sub-topology %d holds records that wait for upstream tasks which have more to read: they go on with the next run",
                self._plan.id,
            )
        self._purge()
        self._await_markers()

    def _step(self, last: Offsets) -> bool:
        """Runs the tasks that are due, or waits until one is by the clock. Returns False where none will be."""
        if self._attempts:
            self._look(at_once=True)
        self._learn()
        due = self._due(last)
        if due:
            self._run(due, last)
        elif (until_ms := self._backlog.idles_until_ms()) is not None:
            self._driver.stopping.wait((until_ms - self._clock.now().wall_ms) / 1000)
        else:
            return False
        return True

    def run(self) -> None:
        """Works until the driver stops. Raises PipelineFailed."""
        while not self._driver.stopping.is_set():
            if self._driver.paused.is_set():
                self._driver.stopping.wait(POLL_MS / 1000)
                continue
            self._driver.dropped_log.tell()
            try:
                self._look(at_once=self._attempts > 0)
                self._learn()
                readable = self._readable()
                due = self._due(readable)
                if due:
                    self._run(due, readable)
                else:
                    self._wait()
                self._purge_now_and_then()
            except PipelineFailed:
                raise
            except ConfigError as error:
                self._back_off_or_raise(str(error), is_retriable=False)
            except MillstreamError as error:
                self._back_off_or_raise(str(error), is_retriable=True)

    def close(self) -> None:
        if self._admin is not None:
            self._link.run(self._admin.close())
        self._link.close()

    # One micro-batch.

    def _due(self, readable: Offsets) -> list[DueTask]:
        begin = self._backlog.position
        if self._upstreams.read:
            readable = self._look_at_upstreams(readable)
            begin = self._backlog.read_to  # what held records wait for may lie behind them
        ends = admission.in_time(
            begin,
            {tp: end for tp, end in readable.items() if tp in begin},
            self._driver.records_max,
            self._link.times_at,
            self._link.offsets_after,
            is_one_slice=self._upstreams.writes_aligned,
        )
        if self._waits_for_topics:
            ends = admission.with_heads(begin, readable, ends)
        return self._backlog.due(ends, self._clock.now().wall_ms, self._may_go_on)

    @property
    def _waits_for_topics(self) -> bool:
        """Whether a task with records of one topic waits for those of another that are known to be there."""
        is_aligned = bool(self._driver.order.alignment.writers) and len(self._plan.sources) > 1
        return is_aligned or self._driver.max_task_idle_ms > 0

    def _look_at_upstreams(self, readable: Offsets) -> Offsets:
        """Looks how far upstream tasks have come, and returns what is readable after that: all that they have written
        by then, if nothing is open.
        """
        looking = self._upstreams.look(
            self._admin_client(),
            self._driver.plan.last,
            is_read_committed=self._link.reader().config.isolation_level == "read_committed",
        )
        self._link.run(looking)
        aligned = {
            TopicPartition(topic, partition): Offset(offset)
            for topic in self._upstreams.read
            for partition, offset in self._readable_of(topic).items()
        }
        return {**readable, **aligned}

    def _may_go_on(self, partition: int, ends: Mapping[str, int]) -> bool:
        if not self._upstreams.read:
            return False
        return self._upstreams.have_come_further(partition, self._reached(partition, ends))

    def _reached(self, partition: int, ends: Mapping[str, int]) -> Reached:
        is_waiting = self._backlog.holds(partition) and not self._upstreams.are_at_work
        topics = self._plan.topics_of_tasks[partition]
        read = self._backlog.read_up_to(partition, ends)
        return self._upstreams.reached(partition, topics, read, self._now_ms, is_waiting=is_waiting)

    def _run(self, due: Sequence[DueTask], readable: Offsets) -> None:
        lag = self._lag(due, readable)
        began_ms = self._clock.now().monotonic_ms
        requests = [self._request(each, readable) for each in due]
        self._driver.order.at_work.add(self._plan.id)
        try:
            replies = self._driver.jobs.run(
                requests, f"sub-topology {self._plan.id}, micro-batch {self._batch_id}"
            )
        except JobFailed as error:
            for each in due:
                self._backlog.forget(each.partition)
            self._back_off_or_raise(cause(str(error)), is_retriable=True)
            return
        finally:
            self._driver.order.at_work.discard(self._plan.id)
        self._take(due, replies)
        duration_ms = self._clock.now().monotonic_ms - began_ms
        progress = self._progress(replies, duration_ms, lag)
        self._read += progress.input_records
        self._driver.observe(progress)
        self._batch_id += 1
        self._require_success(replies)

    def _request(self, due: DueTask, readable: Offsets) -> RunTask:
        topics = self._plan.topics_of_tasks[due.partition]
        lags = self._lags(due, readable) if self._waits_for_topics else None
        reached = NOTHING_REACHED
        if self._upstreams.read:
            reached = self._reached(due.partition, due.ends)
            self._upstreams.note(due.partition, reached)
        return RunTask(self._plan.id, due.partition, topics, due.ends, lags, due.renew, reached)

    def _lags(self, due: DueTask, readable: Offsets) -> dict[str, int]:
        """By topic, what is readable behind the end of the task's run."""
        position = self._backlog.position
        lags = {}
        for topic in self._plan.topics_of_tasks[due.partition]:
            tp = TopicPartition(topic, due.partition)
            if tp in readable and (topic in due.ends or tp in position):
                lags[topic] = max(0, readable[tp] - due.ends.get(topic, position.get(tp, 0)))
        return lags

    def _take(self, due: Sequence[DueTask], replies: Sequence[Reply]) -> None:
        now_ms = self._clock.now().wall_ms
        for each, reply in zip(due, replies, strict=True):
            if isinstance(reply, TaskReport):
                self._backlog.take(each.partition, reply, now_ms)
                self._driver.metrics[reply.task] = reply.metrics
                self._driver.dropped_log.take(reply.task, reply.dropped_records)
            else:
                self._backlog.forget(each.partition)

    def _require_success(self, replies: Sequence[Reply]) -> None:
        failed = [reply for reply in replies if isinstance(reply, TaskFailed)]
        if not failed:
            self._attempts = 0
            return
        final = next((each for each in failed if not each.is_retriable), failed[0])
        self._back_off_or_raise(f"task {final.task}: {final.text}", is_retriable=final.is_retriable)

    def _back_off_or_raise(self, text: str, *, is_retriable: bool) -> None:
        """Waits before the next attempt. Raises PipelineFailed where there is none."""
        self._attempts += 1
        if not is_retriable or self._attempts >= ATTEMPTS_MAX:
            _LOGGER.debug("sub-topology %d failed", self._plan.id, exc_info=sys.exception())
            raise PipelineFailed(f"sub-topology {self._plan.id} failed: {text}") from None
        pause_ms = RETRY_FIRST_MS << (self._attempts - 1)
        _LOGGER.warning("sub-topology %d: %s; again in %d ms", self._plan.id, text, pause_ms)
        self._driver.stopping.wait(pause_ms / 1000)

    def _progress(self, replies: Sequence[Reply], duration_ms: int, lag: int) -> Progress:
        reports = [reply for reply in replies if isinstance(reply, TaskReport)]
        return Progress(
            sub_topology=self._plan.id,
            batch_id=self._batch_id,
            input_records=sum(each.read for each in reports),
            duration_ms=duration_ms,
            tasks=len(replies),
            output_records=sum(each.written for each in reports),
            changelog_records=sum(each.logged for each in reports),
            restored_records=sum(each.restored for each in reports),
            dropped_records=sum(each.dropped for each in reports),
            lag=lag,
            dropped=together(left_out for each in reports for left_out in each.dropped_records),
        )

    def _lag(self, due: Sequence[DueTask], readable: Offsets) -> int:
        position = dict(self._backlog.position)
        for each in due:
            position |= {
                TopicPartition(topic, each.partition): Offset(end)
                for topic, end in each.ends.items()
            }
        return sum(max(0, end - position.get(tp, end)) for tp, end in readable.items())

    # Questions to the cluster.

    def _look(self, *, at_once: bool) -> None:
        """Takes up topics and partitions that have come since the last look, and lets go those that have gone."""
        plan = self._driver.plan.of(self._plan.id, at_once=at_once)
        if plan != self._plan:
            _LOGGER.info("sub-topology %d reads %s", plan.id, dict(plan.partitions))
            self._plan = plan
            self._backlog.assign(plan.topics_of_tasks)

    def _learn(self) -> None:
        if self._backlog.is_known:
            return
        group = self._driver.application_id

        async def committed() -> dict[TopicPartition, int]:
            # A task that was killed in its transaction is fenced by its next run, which must not wait to be planned
            # until the transaction has timed out. An older position does no harm: the run begins where the task has been.
            groups = await self._admin_client().list_consumer_group_offsets([group])
            found = groups.result(group)
            return {tp: found.result(tp).offset for tp in found}

        self._backlog.learn(self._link.run(committed()))

    def _more_available(self) -> Offsets:
        """The readable offsets; of topics that others write, those of the first call."""
        return self._readable() | self._outside_of(self._available)

    def _fix_available(self) -> None:
        self._available = self._more_available()
        self._driver.order.available.update(self._outside_of(self._available))

    @property
    def _reads_own_outputs(self) -> bool:
        return not self._driver.own_outputs.isdisjoint(self._plan.sources)

    def _outside_of(self, offsets: Offsets) -> dict[TopicPartition, Offset]:
        """Returns those of topics that others write."""
        return {
            tp: offset
            for tp, offset in offsets.items()
            if tp.topic not in self._plan.repartition_sources
        }

    def _readable(self) -> dict[TopicPartition, Offset]:
        """The last stable offsets of the source partitions."""
        return {
            TopicPartition(topic, partition): Offset(offset)
            for topic in self._plan.sources
            for partition, offset in self._readable_of(topic).items()
        }

    def _readable_of(self, topic: str) -> Mapping[int, int]:
        """Looks whether the topic is still there before it waits for it. One of a pattern that is gone has nothing."""
        reader = self._link.reader()
        try:
            return self._link.run(reader.offsets(topic, LATEST, timeout_ms=TOPIC_TIMEOUT_MS))
        except RetriableError:  # at the time limit, which ends with the last error of a leader, too
            # A run with a topic that is gone fails, at the latest when it commits that topic's offset.
            self._look(at_once=True)
            if topic not in self._plan.sources:
                return {}
            return self._link.run(reader.offsets(topic, LATEST))

    def _wait(self) -> None:
        """Waits for records, but not longer than until something else is due."""
        next_ms = self._backlog.next_due_ms()
        timeout_ms = UPSTREAM_POLL_MS if self._holds_back else POLL_MS
        if next_ms is not None:
            timeout_ms = max(1, min(timeout_ms, next_ms - self._clock.now().wall_ms))
        read_to = self._backlog.read_to
        if read_to:
            self._link.wait_for_records(read_to, timeout_ms)
        else:  # a pattern that matches no topic yet
            self._driver.stopping.wait(timeout_ms / 1000)

    @property
    def _holds_back(self) -> bool:
        """Whether records wait for upstream tasks, which may come forward without writing any."""
        return bool(self._upstreams.read) and self._backlog.holds_any

    @property
    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms

    def _purge_now_and_then(self) -> None:
        if self._repartition.is_due(self._now_ms):
            self._purge()

    def _purge(self) -> None:
        """Deletes what has been read of repartition topics; the tasks have committed that they have."""
        done = self._repartition.take(self._backlog.position, self._now_ms)
        if not done:
            return

        async def delete() -> dict[TopicPartition, KafkaError]:
            return (await self._admin_client().delete_records(done)).errors()

        for tp, error in self._link.run(delete()).items():
            _LOGGER.warning("%s keeps what has been read of it: %s", tp, error)

    def _await_markers(self) -> None:
        """The sub-topologies that read what the tasks have written must find it."""
        ids = self._driver.transactional_ids(self._plan)
        if ids:
            self._link.run(await_markers(self._admin_client(), ids, self._driver.stopping))

    def _admin_client(self) -> Admin:
        if self._admin is None:
            self._admin = Admin(**self._driver.kafka.of_client())
        return self._admin
