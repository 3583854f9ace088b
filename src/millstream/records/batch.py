"""The header of a record batch (version 2): read, validate, patch. Never looks at a record.

    0 baseOffset i64 · 8 batchLength i32 (bytes after this field) · 12 partitionLeaderEpoch i32 · 16 magic i8 = 2
    17 crc u32 (CRC-32C of everything from 21 on) · 21 attributes i16 · 23 lastOffsetDelta i32 · 27 baseTimestamp i64
    35 maxTimestamp i64 · 43 producerId i64 · 51 producerEpoch i16 · 53 baseSequence i32 · 57 recordCount i32
    61 records, compressed as the attributes say

Cost is constant per batch, except for the checksum. What a broker may change in place without a new checksum comes
before byte 21.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from crc32c import crc32c

from millstream.errors import (
    CorruptMessage,
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidTimestamp,
    UnsupportedCompressionType,
    UnsupportedForMessageFormat,
)
from millstream.records.compression import BytesLike, Codec

BATCH_HEADER_BYTES: Final = 61
LOG_OVERHEAD_BYTES: Final = 12
"""Base offset and batch length: what must be read to know where the batch ends."""
CHECKED_FROM: Final = 21
"""First byte that the checksum covers."""
MAGIC: Final = 2
RECORD_BYTES_MIN: Final = 7
"""Length, attributes, two deltas, key and value length, header count: one byte each."""
SEQUENCE_MAX: Final = 2**31 - 1
OFFSET_MAX: Final = 2**63 - 1
NO_TIMESTAMP: Final = -1
NO_SEQUENCE: Final = -1

CODEC_BITS: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

KNOWN_BITS: Final = 0x7F
"""Attributes that mean nothing go when the attributes are written anew, as in Kafka."""

_MAGIC_AT: Final = 16
_LOW_ATTRIBUTES_AT: Final = 22
"""The lower byte of the attributes, which has all bits that mean something."""

HEADER: Final = Struct(">qiibIhiqqqhii")
_OVERHEAD: Final = Struct(">qi")
_OFFSET: Final = Struct(">q")
_EPOCH: Final = Struct(">i")
_CRC: Final = Struct(">I")
_ATTRIBUTES: Final = Struct(">h")
_MAX_TIMESTAMP: Final = Struct(">q")
_PRODUCER: Final = Struct(">qhi")

_CODECS: Final = tuple(Codec)


@dataclass(slots=True)
class BatchHeader:
    """The 61 bytes in front of the records. Offsets and timestamps (ms) are absolute; sizes count the whole batch."""

    base_offset: int
    size_bytes: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Codec:
        """The codec of the batch. Raises UnsupportedCompressionType for the three ids without a codec."""
        codec = self.attributes & CODEC_BITS
        if codec >= len(_CODECS):
            raise UnsupportedCompressionType(f"codec {codec} does not exist; 0 to 4 do")
        return _CODECS[codec]

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which the cleaner may drop this batch's tombstones.

        It stands where the base timestamp was (KIP-534).
        """
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id >= 0

    @property
    def last_sequence(self) -> int:
        """Sequences wrap from 2^31-1 to 0; -1 when there are none."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & SEQUENCE_MAX


def read_header(view: BytesLike, at: int = 0) -> BatchHeader:
    """Returns the header of the batch at `at`.

    Needs 61 bytes there; that the rest of the batch is there is not checked.

    Raises CorruptMessage, and UnsupportedForMessageFormat for the formats before version 2.
    """
    if len(view) - at < BATCH_HEADER_BYTES:
        raise CorruptMessage(f"{len(view) - at} bytes are too few for a batch header of 61")
    base_offset, length, *rest = HEADER.unpack_from(view, at)
    header = BatchHeader(base_offset, length + LOG_OVERHEAD_BYTES, *rest)
    if header.magic != MAGIC:
        raise _wrong_magic(header.magic)
    if header.size_bytes < BATCH_HEADER_BYTES:
        raise CorruptMessage(f"a batch length of {length} does not cover the batch's own header")
    return header


def is_transactional_batch(records: object) -> bool:
    """Whether these are the bytes of a batch with the bit of transactions; what is no batch at all has none.

    Asked for each batch of a client.
    """
    if not isinstance(records, memoryview) or len(records) < BATCH_HEADER_BYTES:
        return False
    return records[_MAGIC_AT] == MAGIC and bool(records[_LOW_ATTRIBUTES_AT] & TRANSACTIONAL_BIT)


def iterate_batches(
    view: BytesLike, *, strict: bool = False
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yields each batch's header and bytes, lazily, without a copy.

    A fetch response is cut at a number of bytes, so a batch that is not whole ends the iteration; with `strict` it
    raises CorruptMessage. The checksums are not looked at: see `validate_batch`.
    """
    view = memoryview(view)
    at = 0
    while len(view) - at >= BATCH_HEADER_BYTES:
        header = read_header(view, at)
        if header.size_bytes > len(view) - at:
            break
        yield header, view[at : at + header.size_bytes]
        at += header.size_bytes
    if strict and at < len(view):
        raise CorruptMessage(f"the {len(view) - at} bytes after the last batch are no whole batch")


def validate_batch(header: BatchHeader, view: BytesLike) -> None:
    """Checks the rules for every batch in a log, from clients and brokers alike, as far as its header tells.

    `view` is the batch and nothing more. Raises what `validate_structure` raises, and InvalidTimestamp.
    """
    validate_structure(header, view)
    _check_timestamps(header)


