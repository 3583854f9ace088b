"""A batch as columns of records, and batches made of some of its rows: what compaction does to a batch.

Records keep their bytes and offsets; only timestamps are written anew where they refer to another base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from crc32c import crc32c

from millstream.records.batch import (
    BATCH_HEADER_BYTES,
    CHECKED_FROM,
    CODEC_BITS,
    DELETE_HORIZON_BIT,
    HEADER,
    LOG_OVERHEAD_BYTES,
    NO_TIMESTAMP,
    BatchHeader,
)
from millstream.records.compression import DECOMPRESSED_BYTES_MAX, compress
from millstream.records.record import records_section
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.records import walker
else:
    walker = load_leaf("millstream.records.walker")


@final
class RecordRows:
    """The records of one batch, a column for each of their parts; `content` is the decompressed section.

    Timestamps in ms; lengths are -1 for null.
    """

    __slots__ = ("content", "key_lengths", "key_starts", "offsets", "timestamps", "value_lengths")

    def __init__(self, header: BatchHeader, batch: memoryview) -> None:
        """Raises what `records_section` raises, and InvalidRecord for records that break their own lengths."""
        section = records_section(header, batch, DECOMPRESSED_BYTES_MAX)
        count = header.record_count
        self.offsets = memoryview(bytearray(8 * count)).cast("q")
        self.timestamps = memoryview(bytearray(8 * count)).cast("q")
        places = memoryview(bytearray(4 * walker.PLACE_COLUMNS * count)).cast("i")
        if count:
            walker.RecordColumns(self.offsets, self.timestamps, places).walk(section, header, 0)
        self.content = bytes(section)
        self.key_starts = places[:count]
        self.key_lengths = places[count : 2 * count]
        self.value_lengths = places[3 * count : 4 * count]

    def __len__(self) -> int:
        return len(self.offsets)

    def keys(self) -> list[bytes | None]:
        content = self.content
        return [
            content[start : start + length] if length >= 0 else None
            for start, length in zip(self.key_starts, self.key_lengths, strict=True)
        ]


def empty_batch(header: BatchHeader) -> bytearray:
    """Returns the header alone: offsets, producer and sequence; no records, no codec, no base timestamp."""
    attributes = header.attributes & ~(CODEC_BITS | DELETE_HORIZON_BIT)
    return _batch(header, attributes, (NO_TIMESTAMP, header.max_timestamp), 0, b"")


def rebuilt_batch(
    header: BatchHeader, rows: RecordRows, kept: Sequence[int], delete_horizon_ms: int | None
) -> bytearray:
    """Returns a batch of the rows in `kept`, at least one.

    Its base timestamp is that of the first one, or the delete horizon.
    """
    attributes = header.attributes
    base = rows.timestamps[kept[0]]
    largest = max(rows.timestamps[row] for row in kept)
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_BIT
        base = delete_horizon_ms
    content, bounds = rows.content, _record_bounds(rows.content, len(rows))
    if base == header.base_timestamp:
        parts = [content[bounds[row] : bounds[row + 1]] for row in kept]
    else:
        parts = [
            _moved_record(content[bounds[row] : bounds[row + 1]], rows.timestamps[row] - base)
            for row in kept
        ]
    packed = compress(header.codec, b"".join(parts))
    return _batch(header, attributes, (base, largest), len(kept), packed)


def _batch(
    header: BatchHeader, attributes: int, times: tuple[int, int], count: int, section: bytes
) -> bytearray:
    """`times`: base and largest timestamp."""
    out = bytearray(BATCH_HEADER_BYTES) + section
    HEADER.pack_into(
        out, 0, header.base_offset, len(out) - LOG_OVERHEAD_BYTES, header.partition_leader_epoch, header.magic, 0, attributes,
        header.last_offset_delta, *times, header.producer_id, header.producer_epoch, header.base_sequence, count,
    )  # fmt: skip
    out[17:21] = crc32c(memoryview(out)[CHECKED_FROM:]).to_bytes(4, "big")
    return out


def _record_bounds(content: bytes, count: int) -> list[int]:
    """Returns where each record begins, and where the last one ends. The walk of the rows has checked every length."""
    bounds, at = [0], 0
    for _ in range(count):
        length, at = _read_varint(content, at)
        at += length
        bounds.append(at)
    return bounds


def _moved_record(record: bytes, timestamp_delta: int) -> bytes:
    """A record with another timestamp delta; everything else byte for byte."""
    _, at = _read_varint(record, 0)
    _, rest = _read_varint(record, at + 1)
    body = record[at : at + 1] + _varint(timestamp_delta) + record[rest:]
    return _varint(len(body)) + body


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    value = content[at]
    at += 1
    shift = 7
    if value > 0x7F:
        value &= 0x7F
        while (byte := content[at]) > 0x7F:
            value |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        value |= byte << shift
        at += 1
    return (value >> 1) ^ -(value & 1), at


def _varint(number: int) -> bytes:
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
