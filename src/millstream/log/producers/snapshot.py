"""The `.snapshot` file: what a log knew of its producers at one offset, in Kafka's format (version 1).

    i16 version · u32 CRC-32C of everything from byte 6 on · i32 count · count entries of 46 bytes:
    i64 producer id · i16 epoch · i32 last sequence · i64 last offset · i32 offset delta · i64 timestamp ms
    i32 coordinator epoch · i64 first offset of the open transaction, -1 for none

Pure. Only the last batch of a producer is kept; what was before it is read again from the log.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from crc32c import crc32c

from millstream.errors import MillstreamError

_VERSION: Final = 1
_HEADER: Final = struct.Struct(">hIi")
_ENTRY: Final = struct.Struct(">qhiqiqiq")
_CRC_FROM: Final = 6


class CorruptSnapshot(MillstreamError):
    """A snapshot that cannot be read. Never fatal: an older one and the log replace it."""


class ProducerSnapshotEntry(NamedTuple):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int
    coordinator_epoch: int
    transaction_first_offset: int


def encode_producer_snapshot(entries: Iterable[ProducerSnapshotEntry]) -> bytes:
    body = b"".join(_ENTRY.pack(*entry) for entry in entries)
    count = struct.pack(">i", len(body) // _ENTRY.size)
    return struct.pack(">hI", _VERSION, crc32c(count + body)) + count + body


def decode_producer_snapshot(data: bytes) -> list[ProducerSnapshotEntry]:
    """Decodes a producer snapshot. Raises CorruptSnapshot."""
    if len(data) < _HEADER.size:
        raise CorruptSnapshot(f"{len(data)} bytes are too few for a producer snapshot")
    version, crc, count = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshot(f"producer snapshot version {version} is not known")
    if crc != crc32c(memoryview(data)[_CRC_FROM:]):
        raise CorruptSnapshot("the checksum of the producer snapshot does not match")
    if len(data) != _HEADER.size + count * _ENTRY.size:
        raise CorruptSnapshot(f"{count} producers do not make {len(data)} bytes")
    return [
        ProducerSnapshotEntry(*entry)
        for entry in _ENTRY.iter_unpack(memoryview(data)[_HEADER.size :])
    ]
