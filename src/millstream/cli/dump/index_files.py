"""Reads the indexes of a segment, and compares them with its log file: an index that is wrong sends
readers to the wrong place.

An entry of the offset index names the last offset of the batch at its position. One of the time
index says that no batch up to its offset has a later timestamp. One of the transaction index says
which offsets of a producer were aborted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from millstream.errors import MillstreamError
from millstream.log.header_scan import scan_headers
from millstream.log.segments.index_file import OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES
from millstream.log.segments.offset_index import OffsetIndex, OffsetPosition
from millstream.log.segments.time_index import TimeIndex, TimestampOffset
from millstream.log.segments.transaction_index import AbortedTransaction, TransactionIndex
from millstream.records.batch import BATCH_HEADER_BYTES, BatchHeader, read_header
from millstream.runtime import File, FileSystem

_BYTES_MAX: Final = 2**31 - 1
"""Nothing is appended: how large the file may grow does not matter."""


def read_offset_index(file_system: FileSystem, path: str) -> list[OffsetPosition]:
    """Raises CorruptIndex, OSError."""
    return OffsetIndex(file_system, path, _BYTES_MAX).entries()


def read_time_index(file_system: FileSystem, path: str) -> list[TimestampOffset]:
    """Raises CorruptIndex, OSError."""
    return TimeIndex(file_system, path, _BYTES_MAX).entries()


def read_transaction_index(file_system: FileSystem, path: str) -> list[AbortedTransaction]:
    """Raises CorruptIndex, OSError."""
    return TransactionIndex(file_system, path).entries()


def offset_index_damage(
    entries: Sequence[OffsetPosition], base_offset: int, log: File
) -> Iterator[tuple[int, str]]:
    """Yields the position in the index and what is wrong with the entry there. Raises OSError."""
    for number, entry in enumerate(entries):
        offset = base_offset + entry.relative_offset
        header = _header_at(log, entry.position)
        place = number * OFFSET_ENTRY_BYTES
        if header is None:
            yield place, f"offset {offset}: there is no batch at position {entry.position} of the log"  # fmt: skip
        elif header.last_offset != offset:
            yield place, f"index offset {offset}, log offset {header.last_offset} at position {entry.position}"  # fmt: skip


def _header_at(log: File, position: int) -> BatchHeader | None:
    try:
        return read_header(log.read_at(position, BATCH_HEADER_BYTES))
    except MillstreamError:
        return None


def time_index_damage(
    entries: Sequence[TimestampOffset], base_offset: int, log: File
) -> Iterator[tuple[int, str]]:
    """Yields the position in the index and what is wrong with the entry there. The log is read once, up to its damage.

    Raises OSError.
    """
    latest, last_offset = -1, base_offset - 1
    batches = _sound_headers(log)
    for number, entry in enumerate(entries):
        offset = base_offset + entry.relative_offset
        while last_offset < offset:
            header = next(batches, None)
            if header is None:
                break
            latest, last_offset = max(latest, header.max_timestamp), header.last_offset
        place = number * TIME_ENTRY_BYTES
        if last_offset < offset:
            yield place, f"offset {offset} lies beyond the log, which ends with {last_offset}"
        elif latest != entry.timestamp_ms:
            yield place, f"index timestamp {entry.timestamp_ms}, log timestamp {latest} up to offset {offset}"  # fmt: skip


def _sound_headers(log: File) -> Iterator[BatchHeader]:
    try:
        for _, header in scan_headers(log, 0, log.size):
            yield header
    except MillstreamError:
        return  # whoever reads the log file tells where it ends
