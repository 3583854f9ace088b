"""Plans one micro-batch after another: whether it is time for one, where it ends, and the watermark after it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from millstream.clients.consumer.core.fetched import BatchSummary
from millstream.model import Offset, TopicPartition
from millstream.runtime.interfaces import Instant
from millstream.spark.offsets import Offsets
from millstream.spark.source.event_time.cutting import (
    aligned,
    ends_of,
    times_of,
    whole_batches,
    within_bytes,
)
from millstream.spark.source.event_time.options import EventTimeOptions
from millstream.spark.source.event_time.watermarks import EventTime, Idleness, advanced_time

_LOGGER: Final = logging.getLogger(__name__)

Walk = Callable[
    [Mapping[TopicPartition, tuple[Offset, Offset]]],
    Mapping[TopicPartition, Sequence[BatchSummary]],
]
"""For offsets from the first to before the second of each partition its batches; left out where
they are no longer in the log."""


class BatchBounds(NamedTuple):
    """The offsets within which a micro-batch ends. `wanted`: the ends that a limit of records leaves.

    `log_end`: beyond `available` in a query with an end.

    `ended` partitions are read no further, and are idle at once.
    """

    start: Offsets
    wanted: Offsets
    available: Offsets
    log_end: Offsets
    ended: frozenset[TopicPartition] = frozenset()


class PlannedBatch(NamedTuple):
    """`times`: the largest of each partition, as the heads of its batches have it.

    An `idle` partition does not hold the watermark back.
    """

    end: Offsets
    times: Mapping[TopicPartition, int] = {}
    partitions: frozenset[TopicPartition] = frozenset()
    idle: frozenset[TopicPartition] = frozenset()


class MicroBatchPlanner:
    """For one start of a query. The times are the caller's, so that what is planned depends on nothing else."""

    def __init__(self, options: EventTimeOptions) -> None:
        self._options = options
        self._begun_ms: int | None = None
        timeout_ms = options.idle_timeout_ms
        self._idleness = None if timeout_ms is None else Idleness(timeout_ms)

    def delay_ms(self, start: Offsets, available: Offsets, now_ms: int) -> int:
        """Returns how long to wait for `minOffsetsPerTrigger` yet; 0 begins a micro-batch, as the
        first one of a start does.
        """
        least = self._options.offsets_min
        if least is None:
            return 0
        there = sum(max(0, end - start.get(tp, 0)) for tp, end in available.items())
        if there < least and self._begun_ms is not None:
            left_ms = self._begun_ms + self._options.delay_max_ms - now_ms
            if left_ms > 0:
                return left_ms
        if there:
            self._begun_ms = now_ms
        return 0

    def planned(self, backlog: BatchBounds, walk: Walk, now: Instant) -> PlannedBatch:
        """Returns ends that lie behind whole batches where heads are looked at, so that the times
        are those of what is read.
        """
        options, (start, wanted, available, log_end, ended) = self._options, backlog
        open_ends = {tp: end for tp, end in log_end.items() if tp not in ended}
        idle = self._idle(start, open_ends, now.monotonic_ms) | ended
        partitions = frozenset(available)
        if not options.needs_walk:
            return PlannedBatch(wanted, {}, partitions, idle)
        ranges = {tp: (start[tp], end) for tp, end in wanted.items() if end > start[tp]}
        walked = walk(ranges)
        batches = whole_batches(walked, wanted)
        if options.bytes_max is not None:
            batches = within_bytes(batches, options.bytes_max)
        if options.drift_max_ms is not None:
            batches = aligned(batches, available, options.drift_max_ms, now.wall_ms)
        end = ends_of(start, batches)
        end |= {tp: wanted[tp] for tp in ranges if tp not in walked}
        return PlannedBatch(end, times_of(batches), partitions, idle)

    def event_time(
        self, before: EventTime, planned: PlannedBatch, told: Mapping[TopicPartition, int]
    ) -> EventTime:
        """The state after a micro-batch.

        `told`: the times that its records tell, which count where records are read for them.
        """
        times = told if self._options.reads_records else planned.times
        disorder_max_ms = self._options.disorder_max_ms
        return advanced_time(before, times, planned.partitions, planned.idle, disorder_max_ms)

    def _idle(self, start: Offsets, log_end: Offsets, now_ms: int) -> frozenset[TopicPartition]:
        if self._idleness is None:
            return frozenset()
        idle = self._idleness.idle(start, log_end, now_ms)
        for tp in sorted(self._idleness.newly(idle)):
            _LOGGER.info(
                "%s has had nothing to read for idleTimeout and no longer holds the watermark back",
                tp,
            )
        return idle
