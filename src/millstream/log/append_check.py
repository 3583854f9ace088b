"""What a leader checks and changes in batches before it appends them. Nothing here touches the log.

Cost is constant per batch, but for the checksum. Records are walked only for compacted topics (every record needs a key),
for a limited message.timestamp.before.max.ms, and to name the records at fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from struct import Struct
from typing import Final

from millstream.errors import (
    CorruptMessage,
    InvalidRecord,
    InvalidTimestamp,
    MessageTooLarge,
    RecordListTooLarge,
)
from millstream.metadata.topic_config import LogConfig
from millstream.records.batch import (
    BATCH_HEADER_BYTES,
    CODEC_BITS,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    NO_TIMESTAMP,
    BatchHeader,
    iterate_batches,
    patch_crc,
    patch_log_append_time,
    validate_batch,
    validate_produced_batch,
)
from millstream.records.compression import DECOMPRESSED_BYTES_MAX, Codec, compress, decompress_view
from millstream.records.record import Record, iterate_records
from millstream.runtime import Instant

_LENGTH: Final = Struct(">i")
_ATTRIBUTES: Final = Struct(">h")
_UNLIMITED: Final = 2**63 - 1
_RECORD_ERRORS_MAX: Final = 100
"""Enough to find the mistake; a request of a million bad records is not answered by a million sentences."""

_TARGET_CODECS: Final = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


class AppendOrigin(Enum):
    """Who made the batches. Only clients are held to what `validate_produced_batch` asks for."""

    CLIENT = "client"
    COORDINATOR = "coordinator"
    RAFT_LEADER = "raft leader"


@dataclass(frozen=True, slots=True)
class RecordError:
    """`index` counts the records of the append from 0 (KIP-467)."""

    index: int
    message: str


class RefusedRecords(InvalidRecord):
    """INVALID_RECORD that names the records at fault."""

    def __init__(self, errors: list[RecordError], detail: str) -> None:
        super().__init__(detail)
        self.record_errors = errors


class RefusedTimestamps(InvalidTimestamp):
    """INVALID_TIMESTAMP that names the records at fault."""

    def __init__(self, errors: list[RecordError], detail: str) -> None:
        super().__init__(detail)
        self.record_errors = errors


@dataclass(slots=True)
class CheckedBatches:
    """Batches ready for offsets. `buffers` are what to write: the bytes as they came, unless something was recompressed."""

    headers: list[BatchHeader]
    views: list[memoryview]
    buffers: list[memoryview]
    size_bytes: int


def checked_batches(
    records: memoryview, config: LogConfig, now: Instant, origin: AppendOrigin
) -> CheckedBatches:
    """Raises CorruptMessage, InvalidRecord, InvalidTimestamp, MessageTooLarge, RecordListTooLarge.

    `records` is writable and belongs to the log from now on: timestamps may be stamped into it.
    """
    headers: list[BatchHeader] = []
    views: list[memoryview] = []
    for header, view in iterate_batches(records, strict=True):
        _check_size(header.size_bytes, config, origin)
        validate_batch(header, view)
        if origin is AppendOrigin.CLIENT:
            _check_produced(header)
        headers.append(header)
        views.append(view)
    if not headers:
        raise CorruptMessage("there is no batch in the records")
    batches = CheckedBatches(headers, views, [records], len(records))
    if origin is AppendOrigin.CLIENT:
        _apply_topic_rules(batches, config, now)
    if batches.size_bytes > config.segment_bytes:
        raise RecordListTooLarge(
            f"{batches.size_bytes} bytes do not fit into one segment of {config.segment_bytes}"
        )
    return batches


def _check_produced(header: BatchHeader) -> None:
    validate_produced_batch(header)
    if header.base_offset != 0:
        raise InvalidRecord(f"a producer's batch begins at offset 0, not at {header.base_offset}")


def _check_size(size_bytes: int, config: LogConfig, origin: AppendOrigin) -> None:
    if size_bytes > config.max_message_bytes and origin is AppendOrigin.CLIENT:
        raise MessageTooLarge(
            f"the batch has {size_bytes} bytes, max.message.bytes of the topic is {config.max_message_bytes}"
        )


def _apply_topic_rules(batches: CheckedBatches, config: LogConfig, now: Instant) -> None:
    if config.is_compacted:
        _check_keys(batches)
    if config.compression_type != "producer":
        _recompress(batches, config)
    if config.is_log_append_time:
        for header, view in zip(batches.headers, batches.views, strict=True):
            patch_log_append_time(view, now.wall_ms)
            header.attributes |= LOG_APPEND_TIME_BIT
            header.max_timestamp = now.wall_ms
    else:
        _check_timestamps(batches, config, now)


# --- records


def _numbered_records(batches: CheckedBatches) -> Iterator[tuple[int, Record]]:
    index = 0
    for header, view in zip(batches.headers, batches.views, strict=True):
        for record in iterate_records(header, view, DECOMPRESSED_BYTES_MAX):
            yield index, record
            index += 1


def _check_keys(batches: CheckedBatches) -> None:
    message = "a compacted topic needs a key in every record"
    errors = [
        RecordError(index, message)
        for index, record in _numbered_records(batches)
        if record.key is None
    ]
    if errors:
        raise RefusedRecords(
            errors[:_RECORD_ERRORS_MAX], f"{len(errors)} records have no key: {message}"
        )


def _check_timestamps(batches: CheckedBatches, config: LogConfig, now: Instant) -> None:
    latest = now.wall_ms + config.message_timestamp_after_max_ms
    if config.message_timestamp_before_max_ms == _UNLIMITED and not _is_any_later(batches, latest):
        return
    earliest = now.wall_ms - config.message_timestamp_before_max_ms
    errors = [
        RecordError(index, f"timestamp {record.timestamp} is outside {earliest} to {latest}")
        for index, record in _numbered_records(batches)
        if record.timestamp != NO_TIMESTAMP and not earliest <= record.timestamp <= latest
    ]
    if errors or _is_any_later(batches, latest):
        raise RefusedTimestamps(
            errors[:_RECORD_ERRORS_MAX],
            f"timestamps must lie between {earliest} and {latest} "
            "(message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic)",
        )


def _is_any_later(batches: CheckedBatches, latest: int) -> bool:
    for header in batches.headers:  # noqa: SIM110 - twice as fast as any() for the one batch there mostly is
        if header.max_timestamp > latest:
            return True
    return False


# --- compression


def _recompress(batches: CheckedBatches, config: LogConfig) -> None:
    """The topic's own codec where the producer used another one; only the records section changes."""
    codec = _TARGET_CODECS[config.compression_type]
    if all(header.codec is codec for header in batches.headers):
        return
    for slot, header in enumerate(batches.headers):
        if header.codec is not codec:
            batches.views[slot] = _recompressed(
                header, batches.views[slot], codec, _level(codec, config)
            )
            header.size_bytes = len(batches.views[slot])
            header.attributes = header.attributes & ~CODEC_BITS | codec
            _check_size(header.size_bytes, config, AppendOrigin.CLIENT)
    batches.buffers = list(batches.views)
    batches.size_bytes = sum(len(view) for view in batches.views)


def _recompressed(
    header: BatchHeader, view: memoryview, codec: Codec, level: int | None
) -> memoryview:
    section = decompress_view(header.codec, view[BATCH_HEADER_BYTES:], DECOMPRESSED_BYTES_MAX)
    batch = memoryview(bytearray(view[:BATCH_HEADER_BYTES]) + compress(codec, section, level))
    _LENGTH.pack_into(batch, 8, len(batch) - LOG_OVERHEAD_BYTES)
    _ATTRIBUTES.pack_into(batch, 21, header.attributes & ~CODEC_BITS | codec)
    patch_crc(batch)
    return batch


def _level(codec: Codec, config: LogConfig) -> int | None:
    match codec:
        case Codec.GZIP:
            return None if config.compression_gzip_level == -1 else config.compression_gzip_level
        case Codec.LZ4:
            return config.compression_lz4_level
        case Codec.ZSTD:
            return config.compression_zstd_level
        case Codec.NONE | Codec.SNAPPY:
            return None
