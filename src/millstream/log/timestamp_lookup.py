"""Offsets by time: ListOffsets with a timestamp or with MAX_TIMESTAMP. Exact to the record, so one batch is unpacked.

Finding the batch costs a look into an index; unpacking it may take long, and is left to the
caller, who knows where to wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from millstream.log.header_scan import read_batch
from millstream.log.log_state import LogState
from millstream.log.segments.segment import BatchStart, Segment
from millstream.records.compression import Codec
from millstream.records.record import records_section
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


def max_timestamp_searches(state: LogState) -> Iterator[BatchSearch]:
    """Yields the batches that may hold the record with the largest timestamp, the first one of several (KIP-734)."""
    segments = state.segments.from_offset(state.log_start_offset)
    candidates = [segment for segment in segments if segment.largest_timestamp_ms >= 0]
    latest = max((segment.max_timestamp_ms for segment in candidates), default=None)
    if latest is not None:
        yield from timestamp_searches(state, latest)


def _batches_from_time(segment: Segment, timestamp_ms: int) -> Iterator[BatchStart]:
    """From the first batch that may be late enough: no batch up to the index entry before `timestamp_ms` is."""
    floor = segment.time_floor(timestamp_ms)
    position = segment.position_of(segment.base_offset + floor.relative_offset)
    return segment.headers(position or 0)
