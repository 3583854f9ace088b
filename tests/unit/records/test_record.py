from __future__ import annotations

import struct

import pytest

from millstream.errors import InvalidRecord, MessageTooLarge
from millstream.records.batch import patch_crc, read_header
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.record import Record, iterate_records

pytestmark = pytest.mark.usefixtures("twin")


def batch_of(section: bytes, count: int = 1, last_offset_delta: int | None = None) -> bytearray:
    """A batch whose header is right and whose records are `section`."""
    batch = build_batch([Record(timestamp=0)])[:61] + section
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">i", batch, 23, count - 1 if last_offset_delta is None else last_offset_delta)
    struct.pack_into(">i", batch, 57, count)
    patch_crc(memoryview(batch))
    return batch


def read(batch: bytes | bytearray) -> list[Record]:
    return list(iterate_records(read_header(batch), batch))


GOOD = bytes.fromhex("10 00 00 00 02 61 02 62 00")  # key a, value b, no headers


def test_record_is_read_field_by_field() -> None:
    assert read(batch_of(GOOD)) == [Record(offset=0, timestamp=0, key=b"a", value=b"b", headers=[])]


def test_null_and_empty_are_different() -> None:
    records = [Record(timestamp=1), Record(1, 1, b"", b"", [("", None), ("", b"")])]
    assert read(build_batch(records)) == records


def test_timestamps_may_fall_within_a_batch() -> None:
    records = [Record(0, 100), Record(1, 50), Record(2, 2**62)]
    assert read(build_batch(records)) == records


def test_header_key_that_is_not_utf8_is_replaced() -> None:
    section = bytes.fromhex("12 00 00 00 01 01 02 02 ff 00")
    assert read(batch_of(section))[0].headers == [("\ufffd", b"")]


def test_nothing_is_read_before_the_first_record_is_asked_for() -> None:
    broken = batch_of(b"broken!!")
    records = iterate_records(read_header(broken), broken)
    with pytest.raises(InvalidRecord):
        next(records)


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ("12 00 00 00 02 61 02 62 00", "does not fit"),  # length one too many
        ("0e 00 00 00 02 61 02 62 00", "fill"),  # one too few
        ("01 00 00 00 02 61 02 62 00", "does not fit"),  # negative length
        ("ff ff ff ff ff ff ff ff ff 7f 00", "does not fit"),  # ten bytes, more than 64 bits
        ("80 80 80 80 80 80 80 80 80 80 00", "does not fit"),  # a number without end
        ("80 80 80 80 80 80 80", "does not fit"),  # cut short inside the length
        ("10 00 00 00 03 61 02 62 00", "key"),  # key length -2
        ("10 00 00 00 7e 61 02 62 00", "key"),  # key beyond the record
        ("10 00 00 00 02 61 03 62 00", "value"),  # value length -2
        ("10 00 00 00 02 61 7e 62 00", "value"),  # value beyond the record
        ("10 00 00 00 02 61 02 62 01", "headers"),  # header count -1
        ("18 00 00 00 01 01 fe ff ff ff 0f 00 00", "headers"),  # 2^31-1 headers
        ("18 00 00 00 01 01 fe ff ff ff 7f 00 00", "headers"),  # more than 32 bits of them
        ("12 00 00 00 01 01 02 01 01 00", "key of header"),  # null header key
        ("12 00 00 00 01 01 02 00 03 00", "value of header"),  # header value length -2
        ("12 00 00 00 01 01 02 7e 61 00", "key of header"),  # header key beyond the record
        ("10 00 00 02 02 61 02 62 00", "offset"),  # offset delta 1 in a batch of one offset
        ("10 00 00 01 02 61 02 62 00", "offset"),  # offset delta -1
        ("10 00 00 00 02 61 02 62 00 00", "left"),  # bytes after the last record
    ],
)
def test_record_that_breaks_its_lengths_is_refused(section: str, reason: str) -> None:
    with pytest.raises(InvalidRecord, match=reason):
        read(batch_of(bytes.fromhex(section)))


@pytest.mark.parametrize("count", [2, 2**31 - 1])
def test_count_that_is_too_high_is_refused(count: int) -> None:
    with pytest.raises(InvalidRecord):
        read(batch_of(GOOD, count))


def test_count_that_is_too_low_is_refused() -> None:
    with pytest.raises(InvalidRecord, match="left after the last of 1"):
        read(batch_of(GOOD + GOOD, 1))


@pytest.mark.parametrize(("base", "delta"), [(2**63 - 1, "02"), (-(2**63), "01")])
def test_timestamp_beyond_64_bits_is_refused(base: int, delta: str) -> None:
    batch = batch_of(bytes.fromhex(f"10 00 {delta} 00 02 61 02 62 00"))
    struct.pack_into(">q", batch, 27, base)
    with pytest.raises(InvalidRecord, match="out of range"):
        read(batch)


def test_offsets_beyond_64_bits_are_refused() -> None:
    batch = batch_of(GOOD, last_offset_delta=1)
    struct.pack_into(">q", batch, 0, 2**63 - 1)
    with pytest.raises(InvalidRecord, match="out of range"):
        read(batch)


@pytest.mark.parametrize("codec", list(Codec))
def test_decompression_is_limited(codec: Codec) -> None:
    batch = build_batch([Record(value=bytes(100_000))], BatchOptions(codec=codec))
    with pytest.raises(MessageTooLarge):
        list(iterate_records(read_header(batch), batch, 50_000))
