"""The streaming source: planning micro-batches in the driver, reading them in workers.

Spark's offset log decides what is read: a range is written down before it is processed and read again, exactly, when the
batch is repeated. One long-lived process plans (`latestOffset`, `partitions`); pooled workers read (`read`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from millstream.errors import ConfigError, MillstreamError
from millstream.model import Offset, TopicPartition
from millstream.runtime.system import SystemClock, SystemRandom
from millstream.spark import admission
from millstream.spark import offsets as plan
from millstream.spark.offsets import Offsets
from millstream.spark.source.event_time import watermarks
from millstream.spark.source.event_time.cutting import Batches
from millstream.spark.source.event_time.planner import Backlog, MicroBatchPlanner
from millstream.spark.source.offset_commits import OffsetCommits
from millstream.spark.source.options import OffsetCommitMode, SourceOptions
from millstream.spark.source.planning import link_of, look_up, starting_choices
from millstream.spark.source.positions import EARLIEST, LATEST
from millstream.spark.source.reading import (
    RangesPartition,
    read_ranges,
    split,
    with_watermark,
)
from millstream.spark.source.reporting import Reporting
from millstream.spark.source.rows.decoding import Decoding
from millstream.streams.runtime.errors import DataLoss

if TYPE_CHECKING:
    import pyarrow as pa

_LOGGER = logging.getLogger(__name__)
_CLOCK: Final = SystemClock()
_COMMIT_WAIT_S: Final = 5.0


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Planning in the driver's process, reading in workers; pickled in between, so it opens connections when it needs them."""

    def __init__(self, options: SourceOptions, decoding: Decoding | None = None) -> None:
        self._options = options
        self._decoding = decoding
        self._last: Offsets | None = None
        """The end of an availableNow query."""
        self._commits: OffsetCommits | None = None
        self._planned: Offsets | None = None
        """The end of the last micro-batch that this start of the query has planned."""
        self._reporting = Reporting()
        self._planner = MicroBatchPlanner(options.event_time)

    # Planning.

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name; the values are JSON
        choices = starting_choices(self._options, _CLOCK.now().wall_ms)
        self._reporting.started(choices)
        return plan.to_json({tp: choice.offset for tp, choice in choices.items()})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        limit = self._options.records_per_trigger_max
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._last = look_up(self._options, LATEST)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name; JSON
        begin: Offsets = plan.from_json(start)
        self._reporting.started_at(begin, "checkpoint")
        self._commit(begin)
        asked_ms = _CLOCK.now().monotonic_ms
        available = self._wait_for_records(begin) if self._last is None else self._last
        if self._last is None:
            self._reporting.ends_are(available)
        self._require_no_loss(begin, available)
        begin = self._with_new_partitions(begin, available)
        self._reporting.started_at(begin, "earliest: found while the query ran")
        if self._last is None and self._is_delayed(begin, available, asked_ms):
            return start
        records_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        end = self._admitted(begin, available, records_max)
        event_time = watermarks.event_time_of(start)
        if self._options.event_time.needs_walk:
            log_end = available if self._last is None else look_up(self._options, LATEST)
            backlog = Backlog(begin, end, available, log_end)
            end, event_time = self._planner.planned(event_time, backlog, self._walked, _CLOCK.now())
        if self._options.offset_commit_mode is OffsetCommitMode.AT_MOST_ONCE:
            end = self._committed_before(begin, end)
        self._planned = end
        if end == plan.from_json(start):
            return start  # another document would be a micro-batch of nothing
        document = start | plan.to_json(end)
        if self._options.event_time.has_watermark and end != begin:
            document[watermarks.KEY] = watermarks.to_document(event_time)
        return document

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name; JSON
        options, commits = self._options, self._commits
        return self._reporting.report(
            lambda position: look_up(options, position),
            None if commits is None else commits.report(),
            _CLOCK.now().monotonic_ms,
        )

    def partitions(
        self,
        start: dict[str, Any],  # JSON
        end: dict[str, Any],  # JSON
    ) -> Sequence[RangesPartition]:
        finish: Offsets = plan.from_json(end)
        is_repeated = self._planned != finish
        if is_repeated and self._options.offset_commit_mode is OffsetCommitMode.AT_MOST_ONCE:
            _LOGGER.warning(
                "a micro-batch that was begun before the restart is left out: at most once"
            )
            return []
        begin = self._with_new_partitions(plan.from_json(start), finish)
        watermark = watermarks.event_time_of(start).watermark
        ranges = split(begin, finish, self._options)
        return [replace(each, watermark=watermark) for each in ranges]

    def stop(self) -> None:
        if self._commits is not None:
            link = link_of(self._options)
            link.run(self._commits.finish(link.admin()))

    def _commit(self, completed: Offsets) -> None:
        """`completed` is the end of the last micro-batch that is in the checkpoint."""
        mode = self._options.offset_commit_mode
        if mode in {OffsetCommitMode.DISABLED, OffsetCommitMode.AT_MOST_ONCE}:
            return
        commits, link = self._offset_commits(), link_of(self._options)
        is_due = commits.is_due(completed)
        # With availableNow nothing else lets the loop run, and the query may end after this.
        limit_s = commits.patience_s if self._last is None else _COMMIT_WAIT_S
        if not is_due and limit_s:
            link.run(commits.wait(limit_s))
            is_due = commits.is_due(completed)
        if is_due:
            commits.begin(link.admin(), link.runner.get_loop())
            if limit_s:
                link.run(commits.wait(limit_s))

    def _committed_before(self, begin: Offsets, end: Offsets) -> Offsets:
        """Commits the end of a micro-batch before any of it is read. Where that fails nothing is read yet."""
        if all(begin.get(tp) == offset for tp, offset in end.items()):
            return end
        link = link_of(self._options)
        try:
            link.run(self._offset_commits().commit_now(link.admin(), end))
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
                options.group_id, reader, interval_ms, lambda: _CLOCK.now().monotonic_ms
            )
        return self._commits

    def _admitted(self, begin: Offsets, available: Offsets, records_max: int | None) -> Offsets:
        if not self._options.copartition:
            return admission.in_proportion(begin, available, records_max)
        link = link_of(self._options)
        return admission.in_time(begin, available, records_max, link.times_at, link.offsets_after)

    def _is_delayed(self, begin: Offsets, available: Offsets, asked_ms: int) -> bool:
        """Waits for more records where there are too few yet, up to pollTimeoutMs after `asked_ms`."""
        now_ms = _CLOCK.now().monotonic_ms
        delay_ms = self._planner.delay_ms(begin, available, now_ms)
        wait_ms = min(delay_ms, asked_ms + self._options.poll_timeout_ms - now_ms)
        if wait_ms > 0:
            link_of(self._options).wait_for_records(available, wait_ms)
        return delay_ms > 0

    def _walked(self, ranges: Mapping[TopicPartition, tuple[Offset, Offset]]) -> Batches:
        options = self._options
        bytes_max = options.event_time.bytes_max
        return link_of(options).batches_in(ranges, bytes_max, options.poll_timeout_ms)

    def _with_new_partitions(self, begin: Offsets, end: Offsets) -> Offsets:
        """A partition that was added since the query began is read from its start."""
        if end.keys() <= begin.keys():
            return begin
        return {**look_up(self._options, EARLIEST), **begin}

    def _wait_for_records(self, begin: Offsets) -> Offsets:
        """Long poll: returns at once when there is something to read, after pollTimeoutMs when there is not."""
        available = look_up(self._options, LATEST)
        timeout_ms = self._options.poll_timeout_ms
        if timeout_ms and all(end <= begin.get(tp, Offset(0)) for tp, end in available.items()):
            link_of(self._options).wait_for_records(begin, timeout_ms)
            available = look_up(self._options, LATEST)
        return available

    def _require_no_loss(self, begin: Offsets, available: Offsets) -> None:
        """An end behind what was read already: the log was cut, or the topic deleted and made anew."""
        gone = [tp for tp, offset in begin.items() if available.get(tp, Offset(-1)) < offset]
        wanted = self._options.subscription
        other_topics = sorted({tp.topic for tp in gone if not wanted.has(tp)})
        if other_topics and self._options.fail_on_data_loss:
            raise ConfigError(
                f"the checkpoint was made by a query that read topic {', '.join(other_topics)}, this one reads "
                f"{wanted}: start with a new checkpoint. If a topology was changed, its sub-topologies "
                "have other numbers now: give it another application id, or delete the application's directory and its "
                "-changelog and -repartition topics"
            )
        if gone and self._options.fail_on_data_loss:
            topic, partition = min(gone)
            end = available.get(min(gone))
            found = "is no longer there" if end is None else f"now ends at {end}"
            raise DataLoss(
                f"{topic}-{partition} was read up to offset {begin[min(gone)]} and {found}: it was deleted or cut. "
                "Set failOnDataLoss=false to go on, or start with a new checkpoint"
            )

    # Reading, in a worker.

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangesPartition), "partitions() makes nothing else"
        rows = read_ranges(self._options, partition.ranges, self._decoding)
        is_timed = self._options.event_time.has_watermark
        return with_watermark(rows, partition.watermark) if is_timed else rows
