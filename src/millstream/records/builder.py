"""Builds record batches from Python objects: one at once, or one that grows while a producer waits for more records.

Owns the layout of records and the decision that a batch is full. What writes many records uses `arrow` instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from crc32c import crc32c

from millstream.errors import InvalidRecord
from millstream.records.batch import (
    BATCH_HEADER_BYTES,
    CHECKED_FROM,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
)
from millstream.records.compression import Codec, compress
from millstream.records.record import Header, Record
from millstream.runtime.native import load_leaf

if TYPE_CHECKING:
    from millstream.records import writer
else:
    writer = load_leaf("millstream.records.writer")


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The fields of a batch besides its records. Timestamps in ms; -1 means none, as on the wire."""

    codec: Codec = Codec.NONE
    level: int | None = None
    base_offset: int = 0
    leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False
    is_control: bool = False
    log_append_time_ms: int | None = None
    delete_horizon_ms: int | None = None


PLAIN: Final = BatchOptions()
"""No codec, no producer, base offset 0."""


@dataclass(slots=True)
class RecordsSummary:
    """The facts about records that go into the header. Timestamps in ms; timestamp deltas refer to `base_timestamp`."""

    count: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int


class BatchBuilder:
    """One batch that grows record by record, encoded as it grows.

    `bytes_max` bounds the uncompressed batch. The first record always fits: whether one record is too large is for
    the producer to say, who knows `max.request.size`.
    """

    __slots__ = ("_bytes_max", "_out", "_summary", "options")

    def __init__(self, options: BatchOptions, bytes_max: int) -> None:
        self.options = options
        self._bytes_max = bytes_max
        self._out = bytearray(BATCH_HEADER_BYTES)
        self._summary = RecordsSummary(0, -1, NO_TIMESTAMP, NO_TIMESTAMP)

    @property
    def record_count(self) -> int:
        return self._summary.count

    @property
    def estimated_size_bytes(self) -> int:
        """Size of the batch if it were not compressed: exact without a codec, an upper bound in practice with one."""
        return len(self._out)

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> bool:
        """Add one record; False, and nothing has changed, when it does not fit any more."""
        summary = self._summary
        first = summary.count == 0
        base = _base_timestamp(timestamp, self.options) if first else summary.base_timestamp
        encoded = writer.encode_record(timestamp - base, summary.count, key, value, headers)
        if not first and len(self._out) + len(encoded) > self._bytes_max:
            return False
        self._out += encoded
        summary.base_timestamp = base
        summary.max_timestamp = timestamp if first else max(timestamp, summary.max_timestamp)
        summary.last_offset_delta = summary.count
        summary.count += 1
        return True

    def build(self, options: BatchOptions | None = None) -> bytearray:
        """Returns the finished batch; `options` replaces those given at the start. The builder may be built again."""
        return finish_batch(bytearray(self._out), self._summary, options or self.options)


def build_batch(
    records: Iterable[Record], options: BatchOptions = PLAIN, *, keep_offsets: bool = False
) -> bytearray:
    """Builds one batch of `records`, numbered from `options.base_offset`; their own offsets only
    count with `keep_offsets`.
    """
    out = bytearray(BATCH_HEADER_BYTES)
    summary = RecordsSummary(0, -1, NO_TIMESTAMP, NO_TIMESTAMP)
    for record in records:
        if summary.count == 0:
            summary.base_timestamp = _base_timestamp(record.timestamp, options)
            summary.max_timestamp = record.timestamp
        delta = record.offset - options.base_offset if keep_offsets else summary.count
        if delta <= summary.last_offset_delta:
            raise InvalidRecord(f"offset {record.offset} does not rise within the batch")
        out += writer.encode_record(
            record.timestamp - summary.base_timestamp,
            delta,
            record.key,
            record.value,
            record.headers,
        )
        summary.max_timestamp = max(summary.max_timestamp, record.timestamp)
        summary.last_offset_delta = delta
        summary.count += 1
    if summary.count == 0:
        raise InvalidRecord("a batch needs at least one record")
    return finish_batch(out, summary, options)


def finish_batch(out: bytearray, summary: RecordsSummary, options: BatchOptions) -> bytearray:
    """Turn 61 free bytes and the encoded records behind them into a batch, compressed as the options say."""
    if options.codec is not Codec.NONE:
        packed = compress(options.codec, memoryview(out)[BATCH_HEADER_BYTES:], options.level)
        out = bytearray(BATCH_HEADER_BYTES) + packed
    append_time = options.log_append_time_ms
    max_timestamp = summary.max_timestamp if append_time is None else append_time
    HEADER.pack_into(
        out, 0, options.base_offset, len(out) - LOG_OVERHEAD_BYTES, options.leader_epoch, MAGIC, 0, _attributes(options),
        summary.last_offset_delta, summary.base_timestamp, max_timestamp, options.producer_id, options.producer_epoch,
        options.base_sequence, summary.count,
    )  # fmt: skip
    out[17:21] = crc32c(memoryview(out)[CHECKED_FROM:]).to_bytes(4, "big")
    return out


def _base_timestamp(first_timestamp: int, options: BatchOptions) -> int:
    """Returns the timestamp that deltas refer to: the first record's, unless a delete
    horizon takes its place (KIP-534).
    """
    horizon = options.delete_horizon_ms
    return first_timestamp if horizon is None else horizon


def _attributes(options: BatchOptions) -> int:
    attributes = int(options.codec)
    if options.is_transactional:
        attributes |= TRANSACTIONAL_BIT
    if options.is_control:
        attributes |= CONTROL_BIT
    if options.log_append_time_ms is not None:
        attributes |= LOG_APPEND_TIME_BIT
    if options.delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_BIT
    return attributes
