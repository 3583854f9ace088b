"""Decides which part of a log is compacted, and when it is worth it; reads nothing but what
segments know of themselves.

    clean          dirty, cleanable                  not cleanable
    |--------------|---------------------------------|------------------------------|
    start          first dirty offset                end offset                     end of the log

Not cleanable: the active segment, what is not on the disk yet, what belongs to open transactions or
is not committed, and what is younger than min.compaction.lag.ms. A cleaning rewrites the clean part
too, against the keys of the dirty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from millstream.log.compaction.batch_filter import LastRecord
from millstream.log.log_state import LogState
from millstream.log.producers.producer_state import ProducerStates
from millstream.log.segments.segment import Segment
from millstream.log.segments.segments import Segments
from millstream.log.segments.transaction_index import TransactionIndex
from millstream.metadata.topic_config import LogConfig

_RELATIVE_OFFSET_MAX: Final = 2**31 - 1


class CompactionBounds(NamedTuple):
    """The bounds of a cleaning.

    `checkpoint`: where the last one ended, None for never. Nothing at or after `upper_bound` is cleaned.
    """

    log_start_offset: int
    log_end_offset: int
    checkpoint: int | None
    upper_bound: int
    cut_count: int

    @classmethod
    def of(cls, state: LogState, upper_bound: int) -> Self:
        return cls(
            state.log_start_offset,
            state.log_end_offset,
            state.cleaner_checkpoint,
            upper_bound,
            state.cut_count,
        )


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """A cleaning to be done. `segments` are all sealed segments before `end_offset`, the clean ones included."""

    segments: tuple[Segment, ...]
    first_dirty_offset: int
    end_offset: int
    dirty_ratio: float
    is_overdue: bool
    """max.compaction.lag.ms has passed for a record that is not cleaned."""
    last_records: dict[int, LastRecord]
    transaction_indexes: tuple[TransactionIndex, ...]
    """Of the whole log: what is cleaned may hold records of a transaction that was aborted in a later segment."""
    config: LogConfig
    cut_count: int
    """How often the log had been cut."""

    @property
    def is_due(self) -> bool:
        return self.is_overdue or self.dirty_ratio > self.config.min_cleanable_dirty_ratio

    def group_until(self, end_offset: int) -> Iterator[tuple[Segment, ...]]:
        """Neighbours that fit into one segment together, as far as they begin before `end_offset`."""
        group: list[Segment] = []
        for number, segment in enumerate(self.segments):
            if segment.base_offset >= end_offset:
                break
            if group and not self._fits(group, segment, self._end_of(number)):
                yield tuple(group)
                group = []
            group.append(segment)
        if group:
            yield tuple(group)

    def _fits(self, group: Sequence[Segment], added: Segment, end_offset: int) -> bool:
        size = added.size_bytes + sum(segment.size_bytes for segment in group)
        index_size = added.index_bytes + sum(segment.index_bytes for segment in group)
        return (
            size <= self.config.segment_bytes
            and index_size <= self.config.segment_index_bytes
            and end_offset - 1 - group[0].base_offset <= _RELATIVE_OFFSET_MAX
        )

    def _end_of(self, number: int) -> int:
        following = number + 1
        if following < len(self.segments):
            return self.segments[following].base_offset
        return self.end_offset


def plan_compaction(
    segments: Segments,
    config: LogConfig,
    producers: ProducerStates,
    bounds: CompactionBounds,
    now_ms: int,
) -> CompactionPlan | None:
    """Returns the next cleaning; None when there is nothing to clean, due or not."""
    first_dirty = bounds.checkpoint
    if first_dirty is None or not bounds.log_start_offset <= first_dirty <= bounds.log_end_offset:
        first_dirty = bounds.log_start_offset
    sealed = [segment for segment in segments if segment is not segments.active]
    dirty = [s for s in sealed if segments.end_offset(s, bounds.log_end_offset) > first_dirty]
    cleanable = _cleanable(dirty, segments, config, bounds, now_ms)
    if not cleanable:
        return None
    end_offset = segments.end_offset(cleanable[-1], bounds.log_end_offset)
    clean_bytes = sum(s.size_bytes for s in sealed if s.base_offset < first_dirty)
    cleanable_bytes = sum(s.size_bytes for s in cleanable)
    return CompactionPlan(
        tuple(s for s in sealed if s.base_offset < end_offset),
        first_dirty,
        end_offset,
        cleanable_bytes / max(1, clean_bytes + cleanable_bytes),
        _is_overdue(cleanable, config, now_ms),
        {
            entry.producer_id: LastRecord(
                entry.batches[-1].last_offset if entry.batches else -1, entry.producer_epoch
            )
            for entry in producers.entries()
        },
        tuple(segment.transaction_index for segment in segments),
        config,
        bounds.cut_count,
    )


def _cleanable(
    dirty: Sequence[Segment],
    segments: Segments,
    config: LogConfig,
    bounds: CompactionBounds,
    now_ms: int,
) -> list[Segment]:
    cleanable: list[Segment] = []
    for segment in dirty:
        lag_ms = config.min_compaction_lag_ms
        is_young = lag_ms > 0 and segment.largest_timestamp_ms > now_ms - lag_ms
        if is_young or segments.end_offset(segment, bounds.log_end_offset) > bounds.upper_bound:
            break
        cleanable.append(segment)
    return cleanable


def _is_overdue(cleanable: Sequence[Segment], config: LogConfig, now_ms: int) -> bool:
    latest_ms = now_ms - config.max_compaction_lag_ms
    if latest_ms <= 0:
        return False
    firsts = (segment.load_first_timestamp() for segment in cleanable)
    return any(first_ms is not None and 0 < first_ms < latest_ms for first_ms in firsts)
