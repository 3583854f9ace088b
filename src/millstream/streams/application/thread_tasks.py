"""The tasks of one stream thread: active ones are started beside the others, fed, processed, committed and closed.

A task that fails where the next attempt may succeed is started anew, for as long as task.timeout.ms. What
fails for good is raised.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from millstream.clients import ArrowRecords, Consumer, WakeupError
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.net.client.tasks import TaskScope
from millstream.streams.application.group.membership import StreamsTaskId
from millstream.streams.application.interactive.store_lags import StoreOffsets
from millstream.streams.application.metrics.task_measures import TaskMeasures
from millstream.streams.application.processing_rounds import (
    ROUND_MS,
    ProcessingRounds,
    records_min,
)
from millstream.streams.application.queued_bytes import QueuedBytes
from millstream.streams.application.task_timeouts import TaskTimeouts
from millstream.streams.application.thread_standbys import (
    ThreadStandbys,
    is_asked,
    not_active,
)
from millstream.streams.config import StreamsConfig, TimeAcrossRepartitions
from millstream.streams.dropped_log import DroppedLog
from millstream.streams.queries import QueryResult, StateQueryRequest
from millstream.streams.runtime.errors import StoreNotWritten
from millstream.streams.runtime.failures import is_retriable, misses_topic
from millstream.streams.runtime.global_stores import GlobalStores
from millstream.streams.runtime.opening import is_disk_failure
from millstream.streams.runtime.report import ProcessedWork, TaskReport
from millstream.streams.runtime.spec import TaskEnvironment, TaskSpec
from millstream.streams.runtime.tasks.active_task import ActiveTask
from millstream.streams.runtime.tasks.task_start import TaskStart
from millstream.streams.runtime.upstreams.followed_tasks import FollowedTasks
from millstream.streams.runtime.upstreams.progress import Reached
from millstream.streams.runtime.upstreams.watch import LocalTask

RETRY_FIRST_S: Final = 0.1
RETRY_LAST_S: Final = 5.0
WATCHED_COMMIT_INTERVAL_MS: Final = 1_000
"""Kafka's 30 s at least once would have tasks of other instances wait so long for what is written already."""
WATCHED_AT_ENDS_COMMIT_INTERVAL_MS: Final = 50
"""Live, others wait for nothing but this commit. At 20 a second it costs less than the looks of those who
wait, `LOOK_INTERVAL_S` apart."""
_Result = TypeVar("_Result")
_LOGGER = logging.getLogger(__name__)


@dataclass(slots=True)
class _Running:
    active: ActiveTask
    spec: TaskSpec
    measures: TaskMeasures
    rounds: ProcessingRounds
    others: FollowedTasks
    paused: set[str] = field(default_factory=set)
    queued_bytes: dict[str, QueuedBytes] = field(default_factory=dict)
    has_news: bool = False
    """Something was processed since the last commit."""
    held_up_at: tuple[Reached, Mapping[str, int]] | None = None
    """How far upstream tasks had come, and how much there was to read, when none of the records
    that are queued could go on."""
    ends: dict[str, int] = field(default_factory=dict)
    """By input topic, the end as the consumer has known it last."""


