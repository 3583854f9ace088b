from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from millstream.errors import (
    CorruptMessage,
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidTimestamp,
    UnsupportedCompressionType,
    UnsupportedForMessageFormat,
)
from millstream.records.batch import (
    BatchHeader,
    is_transactional_batch,
    iterate_batches,
    patch_crc,
    patch_log_append_time,
    patch_offset_and_epoch,
    patch_producer,
    read_header,
    validate_batch,
    validate_produced_batch,
)
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.record import Record, iterate_records


def two_records(**options: object) -> bytearray:
    records = [Record(timestamp=1000, value=b"a"), Record(timestamp=1005, value=b"b")]
    return build_batch(records, BatchOptions(base_offset=10, leader_epoch=3, **options))  # type: ignore[arg-type]  # reason: fields by name


def changed(at: int, layout: str, value: int) -> tuple[BatchHeader, bytearray]:
    """A good batch with one field replaced and the checksum made to fit again."""
    batch = two_records()
    struct.pack_into(layout, batch, at, value)
    patch_crc(memoryview(batch))
    return read_header(batch), batch


def test_header_of_a_batch_is_read() -> None:
    batch = two_records(codec=Codec.NONE, producer_id=7, producer_epoch=2, base_sequence=5)
    header = read_header(batch)
    assert header == BatchHeader(
        base_offset=10, size_bytes=len(batch), partition_leader_epoch=3, magic=2, crc=header.crc,
        attributes=0, last_offset_delta=1, base_timestamp=1000, max_timestamp=1005, producer_id=7,
        producer_epoch=2, base_sequence=5, record_count=2,
    )  # fmt: skip
    assert (header.last_offset, header.next_offset, header.last_sequence) == (11, 12, 6)
    assert (header.is_control, header.is_transactional, header.is_log_append_time) == (False,) * 3
    validate_batch(header, batch)
    validate_produced_batch(header)


def test_header_is_read_at_a_position() -> None:
    batch = two_records()
    assert read_header(b"....." + batch, 5) == read_header(batch)


def test_sequences_wrap_after_the_highest() -> None:
    header = read_header(two_records(producer_id=1, producer_epoch=0, base_sequence=2**31 - 1))
    assert header.last_sequence == 0


def test_batch_without_sequence_has_no_last_sequence() -> None:
    assert read_header(two_records()).last_sequence == -1


@pytest.mark.parametrize("length", [0, 1, 60])
def test_header_that_is_cut_short_is_corrupt(length: int) -> None:
    with pytest.raises(CorruptMessage, match="too few for a batch header"):
        read_header(two_records()[:length])


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48])
def test_batch_length_that_does_not_cover_the_header_is_corrupt(length: int) -> None:
    batch = two_records()
    struct.pack_into(">i", batch, 8, length)
    with pytest.raises(CorruptMessage, match="does not cover"):
        read_header(batch)


@pytest.mark.parametrize(
    ("magic", "error"),
    [(0, UnsupportedForMessageFormat), (1, UnsupportedForMessageFormat), (3, CorruptMessage), (-1, CorruptMessage)],
)  # fmt: skip
def test_other_formats_are_refused(magic: int, error: type[Exception]) -> None:
    batch = two_records()
    struct.pack_into(">b", batch, 16, magic)
    with pytest.raises(error):
        read_header(batch)


def test_a_transactional_batch_is_told_by_its_bytes() -> None:
    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    batch = memoryview(two_records(**producer, is_transactional=True))
    assert is_transactional_batch(batch)
    assert not is_transactional_batch(memoryview(two_records(**producer)))
    assert not is_transactional_batch(batch[:60]), "no header"
    assert not is_transactional_batch(None)
    batch[16] = 1
    assert not is_transactional_batch(batch), "bit 4 means nothing in format 1"


