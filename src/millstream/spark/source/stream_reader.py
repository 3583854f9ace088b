"""The streaming source: planning micro-batches in the driver, reading them in workers.

Spark's offset log decides what is read: a range is written down before it is processed and read again, exactly, when
the batch is repeated. One long-lived process plans (`latestOffset`, `partitions`); pooled workers read (`read`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from millstream.errors import (
    ConfigError,
    GroupAuthorizationFailed,
    MillstreamError,
    TopicAuthorizationFailed,
)
from millstream.model import Offset, TopicPartition, Uuid
from millstream.runtime import Clock
from millstream.runtime.system import SystemClock, SystemRandom
from millstream.spark import admission
from millstream.spark import offsets as plan
from millstream.spark.offsets import Offsets
from millstream.spark.source.data_loss import DataLossPolicy, Loss, allowed, made_anew
from millstream.spark.source.end_of_stream import KEY as END_KEY
from millstream.spark.source.end_of_stream import (
    ends_in,
    has_query_ended,
    not_ended,
    reached,
    with_ends,
)
from millstream.spark.source.event_time import watermarks
from millstream.spark.source.event_time.cutting import Batches
from millstream.spark.source.event_time.planner import BatchBounds, MicroBatchPlanner, PlannedBatch
from millstream.spark.source.loss_counts import LOSSES
from millstream.spark.source.offset_commits import OffsetCommits
from millstream.spark.source.options import OffsetCommitMode, SourceOptions
from millstream.spark.source.planning import (
    current_ids,
    link_of,
    look_up,
    positions_in_new_topics,
    readable_positions,
    readable_starts,
    starting_choices,
    topic_ids,
    warn_of_compaction,
)
from millstream.spark.source.positions import EARLIEST, LATEST
from millstream.spark.source.reading import (
    RangesPartition,
    read_ranges,
    split,
    with_watermark,
)
from millstream.spark.source.record_scan import questions_of, scan_records
from millstream.spark.source.replay import Replay, TransactionalReplay
from millstream.spark.source.reporting import Reporting
from millstream.spark.source.rows.decoding import Decoding
from millstream.spark.told_errors import in_one_line, rows_in_one_line

if TYPE_CHECKING:
    import pyarrow as pa

_LOGGER = logging.getLogger(__name__)
_COMMIT_WAIT_S: Final = 5.0
"""Nothing rests on the commit, and the query waits for it, with each of its micro-batches."""


class _Readable(NamedTuple):
    """`ids`: those of the topics to which the offsets belong."""

    begin: Offsets
    available: Offsets
    ended: Offsets
    ids: Mapping[str, Uuid]


class _ScannedBatch(NamedTuple):
    """`ended`: the partitions that have ended after it.

    `times`: the largest that the records of each partition tell.
    """

    begin: Offsets
    end: Offsets
    ended: Offsets
    times: Mapping[TopicPartition, int]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Planning in the driver's process, reading in workers; pickled in between, so it opens
    connections when it needs them.
    """

    def __init__(
        self,
        options: SourceOptions,
        decoding: Decoding | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._options = options
        self._decoding = decoding
        self._clock = SystemClock() if clock is None else clock
        self._replay = _replay_of(options, self._clock)
        self._last: Offsets | None = None
        """The end of an availableNow query."""
        self._commits: OffsetCommits | None = None
        self._planned: Offsets | None = None
        """The end of the last micro-batch that this start of the query has planned."""
        self._planned_from: Offsets = {}
        self._is_told = self._options.given_start is None
        """Whether it has been said which of start option and checkpoint is in effect."""
        self._is_found = False
        """Whether the cluster has been found since this start of the query."""
        self._reporting = Reporting()
        self._planner = MicroBatchPlanner(options.event_time)

    # Planning.

    @in_one_line
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name; the values are JSON
        self._find_cluster()
        self._is_told = True
        choices = starting_choices(self._options, self._clock.now().wall_ms)
        self._reporting.note_starts(choices)
        warn_of_compaction(link_of(self._options), {partition.topic for partition in choices})
        beginning = self._replay.beginning({tp: choice.offset for tp, choice in choices.items()})
        return plan.with_topic_ids(beginning, topic_ids(self._options))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        limit = self._options.records_per_trigger_max
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    @in_one_line
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._find_cluster()
        self._last = look_up(self._options, LATEST)

    @in_one_line
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name; JSON
        self._find_cluster()
        link_of(self._options).learn_leader_epochs(plan.leader_epochs_in(start))
        begin, late = self._replay.positions_after(start)
        self._reporting.note_starts(late)
        self._tell_of_checkpoint(begin)
        self._commit(begin, start)
        ends = self._ends_in(start)
        if has_query_ended(self._options.end_of_stream, ends):
            return self._after_the_end(start, begin, ends)
        asked_ms = self._clock.now().monotonic_ms
        available = self._available(begin, ends)
        begin, available, ends, ids = self._readable(
            begin, available, ends, plan.topic_ids_in(start)
        )
        self._reporting.note_starts_at(begin, "earliest: found while the query ran")
        if self._last is None and self._is_delayed(begin, available, ends, asked_ms):
            return start
        records_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        planned = self._admitted(begin, available, ends, records_max)
        begin, end, ends, times = self._scanned(begin, planned.end, ends, ids)
        if self._options.offset_commit_mode is OffsetCommitMode.AT_MOST_ONCE:
            end = self._committed_before(begin, end, ids)
            ends = reached(ends, end)
        self._planned, self._planned_from = end, begin
        given = with_ends(start, self._options.end_of_stream, ends)
        document = self._replay.document(given, begin, end, ids)
        anew = made_anew(plan.topic_ids_in(start), ids)
        if self._options.event_time.has_watermark and (end != begin or anew):
            before = watermarks.event_time_of(start).without(anew)
            event_time = self._planner.event_time(before, planned, times)
            document[watermarks.KEY] = watermarks.to_document(event_time)
        if document != start:
            epochs = link_of(self._options).leader_epochs(end)
            document = plan.with_leader_epochs(document, plan.leader_epochs_in(start), epochs)
        return plan.followed_by(start, document)

    def _find_cluster(self) -> None:
        """Raises BrokerNotAvailable where nothing listens as the query starts.

        A cluster that refuses later restarts, and is waited for.
        """
        if not self._is_found:
            link_of(self._options).require_listener()
            self._is_found = True

    def _available(self, begin: Offsets, ended: Collection[TopicPartition]) -> Offsets:
        """The offsets up to which there is something to read, when there is something or it has been waited for."""
        if self._last is not None:
            self._last = self._last_behind(begin, self._last)
            return self._replay.available(begin, self._last, is_bounded=True)
        available = self._wait_for_records(begin, ended)
        self._reporting.set_ends(available)
        return self._replay.available(begin, available, is_bounded=False)

    def _last_behind(self, begin: Offsets, last: Offsets) -> Offsets:
        """The end of an availableNow query, with ends that are behind `begin` asked for anew: it was given before the
        checkpoint said which leaders are too old to be asked.
        """
        before = {tp for tp, end in last.items() if begin.get(tp, end) > end}
        if not before:
            return last
        now = look_up(self._options, LATEST)
        return {**last, **{tp: now[tp] for tp in before if tp in now}}

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name; JSON
        options, commits = self._options, self._commits
        return self._reporting.report(
            lambda position: look_up(options, position),
            None if commits is None else commits.report(),
            self._clock.now().monotonic_ms,
        )

    @in_one_line
    def partitions(
        self,
        start: dict[str, Any],  # JSON
        end: dict[str, Any],  # JSON
    ) -> Sequence[RangesPartition]:
        link_of(self._options).learn_leader_epochs(plan.leader_epochs_in(end))
        decided = self._replay.ranges(end)
        if decided is not None:
            return decided
        self._find_cluster()
        finish: Offsets = plan.from_json(end)
        is_repeated = self._planned != finish
        if is_repeated and self._options.offset_commit_mode is OffsetCommitMode.AT_MOST_ONCE:
            _LOGGER.warning(
                "a micro-batch that was begun before the restart is left out: at most once"
            )
            return []
        ranges = self._ranges(start, end, is_repeated=is_repeated)
        watermark = watermarks.event_time_of(start).watermark
        return [replace(each, watermark=watermark) for each in ranges]

    def _ranges(
        self,
        start: Mapping[str, Any],  # JSON
        end: Mapping[str, Any],  # JSON
        *,
        is_repeated: bool,
    ) -> Sequence[RangesPartition]:
        """The ranges of a micro-batch; of one that was begun before a restart, what is left of them."""
        finish, ids = plan.from_json(end), plan.topic_ids_in(end)
        if not is_repeated:
            return self._split(self._planned_from, finish, ids)
        begin: Offsets = plan.begin_of(start, end)
        former = plan.topic_ids_in(start)
        if former.items() - ids.items():
            current = current_ids(self._options, former)
            begin, _, _ = self._in_new_topics(begin, finish, former, current)
        begin = self._with_new_partitions(begin, finish)
        return self._split(readable_starts(self._options, begin, finish), finish, ids)

    def _split(
        self, begin: Offsets, end: Offsets, ids: Mapping[str, str]
    ) -> Sequence[RangesPartition]:
        epochs = link_of(self._options).leader_epochs(begin)
        return split(begin, end, self._options, ids, epochs)

    def stop(self) -> None:
        if self._commits is not None:
            link = link_of(self._options)
            link.run(self._commits.finish(link.admin()))
        self._replay.close()

    def _commit(self, completed: Offsets, document: Mapping[str, Any]) -> None:  # JSON
        """`completed` is the end of the last micro-batch that is in the checkpoint, as this document has it."""
        mode = self._options.offset_commit_mode
        if mode in {OffsetCommitMode.DISABLED, OffsetCommitMode.AT_MOST_ONCE}:
            return
        commits, link = self._offset_commits(), link_of(self._options)
        ids, epochs = plan.topic_ids_in(document), plan.leader_epochs_in(document)
        is_due = commits.is_due(completed, ids, epochs)
        # With availableNow nothing else lets the loop run, and the query may end after this.
        limit_s = commits.patience_s if self._last is None else _COMMIT_WAIT_S
        if not is_due and limit_s:
            link.run(commits.wait(limit_s))
            is_due = commits.is_due(completed, ids, epochs)
        if is_due:
            commits.begin(link.admin(), link.runner.get_loop())
            if limit_s:
                link.run(commits.wait(limit_s))

    def _committed_before(self, begin: Offsets, end: Offsets, ids: Mapping[str, Uuid]) -> Offsets:
        """Commits the end of a micro-batch before any of it is read. Where that fails nothing is read yet.

        Raises the error of a permission that is missing, with which nothing would ever be read.
        """
        if all(begin.get(tp) == offset for tp, offset in end.items()):
            return end
        link = link_of(self._options)
        try:
            of_topics = plan.topic_ids_in(plan.with_topic_ids(plan.to_json(end), ids))
            epochs = link.leader_epochs(end)
            link.run(self._offset_commits().commit_now(link.admin(), end, of_topics, epochs))
        except (GroupAuthorizationFailed, TopicAuthorizationFailed):
            raise
        except MillstreamError as error:
            _LOGGER.warning("nothing is read before its offsets are committed: %s", error)
            return begin
        return end

    def _offset_commits(self) -> OffsetCommits:
        if self._commits is None:
            options = self._options
            assert options.group_id is not None, "commits need a group"
            is_periodic = options.offset_commit_mode is OffsetCommitMode.PERIODIC
            interval_ms = options.offset_commit_interval_ms if is_periodic else 0
            reader = SystemRandom().randbytes(8).hex()
            self._commits = OffsetCommits(
                options.group_id, reader, interval_ms, lambda: self._clock.now().monotonic_ms
            )
        return self._commits

    def _tell_of_checkpoint(self, begin: Offsets) -> None:
        self._reporting.note_starts_at(begin, "checkpoint")
        if not self._is_told:
            self._is_told = True
            name = self._options.given_start
            _LOGGER.warning("the query goes on where its checkpoint says, %s has no effect", name)

    def _admitted(
        self,
        begin: Offsets,
        available: Offsets,
        ended: Collection[TopicPartition],
        records_max: int | None,
    ) -> PlannedBatch:
        """The end of the next micro-batch, within all limits, and the times in its batches' heads."""
        options, link = self._options, link_of(self._options)
        event_time = options.event_time
        times_at, offsets_after = link.times_at, link.offsets_after
        if event_time.is_sliced and event_time.bytes_max is None:
            end = admission.in_slices(begin, available, records_max, times_at, offsets_after)
        elif options.copartition:
            end = admission.in_time(begin, available, records_max, times_at, offsets_after)
        else:
            end = admission.in_proportion(begin, available, records_max)
        if not (event_time.has_watermark or event_time.needs_walk):
            return PlannedBatch(end)
        log_end = available if self._last is None else look_up(options, LATEST)
        backlog = BatchBounds(begin, end, available, log_end, frozenset(ended))
        planned = self._planner.planned(backlog, self._walked, self._clock.now())
        if not event_time.is_sliced:
            return planned
        end = admission.time_slice(begin, available, planned.end, times_at, offsets_after)
        return planned._replace(end=end)

    def _is_delayed(
        self,
        begin: Offsets,
        available: Offsets,
        ended: Collection[TopicPartition],
        asked_ms: int,
    ) -> bool:
        """Waits for more records where there are too few yet, up to pollTimeoutMs after `asked_ms`."""
        now_ms = self._clock.now().monotonic_ms
        delay_ms = self._planner.delay_ms(begin, available, now_ms)
        wait_ms = min(delay_ms, asked_ms + self._options.poll_timeout_ms - now_ms)
        if wait_ms > 0:
            link_of(self._options).wait_for_records(not_ended(available, ended), wait_ms)
        return delay_ms > 0

    def _walked(self, ranges: Mapping[TopicPartition, tuple[Offset, Offset]]) -> Batches:
        options = self._options
        bytes_max = options.event_time.bytes_max
        return link_of(options).batches_in(ranges, bytes_max, options.poll_timeout_ms)

    # The end of the stream.

    def _ends_in(self, start: Mapping[str, Any]) -> Offsets:  # JSON
        ends = ends_in(start, self._options.end_of_stream)
        if END_KEY in start and not ends:
            _LOGGER.warning(
                "the query has no endOfStream any more and reads on from where its stream had ended"
            )
        return ends

    def _after_the_end(
        self,
        start: dict[str, Any],  # JSON
        begin: Offsets,
        ends: Offsets,
    ) -> dict[str, Any]:  # JSON
        """Nothing is read, and nothing is asked of a topic: what is there is of no interest, nor what is gone."""
        self._planned = self._planned_from = begin
        document = with_ends(start, self._options.end_of_stream, ends)
        if document != start:  # another scope
            return plan.followed_by(start, document)
        if self._last is None:
            link_of(self._options).wait_for_records({}, self._options.poll_timeout_ms)
        return start

    def _scanned(
        self, begin: Offsets, end: Offsets, ended: Offsets, ids: Mapping[str, Uuid]
    ) -> _ScannedBatch:
        """What a micro-batch reads of `begin` to `end`, and what its records tell."""
        questions = questions_of(self._options)
        if not questions:
            return _ScannedBatch(begin, end, ended, {})
        begin, found, times = scan_records(self._options, questions, begin, end, ids)
        for partition, offset in sorted(found.items()):
            _LOGGER.info("%s ends at offset %d: endOfStream", partition, offset)
        return _ScannedBatch(begin, {**end, **found}, {**ended, **found}, times)

    def _with_new_partitions(self, begin: Offsets, end: Offsets) -> Offsets:
        """A partition that was added since the query began is read from its start."""
        if end.keys() <= begin.keys():
            return begin
        return self._replay.with_found(begin, look_up(self._options, EARLIEST))

    def _wait_for_records(self, begin: Offsets, ended: Collection[TopicPartition]) -> Offsets:
        """Long poll: returns at once when there is something to read, after pollTimeoutMs when there is not."""
        available = look_up(self._options, LATEST)
        timeout_ms = self._options.poll_timeout_ms
        watched = not_ended(available, ended)
        if timeout_ms and all(end <= begin.get(tp, Offset(0)) for tp, end in watched.items()):
            there = {tp: offset for tp, offset in begin.items() if tp in watched}
            link_of(self._options).wait_for_records(there, timeout_ms)
            available = look_up(self._options, LATEST)
        return available

    def _require_same_topics(self, begin: Offsets) -> None:
        wanted = self._options.subscription
        other_topics = sorted({tp.topic for tp in begin if not wanted.has(tp)})
        if other_topics and self._options.data_loss is DataLossPolicy.FAIL:
            raise ConfigError(
                f"the checkpoint was made by a query that read topic {', '.join(other_topics)}, this one reads "
                f"{wanted}: give this query a checkpointLocation of its own"
            )

    def _in_new_topics(
        self,
        begin: Offsets,
        available: Offsets,
        former: Mapping[str, str],
        ids: Mapping[str, Uuid],
    ) -> tuple[Offsets, Offsets, Collection[TopicPartition]]:
        """The same, but in topics that were deleted and created anew where the policy says, and where those
        end; and their partitions.
        """
        anew = positions_in_new_topics(self._options, former, ids)
        if not anew:
            return begin, available, ()
        topics = {partition.topic for partition in anew}
        kept = {tp: offset for tp, offset in begin.items() if tp.topic not in topics}
        ends = {tp: end for tp, end in look_up(self._options, LATEST).items() if tp in anew}
        others = {tp: end for tp, end in available.items() if tp.topic not in topics}
        return {**kept, **anew}, {**others, **ends}, anew

    def _readable(
        self, begin: Offsets, available: Offsets, ended: Offsets, former: Mapping[str, str]
    ) -> _Readable:
        """The next offsets to read, and the ends, of what is there: of `former` topics and of those that
        came; and what has ended.

        Nothing is there beyond the end of a stream, whatever becomes of its log.
        Raises DataLoss where something is gone, if the policy is to fail.
        """
        self._require_same_topics(begin)
        available = {**available, **ended}
        is_moved = any(available.get(tp) != offset for tp, offset in begin.items())
        ids = topic_ids(self._options)
        # The list is some seconds old. A query that begins, or that ends with what is there, asks once more.
        is_asked = is_moved or self._last is not None or self._planned is None
        if is_asked or made_anew(former, ids):
            ids |= current_ids(self._options, former)
            begin, available, anew = self._in_new_topics(begin, available, former, ids)
            ended = {tp: end for tp, end in ended.items() if tp not in anew}
            self._last = self._last and _with_ends_of(self._last, anew, available)
        policy = self._options.data_loss
        for partition in sorted(begin.keys() - available.keys()):
            offset = begin[partition]
            what = f"{partition} was read up to offset {offset} and is no longer there"
            LOSSES.add(allowed(Loss(partition, what, None, offset), policy), policy)
        at = readable_positions(self._options, not_ended(begin, ended), available)
        begin = self._with_new_partitions({**begin, **at}, available)
        # Not those of a later list: a topic that is made anew after it was looked at is told by the next comparison.
        return _Readable(begin, self._replay.ends_of(begin, available), ended, ids)

    # Reading, in a worker.

    @rows_in_one_line
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangesPartition), "partitions() makes nothing else"
        rows = read_ranges(self._options, partition.ranges, self._decoding, self._clock)
        is_timed = self._options.event_time.has_watermark
        return with_watermark(rows, partition.watermark) if is_timed else rows


def _with_ends_of(
    last: Offsets, anew: Collection[TopicPartition], available: Offsets
) -> dict[TopicPartition, Offset]:
    """The end of an availableNow query, of topics that were made anew that of what is there now."""
    topics = {partition.topic for partition in anew}
    others = {tp: end for tp, end in last.items() if tp.topic not in topics}
    return others | {tp: available[tp] for tp in anew if tp in available}


def _replay_of(options: SourceOptions, clock: Clock) -> Replay:
    if not options.is_opaque:
        return TransactionalReplay()
    # Loaded for queries that ask for it: its states are a topic.
    from millstream.spark.source.opaque.live_replay import LiveOpaqueReplay

    return LiveOpaqueReplay(options, clock)