def validate_structure(header: BatchHeader, view: BytesLike) -> None:
    """Checks the same rules without those for timestamps, which a leader corrects in batches of clients.

    Raises CorruptMessage (size, checksum), InvalidRecord (counts, offsets), UnsupportedCompressionType.
    """
    view = memoryview(view)
    if header.size_bytes != len(view):
        raise CorruptMessage(f"the header says {header.size_bytes} bytes, there are {len(view)}")
    crc = crc32c(view[CHECKED_FROM:])
    if crc != header.crc:
        raise CorruptMessage(f"the checksum is {crc:#010x}, the header says {header.crc:#010x}")
    codec = header.codec
    _check_offsets(header)
    _check_count(header, codec, len(view) - BATCH_HEADER_BYTES)


def validate_produced_batch(header: BatchHeader) -> None:
    """Checks the further rules for a batch that a client sends: full, dense, no control records.

    Raises InvalidRecord, InvalidProducerEpoch.
    """
    if header.record_count == 0:
        raise InvalidRecord("there is no record in the batch")
    if header.is_control:
        raise InvalidRecord("clients may not write control records")
    if header.record_count != header.last_offset_delta + 1:
        raise InvalidRecord(
            f"{header.record_count} records with a last offset delta of {header.last_offset_delta}: "
            "a producer numbers its records without gaps"
        )
    if header.has_producer_id and header.base_sequence < 0:
        raise InvalidRecord(f"producer id {header.producer_id} without a sequence")
    if header.has_producer_id and header.producer_epoch < 0:
        raise InvalidProducerEpoch(
            f"producer id {header.producer_id} with epoch {header.producer_epoch}"
        )
    if header.is_transactional and not header.has_producer_id:
        raise InvalidRecord("a transactional batch without a producer id")


def patch_offset_and_epoch(view: memoryview, base_offset: int, leader_epoch: int) -> None:
    """Give a batch its place in the log, in place. Both fields are outside the checksum."""
    _OFFSET.pack_into(view, 0, base_offset)
    _EPOCH.pack_into(view, 12, leader_epoch)


def patch_log_append_time(view: memoryview, timestamp_ms: int) -> None:
    """Stamp every record of a batch with the time of its append, in place: flag, max timestamp and checksum."""
    (attributes,) = _ATTRIBUTES.unpack_from(view, 21)
    _ATTRIBUTES.pack_into(view, 21, attributes & KNOWN_BITS | LOG_APPEND_TIME_BIT)
    _MAX_TIMESTAMP.pack_into(view, 35, timestamp_ms)
    patch_crc(view)


def patch_create_time(view: memoryview, max_timestamp: int) -> None:
    """Correct what a producer says of its records' times, in place: no log append time, max timestamp and checksum."""
    (attributes,) = _ATTRIBUTES.unpack_from(view, 21)
    _ATTRIBUTES.pack_into(view, 21, attributes & KNOWN_BITS & ~LOG_APPEND_TIME_BIT)
    _MAX_TIMESTAMP.pack_into(view, 35, max_timestamp)
    patch_crc(view)


def patch_producer(
    view: memoryview, producer_id: int, producer_epoch: int, base_sequence: int
) -> None:
    """Number a finished batch again, in place, when a producer's epoch was bumped before it could be sent."""
    _PRODUCER.pack_into(view, 43, producer_id, producer_epoch, base_sequence)
    patch_crc(view)


def patch_crc(view: memoryview) -> None:
    """Make the checksum fit what the batch now holds. `view` is the batch and nothing more."""
    _CRC.pack_into(view, 17, crc32c(memoryview(view)[CHECKED_FROM:]))


def _wrong_magic(magic: int) -> CorruptMessage | UnsupportedForMessageFormat:
    if magic in (0, 1):
        return UnsupportedForMessageFormat(
            f"message format {magic} is no longer read; produce with record batches (magic 2)"
        )
    return CorruptMessage(f"magic {magic} is not a record batch (2)")


def _check_offsets(header: BatchHeader) -> None:
    if header.base_offset < 0 or header.last_offset_delta < 0:
        raise InvalidRecord(
            f"base offset {header.base_offset} and last offset delta {header.last_offset_delta} must not be negative"
        )
    if header.last_offset >= OFFSET_MAX:
        raise InvalidRecord(f"base offset {header.base_offset} leaves no room for the batch")


def _check_count(header: BatchHeader, codec: Codec, section_bytes: int) -> None:
    """Compaction leaves gaps, so fewer records than offsets are lawful, down to none."""
    count = header.record_count
    if not 0 <= count <= header.last_offset_delta + 1:
        raise InvalidRecord(f"{count} records for {header.last_offset_delta + 1} offsets")
    if (count == 0) != (section_bytes == 0):
        raise InvalidRecord(f"{count} records in {section_bytes} bytes")
    if codec is Codec.NONE and count * RECORD_BYTES_MIN > section_bytes:
        raise InvalidRecord(f"{count} records do not fit in {section_bytes} bytes")


def _check_timestamps(header: BatchHeader) -> None:
    """The base timestamp is the first record's, so the maximum cannot be less, unless either means something else."""
    if header.max_timestamp < NO_TIMESTAMP:
        raise InvalidTimestamp(f"max timestamp {header.max_timestamp} is before 1970")
    means_records = not header.attributes & (LOG_APPEND_TIME_BIT | DELETE_HORIZON_BIT)
    if header.record_count and means_records and header.max_timestamp < header.base_timestamp:
        raise InvalidTimestamp(
            f"max timestamp {header.max_timestamp} is before base timestamp {header.base_timestamp}"
        )