def test_batches_are_iterated_without_a_copy() -> None:
    log = bytearray(two_records() + two_records())
    found = list(iterate_batches(log))
    assert [len(view) for _, view in found] == [len(log) // 2] * 2
    assert found[1][1].obj is log


@pytest.mark.parametrize("cut", [1, 61, 70])
def test_batch_that_is_not_whole_ends_the_iteration(cut: int) -> None:
    """A fetch response is cut at a number of bytes."""
    batch = two_records()
    assert [header.base_offset for header, _ in iterate_batches(batch + batch[:cut])] == [10]


@pytest.mark.parametrize("cut", [1, 61, 70])
def test_batch_that_is_not_whole_is_corrupt_when_strict(cut: int) -> None:
    batch = two_records()
    with pytest.raises(CorruptMessage, match="no whole batch"):
        list(iterate_batches(batch + batch[:cut], strict=True))


def test_other_bytes_than_the_header_counts_are_corrupt() -> None:
    batch = two_records()
    with pytest.raises(CorruptMessage, match="the header says"):
        validate_batch(read_header(batch), batch + b"\x00")


def test_wrong_checksum_is_corrupt() -> None:
    batch = two_records()
    batch[-1] ^= 1
    with pytest.raises(CorruptMessage, match="checksum"):
        validate_batch(read_header(batch), batch)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codec_that_does_not_exist_is_refused(codec: int) -> None:
    header, batch = changed(21, ">h", codec)
    with pytest.raises(UnsupportedCompressionType, match=f"codec {codec}"):
        validate_batch(header, batch)


@pytest.mark.parametrize(
    ("at", "layout", "value", "reason"),
    [
        (0, ">q", -1, "must not be negative"),
        (0, ">q", 2**63 - 1, "no room"),
        (23, ">i", -1, "must not be negative"),
        (57, ">i", -1, "-1 records"),
        (57, ">i", 0, "0 records in"),
        (57, ">i", 3, "3 records for 2 offsets"),
    ],
)
def test_offsets_and_counts_that_cannot_be_are_refused(
    at: int, layout: str, value: int, reason: str
) -> None:
    header, batch = changed(at, layout, value)
    with pytest.raises(InvalidRecord, match=reason):
        validate_batch(header, batch)


def test_count_that_the_bytes_cannot_hold_is_refused() -> None:
    batch = two_records()
    struct.pack_into(">i", batch, 23, 2**31 - 1)
    struct.pack_into(">i", batch, 57, 2**31 - 1)
    patch_crc(memoryview(batch))
    with pytest.raises(InvalidRecord, match="do not fit"):
        validate_batch(read_header(batch), batch)


@pytest.mark.parametrize("timestamp", [-2, 999])
def test_max_timestamp_before_the_first_record_or_1970_is_refused(timestamp: int) -> None:
    header, batch = changed(35, ">q", timestamp)
    with pytest.raises(InvalidTimestamp):
        validate_batch(header, batch)


def test_producer_id_needs_an_epoch() -> None:
    header, _ = changed(43, ">q", 5)
    with pytest.raises(InvalidProducerEpoch, match="producer id 5 with epoch -1"):
        validate_produced_batch(replace(header, base_sequence=0))


def test_empty_batch_that_compaction_leaves_is_valid() -> None:
    """The last batch of a live producer stays as a bare header."""
    batch = two_records()[:61]
    struct.pack_into(">i", batch, 8, 49)
    struct.pack_into(">i", batch, 57, 0)
    patch_crc(memoryview(batch))
    header = read_header(batch)
    validate_batch(header, batch)
    assert header.last_offset == 11
    assert list(iterate_records(header, batch)) == []


def test_compacted_batch_may_have_fewer_records_than_offsets() -> None:
    header, batch = changed(23, ">i", 5)
    validate_batch(header, batch)
    with pytest.raises(InvalidRecord, match="without gaps"):
        validate_produced_batch(header)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"is_control": True}, "control records"),
        ({"producer_id": 1, "producer_epoch": 0}, "without a sequence"),
        ({"is_transactional": True}, "without a producer id"),
    ],
)
def test_what_clients_may_not_write_is_refused(options: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidRecord, match=reason):
        validate_produced_batch(read_header(two_records(**options)))


def test_offset_and_epoch_are_patched_outside_the_checksum() -> None:
    batch = two_records()
    before = read_header(batch)
    patch_offset_and_epoch(memoryview(batch), 2**40, 9)
    after = read_header(batch)
    assert (after.base_offset, after.partition_leader_epoch, after.crc) == (2**40, 9, before.crc)
    validate_batch(after, batch)


@pytest.mark.parametrize("codec", list(Codec))
def test_log_append_time_holds_for_every_record(codec: Codec) -> None:
    batch = two_records(codec=codec)
    patch_log_append_time(memoryview(batch), 77)
    header = read_header(batch)
    validate_batch(header, batch)
    assert header.is_log_append_time
    assert header.codec is codec
    assert [record.timestamp for record in iterate_records(header, batch)] == [77, 77]


def test_producer_state_is_patched_with_a_new_checksum() -> None:
    batch = two_records(producer_id=1, producer_epoch=0, base_sequence=0)
    patch_producer(memoryview(batch), 2, 3, 4)
    header = read_header(batch)
    validate_batch(header, batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (2, 3, 4)
