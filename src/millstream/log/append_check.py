"""Checks batches, and completes them, before a leader appends them. Nothing here touches the log.

A client's batch is checked whole, as Kafka's LogValidator does: its header, its checksum, and every record in it, so
that what is acknowledged can be read. Compressed records are unpacked for it, within bounds. The work depends on what
the client sent, so it may be given an allowance; a check that needs more is to run where no other request waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from struct import Struct
from typing import Any, Final

from millstream.errors import (
    CorruptMessage,
    InvalidRecord,
    InvalidTimestamp,
    MessageTooLarge,
    OffsetOutOfRange,
    RecordListTooLarge,
)
from millstream.metadata.topic_config import LogConfig
from millstream.quoting import counted
from millstream.records.batch import (
    BATCH_HEADER_BYTES,
    KNOWN_BITS,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    TRANSACTIONAL_BIT,
    BatchHeader,
    iterate_batches,
    patch_crc,
    patch_create_time,
    patch_log_append_time,
    validate_batch,
    validate_produced_batch,
    validate_structure,
)
from millstream.records.compression import (
    DECOMPRESSED_BYTES_MAX,
    Codec,
    check_framing,
    compress,
    decompress_view,
)
from millstream.runtime import Instant
from millstream.runtime.native import load_leaf

record_check: Final = load_leaf("millstream.records.record_check")
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

IS_COMPILED: Final = record_check.__name__.endswith("_compiled")
AT_ONCE_BYTES: Final = 2 * 1024 * 1024 if IS_COMPILED else 32 * 1024
"""What may be unpacked and walked at once: 8 ms where every record is as small as can be, interpreted or not."""
PART_COST_BYTES: Final = 16 * 1024 if IS_COMPILED else 256
"""What one partition of a request costs besides the records, in the same measure."""
NEW_LOG_COST_BYTES: Final = 8 * PART_COST_BYTES
"""The same for a log that gets its directory and files first."""
_PACKED_COST: Final = {Codec.GZIP: 32, Codec.SNAPPY: 4, Codec.LZ4: 4, Codec.ZSTD: 8}
"""A packed byte costs up to as much as so many unpacked ones, though it may unpack to none: empty members of gzip."""
_RECOMPRESSED_COST: Final = 32
"""Compressing takes that much longer than walking."""


class TooMuchWork(Exception):
    """A check needs more than its allowance. Nothing has changed; check again without one."""


@dataclass(slots=True)
class Allowance:
    """The bytes of records that checks may still read in the thread that calls them."""

    bytes_left: int = AT_ONCE_BYTES

    def take(self, size_bytes: int) -> None:
        """Subtracts `size`. Raises TooMuchWork when there is less, and then nothing is left."""
        self.bytes_left -= size_bytes
        if self.bytes_left < 0:
            self.bytes_left = 0
            raise TooMuchWork


class AppendOrigin(Enum):
    """The origin of batches. Only batches of clients are checked record by record."""

    CLIENT = "client"
    COORDINATOR = "coordinator"
    RAFT_LEADER = "raft leader"


@dataclass(frozen=True, slots=True)
class RecordError:
    """A record that is refused; `index` counts the records of the batch from 0 (KIP-467)."""

    index: int
    message: str


class RefusedRecords(InvalidRecord):
    """INVALID_RECORD that names the records at fault, up to a hundred."""

    def __init__(self, errors: list[RecordError], detail: str) -> None:
        super().__init__(detail)
        self.record_errors = errors


class RefusedTimestamps(InvalidTimestamp):
    """INVALID_TIMESTAMP that names the records at fault, up to a hundred."""

    def __init__(self, errors: list[RecordError], detail: str) -> None:
        super().__init__(detail)
        self.record_errors = errors


@dataclass(slots=True)
class CheckedBatches:
    """Batches ready for offsets.

    `buffers` are what to write: the bytes as they came, unless something was recompressed.
    """

    headers: list[BatchHeader]
    views: list[memoryview]
    buffers: list[memoryview]
    size_bytes: int
    append_time_ms: int = -1
    """Stamped into every record; -1 where producers set the time."""


def checked_batches(
    records: memoryview,
    config: LogConfig,
    now: Instant,
    origin: AppendOrigin,
    allowance: Allowance | None = None,
) -> CheckedBatches:
    """Checks all batches in `records`.

    Raises CorruptMessage, InvalidRecord, InvalidTimestamp, MessageTooLarge, RecordListTooLarge,
    UnsupportedCompressionType; with an allowance also TooMuchWork. Without one it lets other
    threads run while it works.

    `records` is writable and belongs to the log from now on: what its header says of times may be corrected in it.
    """
    batches = CheckedBatches([], [], [records], len(records))
    for header, view in iterate_batches(records, strict=True):
        if origin is AppendOrigin.CLIENT:
            _check_header(header, view, config)
        else:
            validate_batch(header, view)
            if origin is AppendOrigin.COORDINATOR and config.is_log_append_time:
                _patch_append_time(header, view, now)
        batches.headers.append(header)
        batches.views.append(view)
    if not batches.headers:
        raise CorruptMessage("there is no batch in the records")
    if origin is AppendOrigin.CLIENT:
        _apply_topic_rules(batches, config, now, allowance)
    _check_segment(batches, config)
    return batches


def checked_batch(
    header: BatchHeader,
    view: memoryview,
    config: LogConfig,
    now: Instant,
    allowance: Allowance | None = None,
) -> CheckedBatches:
    """Checks one batch of a client, whose header has been read already. Raises what `checked_batches` raises."""
    _check_header(header, view, config)
    batches = CheckedBatches([header], [view], [view], len(view))
    _apply_topic_rules(batches, config, now, allowance)
    _check_segment(batches, config)
    return batches


def whole_batches(
    records: memoryview,
    log_end_offset: int,
    leader_epoch_max: int | None = None,
    *,
    is_empty: bool = False,
) -> CheckedBatches:
    """Returns the whole batches that a leader has sent to a follower, up to the first one of an
    epoch above `leader_epoch_max`.

    `is_empty`: the log holds no record, so the first batch may hold the end of the log instead of beginning there.
    Raises CorruptMessage, OffsetOutOfRange.
    """
    batches = CheckedBatches([], [], [], 0)
    for header, view in iterate_batches(records):
        if leader_epoch_max is not None and header.partition_leader_epoch > leader_epoch_max:
            # Written after the fetch was asked for: the follower has not compared its end with that epoch (KAFKA-18723).
            break
        validate_batch(header, view)
        may_begin_below = is_empty and not batches.headers and header.next_offset > log_end_offset
        if header.base_offset < log_end_offset and not may_begin_below:
            raise OffsetOutOfRange(
                f"the leader sent a batch at offset {header.base_offset}, the log ends at {log_end_offset}"
            )
        batches.headers.append(header)
        batches.views.append(view)
        batches.size_bytes += header.size_bytes
        log_end_offset = header.next_offset
    batches.buffers.append(records[: batches.size_bytes])
    return batches


def _check_header(header: BatchHeader, view: memoryview, config: LogConfig) -> None:
    _check_size(header.size_bytes, config)
    validate_structure(header, view)
    validate_produced_batch(header)
    if header.base_offset != 0:
        raise InvalidRecord(f"a producer's batch begins at 0, not at {header.base_offset}")


def _check_segment(batches: CheckedBatches, config: LogConfig) -> None:
    if batches.size_bytes > config.segment_bytes:
        raise RecordListTooLarge(
            f"{batches.size_bytes} bytes do not fit into one segment of {config.segment_bytes}"
        )


def _check_size(size_bytes: int, config: LogConfig) -> None:
    if size_bytes > config.max_message_bytes:
        raise MessageTooLarge(
            f"the batch has {size_bytes} bytes, max.message.bytes of the topic is {config.max_message_bytes}"
        )


def _apply_topic_rules(
    batches: CheckedBatches, config: LogConfig, now: Instant, allowance: Allowance | None
) -> None:
    target = _TARGET_CODECS.get(config.compression_type)
    for slot, header in enumerate(batches.headers):
        view = batches.views[slot]
        is_recompressed = target is not None and header.codec is not target
        section = _section(header, view, allowance)
        if allowance is not None:
            cost = len(section) * (_RECOMPRESSED_COST if is_recompressed else 1)
            allowance.take(cost)
        max_timestamp = _check_records(header, section, config, now, unlocked=allowance is None)
        if target is not None and is_recompressed:
            view = batches.views[slot] = _recompressed(header, section, view, target, config)
        _set_header_times(header, view, config, now, max_timestamp)
    if config.is_log_append_time:
        batches.append_time_ms = now.wall_ms
    if target is not None:
        batches.buffers = list(batches.views)
        batches.size_bytes = sum(len(view) for view in batches.views)


# --- records


def _section(header: BatchHeader, view: memoryview, allowance: Allowance | None) -> memoryview:
    """The records, unpacked. Raises InvalidRecord for a stream that is broken: sent again it would be no better."""
    packed = view[BATCH_HEADER_BYTES:]
    codec = header.codec
    if codec is Codec.NONE:
        return packed
    limit = DECOMPRESSED_BYTES_MAX
    if allowance is not None:
        allowance.take(len(packed) * _PACKED_COST[codec])
        limit = allowance.bytes_left
    try:
        check_framing(codec, packed)
        return decompress_view(codec, packed, limit)
    except CorruptMessage as error:
        raise InvalidRecord(str(error)) from error
    except MessageTooLarge:
        if allowance is None:
            raise
        allowance.bytes_left = 0
        raise TooMuchWork from None


def _check_records(
    header: BatchHeader, section: memoryview, config: LogConfig, now: Instant, *, unlocked: bool
) -> int:
    """The largest timestamp.

    Raises InvalidRecord, or RefusedRecords and RefusedTimestamps with the first hundred at fault.
    """
    earliest = now.wall_ms - config.message_timestamp_before_max_ms
    latest = min(now.wall_ms + config.message_timestamp_after_max_ms, _UNLIMITED)
    check = record_check.RecordCheck(
        section,
        header.record_count,
        header.base_timestamp,
        earliest=earliest,
        latest=latest,
        checks_times=not config.is_log_append_time,
        needs_keys=config.is_compacted,
    )
    found = check.walk(unlocked=unlocked)
    if found != record_check.DONE:
        raise _refusal(check, found, earliest, latest, unlocked=unlocked)
    if config.is_log_append_time and header.is_log_append_time:
        message = "only a broker may set log append time; send create time"
        count = min(header.record_count, _RECORD_ERRORS_MAX)
        raise RefusedTimestamps([RecordError(index, message) for index in range(count)], message)
    max_timestamp: int = check.max_timestamp()
    return max_timestamp


def _refusal(
    check: Any,  # Any: the RecordCheck of the leaf's twin that is loaded
    found: int,
    earliest: int,
    latest: int,
    *,
    unlocked: bool,
) -> RefusedRecords | RefusedTimestamps:
    """Returns what to raise when the walk has met its first fault, `found`.

    Raises InvalidRecord when a later record is broken.
    """
    no_key = "a compacted topic needs a key in every record"
    errors: list[RecordError] = []
    any_timestamp = False
    while found != record_check.DONE and len(errors) < _RECORD_ERRORS_MAX:
        if found == record_check.NO_KEY:
            errors.append(RecordError(check.index(), no_key))
        else:
            any_timestamp = True
            told = check.timestamp()
            what = "a timestamp beyond 64 bits" if told is None else f"timestamp {told}"
            errors.append(RecordError(check.index(), f"{what} is outside {earliest} to {latest}"))
        found = check.walk(unlocked=unlocked)
    if any_timestamp:
        return RefusedTimestamps(
            errors,
            f"timestamps must lie between {earliest} and {latest} "
            "(message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic)",
        )
    or_more = " or more" if len(errors) == _RECORD_ERRORS_MAX else ""
    return RefusedRecords(errors, f"no key in {counted(len(errors), 'record')}{or_more}: {no_key}")


def _set_header_times(
    header: BatchHeader, view: memoryview, config: LogConfig, now: Instant, max_timestamp: int
) -> None:
    """Sets the timestamp type and the largest timestamp in the header, as the topic and the records ask, like Kafka.

    Raises InvalidTimestamp where every record is older than the base timestamp, which is the first one's.
    """
    if not config.is_log_append_time and max_timestamp < header.base_timestamp:
        raise InvalidTimestamp(
            f"the newest record has timestamp {max_timestamp}, before base timestamp {header.base_timestamp}"
        )
    if config.is_log_append_time:
        _patch_append_time(header, view, now)
    elif header.is_log_append_time or header.max_timestamp != max_timestamp:
        patch_create_time(view, max_timestamp)
        header.attributes &= KNOWN_BITS & ~LOG_APPEND_TIME_BIT
        header.max_timestamp = max_timestamp


def _patch_append_time(header: BatchHeader, view: memoryview, now: Instant) -> None:
    patch_log_append_time(view, now.wall_ms)
    header.attributes = header.attributes & KNOWN_BITS | LOG_APPEND_TIME_BIT
    header.max_timestamp = now.wall_ms


# --- compression


def _recompressed(
    header: BatchHeader, section: memoryview, view: memoryview, codec: Codec, config: LogConfig
) -> memoryview:
    """The batch in the topic's own codec; only the records section changes, and attributes that mean nothing go."""
    packed = compress(codec, section, _level(codec, config))
    batch = memoryview(bytearray(view[:BATCH_HEADER_BYTES]) + packed)
    header.attributes = header.attributes & (TRANSACTIONAL_BIT | LOG_APPEND_TIME_BIT) | codec
    header.size_bytes = len(batch)
    _check_size(header.size_bytes, config)
    _LENGTH.pack_into(batch, 8, len(batch) - LOG_OVERHEAD_BYTES)
    _ATTRIBUTES.pack_into(batch, 21, header.attributes)
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
