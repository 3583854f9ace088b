"""Walks the batch headers of a log file without reading the records between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from millstream.errors import CorruptMessage
from millstream.records.batch import BATCH_HEADER_BYTES, BatchHeader, read_header
from millstream.runtime import File

_WINDOW_BYTES: Final = 8192
"""One read serves the small batches of two index intervals; for large batches it costs no more than a header would."""

_BATCH_WINDOW_BYTES: Final = 64 * 1024


def scan_headers(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Yields each batch from `position` on as (position, header), until one would end beyond `end`.

    `position` must be the start of a batch. Raises CorruptMessage where bytes are no batch header.
    """
    window, window_start = memoryview(b""), position
    while position + BATCH_HEADER_BYTES <= end:
        if position + BATCH_HEADER_BYTES > window_start + len(window):
            window, window_start = (
                memoryview(file.read_at(position, min(_WINDOW_BYTES, end - position))),
                position,
            )
            if len(window) < BATCH_HEADER_BYTES:
                return
        header = read_header(window, position - window_start)
        if position + header.size_bytes > end:
            return
        yield position, header
        position += header.size_bytes


def scan_whole(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """The same where `end` is known to be the end of a batch: raises CorruptMessage where the batches do not reach it.

    Whoever took a damaged batch for the end of the file would leave out what is behind it, and nobody would know.
    """
    next_position, next_offset = position, 0
    for start, header in scan_headers(file, position, end):
        if header.base_offset < next_offset or header.last_offset_delta < 0:
            raise CorruptMessage(f"the batch at position {start} does not follow the one before it")
        yield start, header
        next_position, next_offset = start + header.size_bytes, header.next_offset
    if next_position < end:
        raise CorruptMessage(f"the bytes from position {next_position} on are no whole batch")


def scan_batches(
    file: File, position: int, end: int, window_bytes: int = _BATCH_WINDOW_BYTES
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Yields each whole batch from `position` on as (position, header, bytes); many small ones cost
    one read of `window_bytes`.

    Raises CorruptMessage where bytes are no batch header or end before the batch does.
    """
    window, window_start = memoryview(b""), position
    for start, header in scan_whole(file, position, end):
        if start + header.size_bytes > window_start + len(window):
            length = max(header.size_bytes, min(window_bytes, end - start))
            window, window_start = memoryview(file.read_at(start, length)), start
            if len(window) < header.size_bytes:
                raise CorruptMessage(f"the batch at position {start} ends beyond the file")
        at = start - window_start
        yield start, header, window[at : at + header.size_bytes]


def read_batch(file: File, position: int, header: BatchHeader) -> memoryview:
    """Returns the whole batch; raises CorruptMessage when the file ends before it does."""
    data = file.read_at(position, header.size_bytes)
    if len(data) != header.size_bytes:
        raise CorruptMessage(f"the batch at position {position} ends beyond the file")
    return memoryview(data)
