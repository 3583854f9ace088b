"""Runs the active tasks of one stream thread that are restored: they are fed by its consumer, processed and committed.

A task that fails where the next attempt may succeed is revived by the task manager. What fails for good is raised.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from millstream.clients import ArrowRecords, Consumer, WakeupError
from millstream.model import TopicPartition
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.metrics.task_measures import TaskMeasures
from millstream.streams.application.processing_rounds import (
    ROUND_MS,
    ProcessingRounds,
    records_min,
)
from millstream.streams.config import StreamsConfig, TimeAcrossRepartitions
from millstream.streams.dropped_log import DroppedLog
from millstream.streams.runtime.failures import is_retriable
from millstream.streams.runtime.report import ProcessedWork, TaskReport
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.task import Task
from millstream.streams.runtime.tasks.task_manager import TaskManager
from millstream.streams.runtime.upstreams.followed_tasks import FollowedTasks
from millstream.streams.runtime.upstreams.progress import Reached, ReachedForOthers
from millstream.streams.runtime.upstreams.watch import LocalTask

WATCHED_COMMIT_INTERVAL_MS: Final = 1_000
"""Kafka's 30 s at least once would have tasks of other instances wait so long for what is written already."""
WATCHED_AT_ENDS_COMMIT_INTERVAL_MS: Final = 50
"""Live, others wait for nothing but this commit. At 20 a second it costs less than the looks of those who
wait, `LOOK_INTERVAL_S` apart."""
_Result = TypeVar("_Result")
_LOGGER = logging.getLogger(__name__)


class QueuedBytes:
    """Those that wait in the queue of one partition, by the batches in which they came.

    A batch counts in full until its last record is taken: until then its memory is not free either.
    """

    def __init__(self) -> None:
        self._batches: deque[tuple[int, int]] = deque()
        self._records = self._size_bytes = 0

    def add(self, records: int, size_bytes: int) -> None:
        """Notes a batch that was queued."""
        self._batches.append((records, size_bytes))
        self._records += records
        self._size_bytes += size_bytes

    def of(self, waiting: int) -> int:
        """Returns the bytes of the batches that the last `waiting` records came in."""
        while self._batches and self._records - self._batches[0][0] >= waiting:
            records, size_bytes = self._batches.popleft()
            self._records -= records
            self._size_bytes -= size_bytes
        return self._size_bytes


@dataclass(slots=True)
class _Running:
    active: ActiveTask
    task: Task
    measures: TaskMeasures
    rounds: ProcessingRounds
    others: FollowedTasks
    paused: set[str] = field(default_factory=set)
    queued_bytes: dict[str, QueuedBytes] = field(default_factory=dict)
    has_news: bool = False
    """Something was processed since the last commit."""
    held_up_at: tuple[Reached, ReachedForOthers, Mapping[str, int]] | None = None
    """How far upstream tasks had come, and how much there was to read, when none of the records
    that are queued could go on."""
    ends: dict[str, int] = field(default_factory=dict)
    """By input topic, the end as the consumer has known it last."""


