"""Offsets by time: ListOffsets with a timestamp or with MAX_TIMESTAMP. Exact to the record, so one batch is unpacked.

Finding the batch costs a look into an index; unpacking it may take long, and is left to the
caller, who knows where to wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from millstream.log.header_scan import read_batch, scan_headers
from millstream.log.log_state import LogState
from millstream.log.segments.segment import BatchStart, Segment
from millstream.records.compression import Codec
from millstream.records.record import records_section
from millstream.records.record_rows import RecordRows
from millstream.runtime import File
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.records import record_check
else:
    record_check = load_leaf("millstream.records.record_check")

_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)
_SMALL_BATCH_BYTES: Final = 4096
"""Looked through on the loop; what is larger or packed is unpacked in a thread."""


class TimestampedOffset(NamedTuple):
    offset: int
    timestamp_ms: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class BatchSearch:
    """A batch that may hold the record looked for. `run` touches nothing but its file, so it may run in any thread."""

    file: File
    start: BatchStart
    timestamp_ms: int
    log_start_offset: int

    @property
    def is_small(self) -> bool:
        """Whether a search takes less time than handing it to a thread.

        The size of an unpacked batch is not known before.
        """
        header = self.start.header
        return header.size_bytes <= _SMALL_BATCH_BYTES and header.codec is Codec.NONE

    def run(self) -> TimestampedOffset | None:
        """Unpacks the batch. Raises OSError, and KafkaError for a batch that is damaged."""
        header = self.start.header
        section = records_section(header, read_batch(self.file, self.start.position, header))
        base = header.max_timestamp if header.is_log_append_time else header.base_timestamp
        earliest_delta = _INT64_MIN if header.is_log_append_time else self.timestamp_ms - base
        found = record_check.first_from(
            section,
            header.record_count,
            max(0, self.log_start_offset - header.base_offset),
            min(max(earliest_delta, _INT64_MIN), _INT64_MAX),
        )
        if found is None:
            return None
        offset_delta, timestamp_delta = found
        timestamp_ms = base if header.is_log_append_time else base + timestamp_delta
        epoch = header.partition_leader_epoch
        return TimestampedOffset(header.base_offset + offset_delta, timestamp_ms, epoch)


@dataclass(frozen=True, slots=True)
class RemainingSearch:
    """Looks through all batches for the largest timestamp that a record has which is still there.

    For a log of which a segment or a batch knows a larger one, of a record that was deleted or compacted away. `run`
    touches nothing but the files, `parts`: each with the end of its batches, and the largest timestamp that any had.
    """

    parts: list[tuple[File, int, int]]
    log_start_offset: int
    is_small = False

    def run(self) -> TimestampedOffset | None:
        """Reads headers, and unpacks two batches at most of each segment. Raises OSError, and KafkaError for damage."""
        best: TimestampedOffset | None = None
        for file, end, largest_ms in sorted(self.parts, key=lambda part: part[2], reverse=True):
            if best is not None and best.timestamp_ms > largest_ms:
                break
            for start in self._candidates(file, end):
                found = _latest_of(file, start, self.log_start_offset)
                best = max(filter(None, (best, found)), key=_age, default=None)
        return best

    def _candidates(self, file: File, end: int) -> Iterator[BatchStart]:
        """Yields the batch that begins before the log start, and of the others that with the largest timestamp."""
        latest: BatchStart | None = None
        for position, header in scan_headers(file, 0, end):
            if not header.record_count or header.last_offset < self.log_start_offset:
                continue
            start = BatchStart(position, header)
            if header.base_offset < self.log_start_offset:
                yield start
            elif latest is None or header.max_timestamp > latest.header.max_timestamp:
                latest = start
        if latest is not None:
            yield latest


TimeSearch = BatchSearch | RemainingSearch


def _latest_of(file: File, start: BatchStart, log_start_offset: int) -> TimestampedOffset | None:
    """Returns the first of the records with the largest timestamp in a batch."""
    position, header = start
    rows = RecordRows(header, read_batch(file, position, header))
    found = [
        TimestampedOffset(
            offset,
            header.max_timestamp if header.is_log_append_time else timestamp_ms,
            header.partition_leader_epoch,
        )
        for offset, timestamp_ms in zip(rows.offsets, rows.timestamps, strict=True)
        if offset >= log_start_offset
    ]
    return max((each for each in found if each.timestamp_ms >= 0), key=_age, default=None)


def _age(found: TimestampedOffset) -> tuple[int, int]:
    return found.timestamp_ms, -found.offset


def timestamp_searches(state: LogState, timestamp_ms: int) -> Iterator[BatchSearch]:
    """Yields the batches that may hold the first record whose timestamp is `timestamp_ms` or later:
    mostly one batch.
    """
    log_start_offset = state.log_start_offset
    for segment in state.segments.from_offset(log_start_offset):
        if segment.largest_timestamp_ms < timestamp_ms:
            continue
        for start in _batches_from_time(segment, timestamp_ms):
            header = start.header
            if header.max_timestamp >= timestamp_ms and header.last_offset >= log_start_offset:
                yield BatchSearch(segment.file, start, timestamp_ms, log_start_offset)


def max_timestamp_searches(state: LogState) -> Iterator[TimeSearch]:
    """Yields the searches for the record with the largest timestamp, the first one of several (KIP-734).

    Kafka looks at the batch alone that has, or had, the largest one: it tells offsets before the log start, and none
    where compaction has left the header of that batch.
    """
    log_start_offset = state.log_start_offset
    segments = state.segments.from_offset(log_start_offset)
    candidates = [segment for segment in segments if segment.largest_timestamp_ms >= 0]
    latest = max((segment.max_timestamp_ms for segment in candidates), default=None)
    if latest is not None:
        yield from timestamp_searches(state, latest)
        parts = [(each.file, each.size_bytes, each.max_timestamp_ms) for each in candidates]
        yield RemainingSearch(parts, log_start_offset)


def _batches_from_time(segment: Segment, timestamp_ms: int) -> Iterator[BatchStart]:
    """From the first batch that may be late enough: no batch up to the index entry before `timestamp_ms` is."""
    floor = segment.time_floor(timestamp_ms)
    position = segment.position_of(segment.base_offset + floor.relative_offset)
    return segment.headers(position or 0)
