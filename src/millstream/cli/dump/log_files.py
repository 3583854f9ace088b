"""Reads a log file, or a snapshot of the metadata log, batch by batch: what its headers say, and
its records where they are wanted.

A batch whose checksum is wrong is told and passed over; where no batch begins, the reading ends. Either is told as
DamagedBytes, with its position, so that nobody takes a part of a file for the whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from crc32c import crc32c

from millstream.cli.dump.decoders import Control, Decoder, Meaning, decode_control
from millstream.errors import MillstreamError
from millstream.log.header_scan import read_batch, scan_headers
from millstream.quoting import counted
from millstream.records.batch import CHECKED_FROM, NO_SEQUENCE, SEQUENCE_MAX, BatchHeader
from millstream.records.record import Record, iterate_records
from millstream.runtime import File


class DamagedBytes(NamedTuple):
    """Says what is wrong with a file, and from which of its bytes on."""

    position: int
    reason: str


class DumpedRecord(NamedTuple):
    """One record.

    `sequence` is -1 where its producer is not idempotent; `control` is there for control records alone.
    """

    record: Record
    sequence: int
    is_log_append_time: bool
    meaning: Meaning | None
    """None where keys and values are not wanted."""
    control: Control | None = None


@dataclass(frozen=True, slots=True)
class DumpedBatch:
    position: int
    header: BatchHeader
    is_valid: bool
    """Whether the checksum is that of the bytes."""
    records: list[DumpedRecord] | None
    """None where they are not wanted, or cannot be read."""


@dataclass(frozen=True, slots=True)
class LogReading:
    """Says what to read of a log file."""

    decoder: Decoder | None = None
    """Decodes keys and values; None: they are not wanted."""
    with_records: bool = False
    bytes_max: int | None = None

    @property
    def wants_records(self) -> bool:
        return self.with_records or self.decoder is not None


_ZEROS_READ: Final = 64 * 1024
"""Bytes at a time: a preallocated segment may end in a gigabyte of zeros."""


def read_log(file: File, reading: LogReading) -> Iterator[DumpedBatch | DamagedBytes]:
    """Yields the batches of a file from its beginning. Raises OSError."""
    size = file.size
    end = size if reading.bytes_max is None else min(size, reading.bytes_max)
    position, next_offset = 0, -1
    try:
        for start, header in scan_headers(file, 0, end):
            if header.base_offset < next_offset or header.last_offset_delta < 0:
                yield DamagedBytes(start, f"offsets {header.base_offset} to {header.last_offset} do not follow {next_offset - 1}")  # fmt: skip
            yield from _dumped(file, start, header, reading)
            position, next_offset = start + header.size_bytes, header.next_offset
    except MillstreamError as error:
        reason = "holds nothing but zeros from here on: space made in advance, or a write that never came" if _is_zero(file, position, size) else str(error)  # fmt: skip
        yield DamagedBytes(position, reason)
        return
    if position < end and end == size:
        yield DamagedBytes(
            position, f"the last {counted(size - position, 'byte')} are no whole batch"
        )


def _dumped(
    file: File, start: int, header: BatchHeader, reading: LogReading
) -> Iterator[DumpedBatch | DamagedBytes]:
    view = read_batch(file, start, header)
    crc = crc32c(view[CHECKED_FROM:])
    if crc != header.crc:
        yield DumpedBatch(start, header, is_valid=False, records=None)
        yield DamagedBytes(start, f"the checksum of the batch is {crc:#010x}, its header says {header.crc:#010x}")  # fmt: skip
        return
    records, damage = None, None
    if reading.wants_records:
        try:
            records = [_record(header, *each, reading.decoder) for each in enumerate(iterate_records(header, view))]  # fmt: skip
        except MillstreamError as error:
            damage = DamagedBytes(start, f"the records of the batch cannot be read: {error}")
    yield DumpedBatch(start, header, is_valid=True, records=records)
    if damage is not None:
        yield damage


def _record(
    header: BatchHeader, number: int, record: Record, decoder: Decoder | None
) -> DumpedRecord:
    sequence = NO_SEQUENCE
    if header.base_sequence != NO_SEQUENCE:
        sequence = (header.base_sequence + number) & SEQUENCE_MAX
    if header.is_control:
        control = decode_control(record)
        return DumpedRecord(record, sequence, header.is_log_append_time, None, control)
    meaning = None if decoder is None else decoder(record)
    return DumpedRecord(record, sequence, header.is_log_append_time, meaning)


def _is_zero(file: File, position: int, end: int) -> bool:
    starts = itertools.takewhile(lambda at: at < end, itertools.count(position, _ZEROS_READ))
    return position < end and not any(any(file.read_at(at, _ZEROS_READ)) for at in starts)
