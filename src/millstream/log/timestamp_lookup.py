"""Offsets by time: ListOffsets with a timestamp or with MAX_TIMESTAMP. Exact to the record, so one batch is unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from millstream.log.header_scan import read_batch
from millstream.log.segment import BatchStart, Segment
from millstream.log.segments import Segments
from millstream.records.batch import BatchHeader
from millstream.records.record import Record, iterate_records


class TimestampedOffset(NamedTuple):
    offset: int
    timestamp_ms: int
    leader_epoch: int


def find_timestamp(
    segments: Segments, timestamp_ms: int, log_start_offset: int
) -> TimestampedOffset | None:
    """The first record from `log_start_offset` on whose timestamp is `timestamp_ms` or later; None when there is none."""
    for segment in segments.from_offset(log_start_offset):
        if segment.largest_timestamp_ms < timestamp_ms:
            continue
        for start in _batches_from_time(segment, timestamp_ms):
            if (
                start.header.max_timestamp < timestamp_ms
                or start.header.last_offset < log_start_offset
            ):
                continue
            for record in _records(segment, start):
                if record.timestamp >= timestamp_ms and record.offset >= log_start_offset:
                    return _found(record, start.header)
    return None


def find_max_timestamp(segments: Segments, log_start_offset: int) -> TimestampedOffset | None:
    """The record with the largest timestamp, the first one of several (KIP-734); None for a log without timestamps."""
    candidates = [s for s in segments.from_offset(log_start_offset) if s.largest_timestamp_ms >= 0]
    if not candidates:
        return None
    latest = max(segment.max_timestamp_ms for segment in candidates)
    return find_timestamp(segments, latest, log_start_offset)


def _batches_from_time(segment: Segment, timestamp_ms: int) -> Iterator[BatchStart]:
    """From the first batch that may be late enough: no batch up to the index entry before `timestamp_ms` is."""
    floor = segment.time_index.lookup(timestamp_ms - 1)
    position = segment.position_of(segment.base_offset + floor.relative_offset)
    return segment.headers(position or 0)


def _records(segment: Segment, start: BatchStart) -> Iterator[Record]:
    return iterate_records(start.header, read_batch(segment.file, start.position, start.header))


def _found(record: Record, header: BatchHeader) -> TimestampedOffset:
    return TimestampedOffset(record.offset, record.timestamp, header.partition_leader_epoch)