class TaskExecutor:
    """The active tasks of one thread that run, whose loop alone uses them. `report` hears of each commit of a task."""

    def __init__(
        self,
        manager: TaskManager[StreamsTaskId],
        environment: TaskEnvironment,
        consumer: Consumer[bytes, bytes],
        config: StreamsConfig,
        report: Callable[[StreamsTaskId, TaskReport], None],
        *,
        log_prefix: str,
    ) -> None:
        self._manager = manager
        self._clock = environment.clock
        self._consumer = consumer
        self._buffered_max = config.buffered_records_per_partition
        self._buffered_bytes_max = config.buffered_bytes_per_partition
        self._report = report
        self._log_prefix = log_prefix
        self._dropped_log = DroppedLog(environment.clock, log_prefix)
        self._upstreams = environment.upstreams
        self._follows_upstreams = config.time_across_repartitions is TimeAcrossRepartitions.ALIGNED
        self.has_more = False
        """Whether a task has queued more than it was to process in the last round."""
        self.waits_for_upstreams = False
        """Whether a task waits for one that may not run in this thread: no record has to come for it to go on."""
        self._heard = 0
        """The news of upstream tasks that the last turn knew."""
        self._waits_alone = config.max_task_idle_ms <= 0
        """Whether a task goes on by what others do alone, not by the clock."""
        self._running: dict[StreamsTaskId, _Running] = {}

    @property
    def next_punctuation_ms(self) -> int | None:
        """The wall-clock time of the first punctuation of all tasks."""
        due = (each.active.next_punctuation_ms for each in self._running.values())
        return min((time for time in due if time is not None), default=None)

    @property
    def has_news(self) -> bool:
        """Whether something is to be committed."""
        return any(each.has_news for each in self._running.values())

    @property
    def committed(self) -> dict[TopicPartition, int]:
        """The positions of all inputs as the last commits have left them."""
        return {
            TopicPartition(topic, task.partition): offset
            for task, each in self._running.items()
            for topic, offset in each.active.position.items()
        }

    def take(self, specs: Mapping[StreamsTaskId, TaskSpec]) -> None:
        """Begins to start tasks, which `take_up_restored` runs once they are restored."""
        for key, spec in specs.items():
            self._manager.create(key, spec, key.partition)
            self._manager.begin_restoring(key)

    def take_up_restored(self) -> None:
        """Begins to run the tasks that have been restored. Raises what prevents one."""
        for key, task in self._manager.complete_restorations():
            active, level = task.running, task.spec.config.metrics_recording_level
            measures = TaskMeasures(task.id, level, lambda: self._now_ms)
            rounds = ProcessingRounds(records_min(task.spec.topology, task.spec.sub_topology))
            read = active.aligned.read & active.position.keys()
            others = FollowedTasks(task.id, task.partition, task.spec, read, self._upstreams)
            self._running[key] = _Running(active, task, measures, rounds, others)
            self._upstreams.tell_news()
            self._assign()
            for topic, offset in active.position.items():
                self._consumer.seek(TopicPartition(topic, task.partition), offset)

    async def give_up(self, keys: Collection[StreamsTaskId], *, commit: bool) -> None:
        """Commits and closes tasks, those that are being restored, too.

        Raises what users' functions raise once all are closed.
        """
        given_up = {key: self._running.pop(key) for key in self._running.keys() & keys}
        self._upstreams.tell_news()
        self._assign()

        async def commit_last(key: StreamsTaskId, active: ActiveTask) -> None:
            if given_up[key].has_news:
                report = await active.commit()
                self._dropped_log.take(active.id, report.dropped_records)

        await self._manager.close(keys, commit_last if commit else None)

    async def close(self, *, commit: bool) -> None:
        """Gives up all active tasks."""
        await self.give_up(self._manager.tasks(is_standby=False).keys(), commit=commit)
        self._dropped_log.close()

    async def read(self, timeout_ms: int) -> int:
        """Queues the records that have come, at once or as soon as there are any within the time. Returns how many."""
        read = 0
        owners = {
            (topic, task.partition): (task, each)
            for task, each in self._running.items()
            for topic in each.active.position
        }
        if not owners:
            await asyncio.sleep(timeout_ms / 1000)
            return read
        aligned = {topic for each in self._running.values() for topic in each.active.aligned.read}
        batches = await self._poll(timeout_ms, aligned)
        for batch in batches:
            task, each = owners[batch.topic, batch.partition]
            if batch.records.num_rows and self._running.get(task) is each:
                adding = each.active.add(batch.topic, batch.records)
                added = await self._guarded(task, adding) or 0
                queued_bytes = each.queued_bytes.setdefault(batch.topic, QueuedBytes())
                queued_bytes.add(added, batch.records.nbytes)
            if self._running.get(task) is not each:
                continue  # it has failed on this batch or on one before
            each.active.note_read_to(batch.topic, batch.next_offset)
            each.others.note_read(each.active)
            each.has_news = True
            each.held_up_at = None
            read += batch.records.num_rows
        self._manager.misses_topic |= bool(self._consumer.missing_topics())
        if self._follows_upstreams:
            self._note_ends(is_read=bool(batches))
        return read

    async def _poll(self, timeout_ms: int, aligned: Collection[str]) -> list[ArrowRecords]:
        """Waits for records, or for news of upstream tasks where one waits for them."""
        poll = partial(self._consumer.poll_arrow, headers=True, whole_batches_of=aligned)
        if not self.waits_for_upstreams:
            return await poll(timeout_ms=timeout_ms)
        if self._upstreams.news != self._heard:
            timeout_ms = 0
        # Nothing is awaited between `waking` and the poll, nor after it: a wake-up finds it waiting, and never ends a
        # later one.
        try:
            with self._upstreams.waking(self._consumer.wakeup):
                return await poll(timeout_ms=timeout_ms)
        except WakeupError:
            return []

    async def process(self, now_ms: int) -> ProcessedWork:
        """Has each task process a round of what it has queued, and its punctuations that are due.

        Returns how much it was.

        More is fetched meanwhile. Queues are full of what waits for other topics, or for slow functions, so
        they are looked at afterwards.
        """
        done = ProcessedWork()
        self.has_more = self.waits_for_upstreams = False
        self._dropped_log.tell()
        target_ms = ROUND_MS // max(
            1, sum(each.active.has_queued for each in self._running.values())
        )
        self._heard = self._upstreams.news
        for task, each in sorted(self._running.items(), key=_by_time):
            due_ms = each.active.next_punctuation_ms
            if each.active.has_queued or _is_due(due_ms, now_ms):
                is_ahead = each.others.is_far_ahead(self._now_ms)
                self.waits_for_upstreams |= is_ahead
                if is_ahead and not _is_due(due_ms, now_ms):
                    continue
                lags, (reached, for_others) = self._lags(task, each), self._reached(each)
                if each.held_up_at == (reached, for_others, lags) and not _is_due(due_ms, now_ms):
                    self.waits_for_upstreams = True
                    continue
                each.has_news = True
                began_ms = self._now_ms
                processing = each.active.process(
                    lags=lags,
                    reached=reached,
                    for_others=for_others,
                    records_max=0 if is_ahead else each.rounds.records_max,
                )
                work = await self._guarded(task, processing)
                if work is None or work.records or work.punctuations:
                    self._upstreams.tell_news()
                if work is not None:
                    is_held_up = not (work.records or is_ahead) and each.active.has_queued
                    each.held_up_at = (
                        (reached, for_others, lags) if is_held_up and self._waits_alone else None
                    )
                    origin_time = each.active.progress.origin_time
                    each.others.note(work.records, origin_time, is_held_up=is_held_up)
                    # Records of any topic may wait for them.
                    is_behind = bool(each.active.aligned.read)
                    self.waits_for_upstreams |= is_behind and each.active.has_queued
                    elapsed_ms = self._now_ms - began_ms
                    each.measures.record_work(work, elapsed_ms)
                    # Smaller rounds would wait as long for brokers, and longer for processors.
                    self.has_more |= each.rounds.end(work.records, work.records_ms, target_ms)
                    self.has_more |= _is_due(each.active.next_punctuation_ms, now_ms)
                    done = done.plus(work)
        TaskMeasures.end_turn(each.measures for each in self._running.values())
        self._pause()
        return done

    async def commit(self) -> int:
        """Commits the tasks that have done something, side by side: each waits for brokers. Returns how many it was."""
        due = [(task, each) for task, each in self._running.items() if each.has_news]
        for each in self._running.values():
            if not each.has_news:
                each.task.clear_timeout()
        # One that fails leaves `_running` and is revived while others still commit: each touches its own entry alone.
        ended = await asyncio.gather(
            *(self._commit(task, each) for task, each in due), return_exceptions=True
        )
        if due:
            self._upstreams.tell_news()
        for error in ended:
            if error is not None:
                raise error
        return len(due)

    def commit_interval_ms(self, wanted_ms: int) -> int:
        """Returns how long after a commit the next one is due: sooner than is `wanted_ms` where tasks of other
        instances would wait so long.
        """
        is_exact = any(each.task.spec.is_exact for each in self._running.values())
        # Exactly once a commit makes records visible, too, and how often that is the application has said.
        at_ends_ms = WATCHED_COMMIT_INTERVAL_MS if is_exact else WATCHED_AT_ENDS_COMMIT_INTERVAL_MS
        if wanted_ms <= at_ends_ms or not self._is_watched:
            return wanted_ms
        return min(wanted_ms, at_ends_ms if self._are_at_ends else WATCHED_COMMIT_INTERVAL_MS)

    @property
    def _is_watched(self) -> bool:
        """Whether a task of another instance may wait for one of these: it sees what they commit."""
        writes = any(
            each.active.aligned.written and each.has_news for each in self._running.values()
        )
        return writes and not self._upstreams.all_in_instance

    @property
    def _are_at_ends(self) -> bool:
        """Whether the tasks have read and processed all that there was, as far as is known; records that wait for
        upstream tasks do not count.
        """
        return not self.has_more and not any(
            lag for task, each in self._running.items() for lag in self._lags(task, each).values()
        )

    @property
    def commit_requested(self) -> bool:
        """Whether a processor has asked for a commit."""
        return any(each.active.commit_requested for each in self._running.values())

    def _assign(self) -> None:
        """Has the consumer read the inputs of the tasks that run; those that stay keep their positions."""
        self._consumer.assign(
            TopicPartition(topic, task.partition)
            for task, each in self._running.items()
            for topic in each.active.position
        )

    def _pause(self) -> None:
        """Reads no more of a partition that has much queued, until it has little."""
        for task, each in self._running.items():
            held = each.active.held
            for topic, queued in each.active.queued.items():
                # What upstream tasks hold back may wait for records behind it in the same partition. They do not run
                # far ahead.
                waiting = queued - held.get(topic, 0)
                size_bytes = each.queued_bytes[topic].of(waiting) if waiting else 0
                is_full = waiting > self._buffered_max or size_bytes > self._buffered_bytes_max
                if is_full and topic not in each.paused:
                    each.paused.add(topic)
                    self._consumer.pause([TopicPartition(topic, task.partition)])
                elif not is_full and topic in each.paused:
                    each.paused.remove(topic)
                    self._consumer.resume([TopicPartition(topic, task.partition)])

    def as_upstreams(self) -> dict[tuple[int, int], LocalTask]:
        """Returns what other threads of the process know of the tasks that write what theirs read."""
        return {
            (task.sub_topology, task.partition): LocalTask(each.active.progress, each.ends)
            for task, each in self._running.items()
        }

    def _note_ends(self, *, is_read: bool) -> None:
        """Notes how far the inputs reach, for the other threads: while this one reads,
        nobody else may ask the consumer.

        `is_read`: something has been read, which is news in itself.
        """
        for task, each in self._running.items():
            ends = {
                topic: each.active.has_read(topic) + lag
                for topic, lag in self._lags(task, each).items()
            }
            is_read |= not ends.items() <= each.ends.items()
            each.ends = {**each.ends, **ends}
        if is_read:
            self._upstreams.tell_news()

    def _reached(self, each: _Running) -> tuple[Reached, ReachedForOthers]:
        """Returns how far the tasks have come that write the repartition topics of a task."""
        reached = each.others.reached(each.active, self._now_ms)
        for overdue in each.others.take_overdue():
            _LOGGER.warning("%s %s", self._log_prefix, overdue.text)
        return reached

    def _lags(self, task: StreamsTaskId, each: _Running) -> dict[str, int]:
        """Returns, by topic, how many records lie behind those that are queued, as far as that is known."""
        lags = {
            topic: self._consumer.lag(TopicPartition(topic, task.partition))
            for topic in each.active.position
        }
        return {topic: lag for topic, lag in lags.items() if lag is not None}

    async def _commit(self, task: StreamsTaskId, each: _Running) -> None:
        each.has_news = False
        report = await self._guarded(task, each.active.commit())
        if report is not None:
            each.task.clear_timeout()
            self._dropped_log.take(each.active.id, report.dropped_records)
            metrics = {**report.metrics, **each.measures.metrics()}
            self._report(task, replace(report, metrics=metrics))

    async def _guarded(
        self, key: StreamsTaskId, work: Coroutine[object, object, _Result]
    ) -> _Result | None:
        """Returns None where the task has failed, and is revived."""
        try:
            return await work
        except Exception as error:
            if not is_retriable(error):
                raise
            # Its partitions go before anything is awaited: what the consumer still fetches of them comes too late for
            # it, and the next attempt seeks where its own commit is.
            del self._running[key]
            self._assign()
            await self._manager.revive(key, error)
            return None

    @property
    def _now_ms(self) -> int:
        return self._clock.now().monotonic_ms


def _by_time(item: tuple[StreamsTaskId, _Running]) -> tuple[int, int]:
    """Tasks that are behind come first, and of equal ones those that write what others read."""
    task, each = item
    return each.active.progress.origin_time, task.sub_topology


def _is_due(due_ms: int | None, now_ms: int) -> bool:
    return due_ms is not None and due_ms <= now_ms