class ThreadTasks:
    """The active tasks of one thread, whose loop alone uses them.

    `report` hears of each commit of a task, `standbys_changed` of copies that come further.
    """

    def __init__(
        self,
        environment: TaskEnvironment,
        consumer: Consumer[bytes, bytes],
        global_stores: GlobalStores | None,
        config: StreamsConfig,
        report: Callable[[StreamsTaskId, TaskReport], None],
        *,
        standbys_changed: Callable[[], None],
        log_prefix: str,
    ) -> None:
        self._environment = environment
        self._consumer = consumer
        self._global_stores = global_stores
        self._buffered_max = config.buffered_records_per_partition
        self._buffered_bytes_max = config.buffered_bytes_per_partition
        self._timeouts = TaskTimeouts(config.task_timeout_ms)
        self._report = report
        self._log_prefix = log_prefix
        self._dropped_log = DroppedLog(environment.clock, log_prefix)
        self._scope = TaskScope("stream thread")
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
        self.misses_topic = False
        """Whether a topic of a task is not there. Set back by whoever has seen it."""
        self.created = self.closed = 0
        """The numbers of tasks that were started and closed since the thread was."""
        self._running: dict[StreamsTaskId, _Running] = {}
        self._starting: dict[StreamsTaskId, tuple[TaskSpec, asyncio.Task[ActiveTask]]] = {}
        self._restoring: dict[StreamsTaskId, TaskStart] = {}
        self.standbys: Final = ThreadStandbys(
            environment, lambda: not self.is_settled, standbys_changed, log_prefix=log_prefix
        )

    @property
    def is_settled(self) -> bool:
        """Whether all tasks are restored."""
        return not self._starting

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

    async def give_up(self, tasks: frozenset[StreamsTaskId], *, commit: bool) -> None:
        """Commits and closes tasks side by side, those that are being started, too.

        Raises what users' functions raise once all are closed.
        """
        for task in tasks:
            self._timeouts.clear_task_timeout(task)
        given_up = [self._running.pop(task) for task in sorted(tasks.intersection(self._running))]
        cancelled = [self._starting.pop(task)[1] for task in tasks.intersection(self._starting)]
        self._upstreams.tell_news()
        self._assign()
        ended = await asyncio.gather(
            *(_cancel(starting) for starting in cancelled),
            *(self._give_up(each, commit=commit) for each in given_up),
            return_exceptions=True,
        )
        for task in tasks:
            self._restoring.pop(task, None)
        for error in ended:
            if error is not None:
                raise error

    async def _give_up(self, each: _Running, *, commit: bool) -> None:
        """Commits and closes a task. Closes it also where the caller is cancelled."""
        try:
            if commit and each.has_news:
                report = await each.active.commit()
                self._dropped_log.take(each.active.id, report.dropped_records)
        except MillstreamError as error:
            _LOGGER.warning(
                "%s task [%s] was given up uncommitted: %s",
                self._log_prefix,
                each.active.id,
                error,
            )
        finally:
            self.closed += 1
            await _close_anyway(each.active)

    def take(self, specs: Mapping[StreamsTaskId, TaskSpec]) -> None:
        """Begins to start tasks."""
        for task, spec in specs.items():
            self._begin(task, spec, 0.0)

    def settle(self) -> None:
        """Takes up the tasks whose start has ended. Raises what prevents one."""
        for task, (spec, starting) in list(self._starting.items()):
            if starting.done():
                del self._starting[task]
                self._restoring.pop(task, None)
                active, level = starting.result(), spec.config.metrics_recording_level
                measures = TaskMeasures(active.id, level, lambda: self._now_ms)
                rounds = ProcessingRounds(records_min(spec.topology, spec.sub_topology))
                read = active.aligned.read & active.position.keys()
                others = FollowedTasks(str(task), task.partition, spec, read, self._upstreams)
                self._running[task] = _Running(active, spec, measures, rounds, others)
                self.created += 1
                self._upstreams.tell_news()
                self._assign()
                for topic, offset in self._running[task].active.position.items():
                    self._consumer.seek(TopicPartition(topic, task.partition), offset)

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
            each.has_news = True
            each.held_up_at = None
            read += batch.records.num_rows
        self.misses_topic |= bool(self._consumer.missing_topics())
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
                lags, reached = self._lags(task, each), self._reached(each)
                if each.held_up_at == (reached, lags) and not _is_due(due_ms, now_ms):
                    self.waits_for_upstreams = True
                    continue
                each.has_news = True
                began_ms = self._now_ms
                processing = each.active.process(
                    lags=lags,
                    reached=reached,
                    records_max=0 if is_ahead else each.rounds.records_max,
                )
                work = await self._guarded(task, processing)
                if work is None or work.records or work.punctuations:
                    self._upstreams.tell_news()
                if work is not None:
                    is_held_up = not (work.records or is_ahead) and each.active.has_queued
                    each.held_up_at = (reached, lags) if is_held_up and self._waits_alone else None
                    origin_time = each.active.progress.origin_time
                    each.others.note(work.records, origin_time, is_held_up=is_held_up)
                    self.waits_for_upstreams |= any(each.active.held.values())
                    elapsed_ms = self._now_ms - began_ms
                    each.measures.record_work(work, elapsed_ms)
                    # Brokers answer after as long whatever a round has: small ones would not be faster.
                    records_ms = elapsed_ms - work.punctuation_ms - work.writing_ms
                    self.has_more |= each.rounds.end(work.records, records_ms, target_ms)
                    self.has_more |= _is_due(each.active.next_punctuation_ms, now_ms)
                    done = done.plus(work)
        TaskMeasures.end_turn(each.measures for each in self._running.values())
        self._pause()
        return done

    async def commit(self) -> int:
        """Commits the tasks that have done something, side by side: each waits for brokers. Returns how many it was."""
        due = [(task, each) for task, each in self._running.items() if each.has_news]
        for task, each in self._running.items():
            if not each.has_news:
                self._timeouts.clear_task_timeout(task)
        ended = await asyncio.gather(
            *(self._commit(task, each) for task, each in due), return_exceptions=True
        )
        if due:
            self._upstreams.tell_news()
        for error in ended:
            if error is not None:
                raise error
        return len(due)

    async def query(self, request: StateQueryRequest) -> dict[int, QueryResult]:
        """Returns, by partition, what the stores of this name answer: those of active tasks, of tasks that
        are being restored, and of copies.
        """
        found = await self.standbys.query(request)
        for task, (spec, _) in list(self._starting.items()):
            if is_asked(request, task, spec):
                answer = await self._query_restoring(request, task)
                if answer is not None:
                    found[task.partition] = answer
        for task, each in list(self._running.items()):
            if is_asked(request, task, each.spec) and task in self._running:
                found[task.partition] = await each.active.query(request)
        return found

    async def _query_restoring(
        self, request: StateQueryRequest, task: StreamsTaskId
    ) -> QueryResult | None:
        if request.require_active:
            return not_active(f"task {task} is being restored")
        start = self._restoring.get(task)
        return None if start is None else await start.query(request)

    async def store_offsets(self) -> StoreOffsets:
        """Returns how far the stores of all tasks are with their changelogs."""
        found: dict[StreamsTaskId, Mapping[str, int] | None] = dict.fromkeys(self._running)
        for task in list(self._starting):
            start = self._restoring.get(task)
            found[task] = {} if start is None else await start.restored_to()
        found.update(self.standbys.restored_to)
        return found

    async def close(self, *, commit: bool) -> None:
        """Gives up all tasks, standby tasks included."""
        try:
            await self.standbys.close()
        finally:
            await self.give_up(frozenset({*self._running, *self._starting}), commit=commit)
            self._dropped_log.close()

    def commit_interval_ms(self, wanted_ms: int) -> int:
        """Returns how long after a commit the next one is due: sooner than is `wanted_ms` where tasks of other
        instances would wait so long.
        """
        is_exact = any(each.spec.is_exact for each in self._running.values())
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
                # What upstream tasks hold back may wait for records behind it in the same partition. They do not run far ahead.
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

    def _reached(self, each: _Running) -> Reached:
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
            self._timeouts.clear_task_timeout(task)
            self._dropped_log.take(each.active.id, report.dropped_records)
            metrics = {**report.metrics, **each.measures.metrics()}
            self._report(task, replace(report, metrics=metrics))

    async def _guarded(
        self, task: StreamsTaskId, work: Coroutine[object, object, _Result]
    ) -> _Result | None:
        """Returns None where the task has failed, and is started anew."""
        try:
            return await work
        except Exception as error:
            if not is_retriable(error):
                raise
            self.misses_topic |= misses_topic(error)
            failed = self._running.pop(task)
            self._assign()
            self.closed += 1
            await _close_anyway(failed.active)
            self._timeouts.maybe_init_task_timeout_or_raise(task, error, self._now_ms)
            _LOGGER.log(
                _level(error), "%s task [%s] is started anew: %s", self._log_prefix, task, error
            )
            self._begin(task, failed.spec, RETRY_FIRST_S)
            return None

    @property
    def _now_ms(self) -> int:
        return self._environment.clock.now().monotonic_ms

    def _begin(self, task: StreamsTaskId, spec: TaskSpec, delay_s: float) -> None:
        starting = self._scope.start(self._start(task, spec, delay_s), f"task {task}", awaited=True)
        self._starting[task] = spec, starting

    async def _start(self, task: StreamsTaskId, spec: TaskSpec, delay_s: float) -> ActiveTask:
        """Starts a task, again and again where the next attempt may succeed."""
        while True:
            await asyncio.sleep(delay_s)
            try:
                return await ActiveTask.start(
                    spec,
                    task.partition,
                    self._environment,
                    self._global_stores,
                    partial(self._restoring.__setitem__, task),
                )
            except Exception as error:
                self._restoring.pop(task, None)
                if not is_retriable(error):
                    raise
                self.misses_topic |= misses_topic(error)
                self._timeouts.maybe_init_task_timeout_or_raise(task, error, self._now_ms)
                delay_s = min(max(2 * delay_s, RETRY_FIRST_S), RETRY_LAST_S)
                _LOGGER.log(
                    _level(error),
                    "%s task [%s] is started in %.1f s: %s",
                    self._log_prefix,
                    task,
                    delay_s,
                    error,
                )


def _by_time(item: tuple[StreamsTaskId, _Running]) -> tuple[int, int]:
    """Tasks that are behind come first, and of equal ones those that write what others read."""
    task, each = item
    return each.active.progress.origin_time, task.sub_topology


def _is_due(due_ms: int | None, now_ms: int) -> bool:
    return due_ms is not None and due_ms <= now_ms


async def _close_anyway(active: ActiveTask) -> None:
    try:
        await active.close()
    except Exception as error:  # whatever users' processors raise
        is_known = is_disk_failure(error)
        _LOGGER.log(
            logging.WARNING if is_known else logging.ERROR,
            "task %s was not closed in order: %s",
            active.id,
            error,
            exc_info=not is_known,
        )


def _level(error: Exception) -> int:
    """Returns the level at which a failure is logged: a disk needs a person, clusters and fences do not."""
    return logging.WARNING if isinstance(error, StoreNotWritten) else logging.INFO


async def _cancel(starting: asyncio.Task[ActiveTask]) -> None:
    """Ends the start of a task; one that has just started is closed."""
    starting.cancel()
    ended = await asyncio.gather(starting, return_exceptions=True)
    if isinstance(ended[0], ActiveTask):
        await _close_anyway(ended[0])
