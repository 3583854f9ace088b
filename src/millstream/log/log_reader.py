"""Finds the bytes of the segments that answer a read: whole batches, by position, never by record."""

from __future__ import annotations

from typing import Final, NamedTuple

from millstream.log.file_range import FileRange
from millstream.log.log_state import LogState
from millstream.log.segments.segment import Segment
from millstream.log.segments.transaction_index import AbortedTransaction

INLINE_READ_BYTES_MAX: Final = 32 * 1024
"""Up to here a read answers bytes: a copy costs less than a second system call for the file range."""


class FetchData(NamedTuple):
    """Whole batches from the one that holds `offset` on; empty where there is nothing to read yet."""

    offset: int
    records: FileRange | bytes
    segment: Segment | None = None
    """Where the records lie; None when there are none."""
    end_position: int = 0
    """In the segment, one past the last byte of the records."""

    @property
    def size_bytes(self) -> int:
        return len(self.records)


def read_batches(
    state: LogState, offset: int, bytes_max: int, upper_bound: int, *, min_one_batch: bool
) -> FetchData:
    """See `PartitionLog.read`. Raises OSError."""
    if offset >= upper_bound:
        return FetchData(offset, b"")
    for segment in state.segments.from_offset(offset):
        start = segment.position_of(offset)
        if start is None:
            continue  # compaction may leave nothing after `offset` in its own segment
        limit = _limit(state, segment, upper_bound)
        end = segment.end_of_read(start, bytes_max, limit)
        if end == start and min_one_batch:
            end = segment.end_of_first_batch(start)
        length = min(end, limit) - start
        if length <= 0:
            return FetchData(offset, b"")
        if length <= INLINE_READ_BYTES_MAX:
            inline = segment.file.read_at(start, length)
            return FetchData(offset, inline, segment, start + length)
        file_range = FileRange(segment.file, start, length)
        return FetchData(offset, file_range, segment, start + length)
    return FetchData(offset, b"")


def readable_bytes(state: LogState, offset: int, upper_bound: int) -> int:
    """See `PartitionLog.readable_bytes`. Raises OSError."""
    if not state.log_start_offset <= offset < upper_bound:
        return 0
    segment = state.segments.from_offset(offset)[0]
    start = segment.position_of(offset)
    if start is None:
        return segment.size_bytes
    return max(0, _limit(state, segment, upper_bound) - start)


def aborted_transactions(
    state: LogState, first_offset: int, end_offset: int
) -> list[AbortedTransaction]:
    """Returns the aborted transactions with records in [first_offset, end_offset)."""
    found: list[AbortedTransaction] = []
    for segment in state.segments.from_offset(first_offset):
        for aborted in segment.transaction_index.entries():
            if aborted.last_offset >= first_offset and aborted.first_offset < end_offset:
                found.append(aborted)
            if aborted.last_stable_offset >= end_offset:
                return found  # what was aborted later began later than that
    return found


def aborted_among(state: LogState, read: FetchData) -> list[AbortedTransaction]:
    """See `PartitionLog.aborted_among`. Raises OSError, CorruptIndex."""
    if not read.records:
        return []
    return aborted_transactions(state, read.offset, offset_bound(state, read))


def offset_bound(state: LogState, read: FetchData) -> int:
    """Returns an offset that no batch of `read` reaches: exact enough to choose aborted
    transactions, without reading anything.
    """
    assert read.segment is not None, "nothing was read, so nothing bounds it"
    bound = read.segment.last_offset_before(read.end_position)
    if bound is not None:
        return bound
    return state.segments.end_offset(read.segment, state.log_end_offset)


def _limit(state: LogState, segment: Segment, upper_bound: int) -> int:
    """Up to which position of `segment` batches lie below `upper_bound`."""
    if upper_bound >= state.segments.end_offset(segment, state.log_end_offset):
        return segment.size_bytes
    position = segment.position_of(upper_bound)
    return segment.size_bytes if position is None else position
