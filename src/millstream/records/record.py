"""One record as a Python object, and the lazy way from a batch to its records.

For coordinators, tools and the record API of clients. What moves many records uses `arrow` instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.errors import InvalidRecord
from millstream.records.batch import BATCH_HEADER_BYTES, RECORD_BYTES_MIN, BatchHeader
from millstream.records.compression import DECOMPRESSED_BYTES_MAX, BytesLike, decompress_view
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.records import walker
else:
    walker = load_leaf("millstream.records.walker")

Header = tuple[str, bytes | None]


@dataclass(slots=True)
class Record:
    """A record of a log or for one. Timestamps are milliseconds, -1 for none; a null value is a tombstone."""

    offset: int = 0
    timestamp: int = -1
    key: bytes | None = None
    value: bytes | None = None
    headers: list[Header] = field(default_factory=list)


def records_section(
    header: BatchHeader, view: BytesLike, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> memoryview:
    """Returns the decompressed bytes after the header. `view` is the batch, or starts with it.

    Raises MessageTooLarge beyond the limit, CorruptMessage, and InvalidRecord when the header counts more records
    than the bytes can hold, so that no memory is allocated for a false count.
    """
    packed = memoryview(view)[BATCH_HEADER_BYTES : header.size_bytes]
    if header.record_count == 0 and len(packed) == 0:
        return packed
    section = decompress_view(header.codec, packed, decompressed_bytes_max)
    if not 0 <= header.record_count * RECORD_BYTES_MIN <= len(section):
        raise InvalidRecord(f"{header.record_count} records do not fit in {len(section)} bytes")
    return section


def iterate_records(
    header: BatchHeader, view: BytesLike, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> Iterator[Record]:
    """Yields the records of one batch in order, keys and values copied out of it.

    Nothing is done before the first is asked for.

    Raises what `records_section` raises, and InvalidRecord for records that break their own lengths.
    """
    section = records_section(header, view, decompressed_bytes_max)
    count = header.record_count
    offsets = memoryview(bytearray(8 * count)).cast("q")
    timestamps = memoryview(bytearray(8 * count)).cast("q")
    places = memoryview(bytearray(4 * walker.PLACE_COLUMNS * count)).cast("i")
    walker.RecordColumns(offsets, timestamps, places).walk(section, header, 0)
    content = bytes(section)
    columns = [places[at * count : (at + 1) * count] for at in range(walker.PLACE_COLUMNS)]
    for offset, timestamp, key_at, key_length, value_at, value_length, headers_at, headers in zip(
        offsets, timestamps, *columns, strict=True
    ):
        key = content[key_at : key_at + key_length] if key_length >= 0 else None
        value = content[value_at : value_at + value_length] if value_length >= 0 else None
        yield Record(
            offset,
            timestamp,
            key,
            value,
            read_headers(content, headers_at, headers) if headers else [],
        )


def read_headers(content: bytes, at: int, count: int) -> list[Header]:
    """Returns the headers at `at`, whose bounds the walk has checked.

    Keys that are not UTF-8 get U+FFFD, as in Java.
    """
    headers: list[Header] = []
    for _ in range(count):
        length, at = _read_varint(content, at)
        key = content[at : at + length].decode("utf-8", "replace")
        length, at = _read_varint(content, at + length)
        if length < 0:
            headers.append((key, None))
        else:
            headers.append((key, content[at : at + length]))
            at += length
    return headers


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
