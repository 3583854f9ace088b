"""One record as a Python object, and the lazy way from a batch to its records.

For coordinators, tools and the record API of clients. What moves many records uses `arrow` instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from millstream.errors import InvalidRecord
from millstream.records.batch import BATCH_HEADER_BYTES, RECORD_BYTES_MIN, BatchHeader
from millstream.records.compression import DECOMPRESSED_BYTES_MAX, BytesLike, decompress_view

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
    """The decompressed bytes after the header. `view` is the batch, or starts with it.

    Raises MessageTooLarge beyond the limit, CorruptMessage, and InvalidRecord when the header counts more records
    than the bytes can hold, so that nobody allocates for a count that is a lie.
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
    """The records of one batch in order, keys and values copied out of it.

    Raises what `records_section` raises, and InvalidRecord for records that break their own lengths.
    """
    section = records_section(header, view, decompressed_bytes_max)
    append_time = header.max_timestamp if header.is_log_append_time else None
    at = 0
    try:
        for _ in range(header.record_count):
            record, at = _read_record(section, at, header.base_offset, header.base_timestamp)
            if append_time is not None:
                record.timestamp = append_time
            yield record
    except IndexError as error:
        raise InvalidRecord("a record reaches beyond its batch") from error
    if at != len(section):
        raise InvalidRecord(f"{len(section) - at} bytes are left after the last record")


def _read_record(
    section: memoryview, at: int, base_offset: int, base_timestamp: int
) -> tuple[Record, int]:
    length, at = _read_varint(section, at)
    end = at + length
    timestamp_delta, at = _read_varint(section, at + 1)
    offset_delta, at = _read_varint(section, at)
    key, at = _read_bytes(section, at)
    value, at = _read_bytes(section, at)
    count, at = _read_varint(section, at)
    if not 0 <= count <= len(section) - at:
        raise InvalidRecord(f"{count} headers")
    headers: list[Header] = []
    for _ in range(count):
        name, at = _read_bytes(section, at)
        if name is None:
            raise InvalidRecord("a header without a key")
        content, at = _read_bytes(section, at)
        headers.append((name.decode("utf-8", "replace"), content))
    if at != end:
        raise InvalidRecord(f"a record of {length} bytes ends {at - end} bytes beyond")
    return Record(
        base_offset + offset_delta, base_timestamp + timestamp_delta, key, value, headers
    ), at


def _read_bytes(section: memoryview, at: int) -> tuple[bytes | None, int]:
    length, at = _read_varint(section, at)
    if length == -1:
        return None, at
    if not 0 <= length <= len(section) - at:
        raise InvalidRecord(f"{length} bytes where {len(section) - at} are left")
    return bytes(section[at : at + length]), at + length


def _read_varint(section: memoryview, at: int) -> tuple[int, int]:
    byte = section[at]
    value = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        if shift > 63:
            raise InvalidRecord("a number of more than ten bytes")
        at += 1
        byte = section[at]
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), at + 1
