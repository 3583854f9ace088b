"""What a leader makes of a client's batch before it is appended."""

from __future__ import annotations

from dataclasses import replace

import cramjam
import pytest

from millstream.errors import InvalidRecord, InvalidTimestamp, MessageTooLarge
from millstream.log import append_check
from millstream.log.append_check import (
    Allowance,
    AppendOrigin,
    RefusedRecords,
    RefusedTimestamps,
    TooMuchWork,
    checked_batches,
)
from millstream.metadata.topic_config import LogConfig
from millstream.records.batch import BATCH_HEADER_BYTES, patch_crc, read_header, validate_batch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec, compress
from millstream.records.record import Record, iterate_records
from millstream.runtime import Instant
from tests.oracle.broker.broken_batches import PLAIN, WHOLE, assemble

NOW = Instant(1_700_000_000_000, 0)
PLAIN_TOPIC = LogConfig()
COMPACTED = replace(PLAIN_TOPIC, cleanup_policy=frozenset({"compact"}))
BOMB_BYTES = 64 * 1024 * 1024


def check(records: bytes | bytearray, config: LogConfig = PLAIN_TOPIC, **options: object):
    return checked_batches(
        memoryview(bytearray(records)), config, NOW, AppendOrigin.CLIENT, **options
    )


def batch(count: int, codec: Codec = Codec.NONE, *, at_ms: int = NOW.wall_ms, **fields: object):
    return build_batch(
        (Record(timestamp=at_ms, **fields) for _ in range(count)), BatchOptions(codec)
    )


def bomb(codec: Codec) -> bytes:
    """A few kilobytes that unpack to 64 MiB of zeros."""
    return assemble(WHOLE, compress(codec, bytes(BOMB_BYTES)), codec)


def test_a_hundred_records_at_fault_are_named_and_the_rest_is_not_walked():
    with pytest.raises(RefusedRecords, match="no key in 100 records or more") as refused:
        check(batch(100_000), COMPACTED)
    assert [error.index for error in refused.value.record_errors] == list(range(100))


def test_timestamps_at_fault_are_named_up_to_the_hundredth():
    with pytest.raises(RefusedTimestamps) as refused:
        check(batch(100_000, at_ms=NOW.wall_ms * 2))
    assert [error.index for error in refused.value.record_errors] == list(range(100))
    assert "3400000000000 is outside" in refused.value.record_errors[0].message


@pytest.mark.parametrize("codec", list(Codec))
def test_a_small_batch_is_within_the_allowance_of_a_request(codec):
    allowance = Allowance()
    checked = check(batch(3, codec, value=b"v"), allowance=allowance)
    assert checked.headers[0].record_count == 3
    assert 0 < allowance.bytes_left < append_check.AT_ONCE_BYTES


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD, Codec.LZ4, Codec.SNAPPY])
def test_what_unpacks_to_more_than_the_allowance_is_too_much_work(codec):
    allowance = Allowance()
    with pytest.raises(TooMuchWork):
        check(bomb(codec), replace(PLAIN_TOPIC, max_message_bytes=1 << 30), allowance=allowance)
    assert allowance.bytes_left == 0


def test_packed_bytes_that_unpack_to_nothing_are_too_much_work():
    nothing = bytes(cramjam.gzip.compress(b"")) * 5_000
    with pytest.raises(TooMuchWork):
        check(assemble(WHOLE, nothing, Codec.GZIP), allowance=Allowance())


def test_plain_records_of_more_than_the_allowance_are_too_much_work():
    large = LogConfig(max_message_bytes=1 << 30)
    with pytest.raises(TooMuchWork):
        check(batch(1, value=bytes(append_check.AT_ONCE_BYTES)), large, allowance=Allowance())


def test_compressing_anew_counts_for_more_than_walking():
    section_bytes = append_check.AT_ONCE_BYTES // 16
    records = batch(1, value=bytes(section_bytes))
    check(records, allowance=Allowance())
    with pytest.raises(TooMuchWork):
        check(records, replace(PLAIN_TOPIC, compression_type="gzip"), allowance=Allowance())


def test_the_allowance_is_that_of_all_batches_of_a_request():
    allowance = Allowance(15)
    check(batch(1), allowance=allowance)
    check(batch(1), allowance=allowance)
    with pytest.raises(TooMuchWork):
        check(batch(1), allowance=allowance)


def test_a_check_that_was_too_much_work_has_changed_nothing():
    records = memoryview(bytearray(batch(2, at_ms=5)))
    records[35:43] = (99).to_bytes(8, "big")
    append_check.patch_crc(records)
    before = bytes(records)
    with pytest.raises(TooMuchWork):
        checked_batches(records, PLAIN_TOPIC, NOW, AppendOrigin.CLIENT, Allowance(10))
    assert bytes(records) == before


def test_records_beyond_the_limit_are_refused_as_too_large():
    zeros = bytes(append_check.DECOMPRESSED_BYTES_MAX + 1)
    records = assemble(WHOLE, bytes(cramjam.zstd.compress(zeros)), Codec.ZSTD)
    with pytest.raises(MessageTooLarge, match="expand to more than"):
        check(records)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_garbage_is_an_invalid_record_that_nobody_sends_again(codec):
    with pytest.raises(InvalidRecord, match="cannot be decompressed"):
        check(assemble(WHOLE, b"no compressed stream at all", codec))


def test_lz4_of_linked_blocks_which_java_cannot_read_is_refused():
    linked = bytes(cramjam.lz4.compress(PLAIN))
    with pytest.raises(InvalidRecord, match="independent blocks"):
        check(assemble(WHOLE, linked, Codec.LZ4))


@pytest.mark.parametrize("max_timestamp", [-5, -1, 0, NOW.wall_ms - 9, NOW.wall_ms + 9, 2**62])
@pytest.mark.parametrize("codec", list(Codec))
def test_the_header_gets_the_largest_time_of_the_records(codec, max_timestamp):
    records = batch(2, codec, value=b"v")
    records[35:43] = max_timestamp.to_bytes(8, "big", signed=True)
    append_check.patch_crc(memoryview(records))
    checked = check(records)
    (header,), (view,) = checked.headers, checked.views
    assert header.max_timestamp == NOW.wall_ms
    assert read_header(view) == replace(header, crc=read_header(view).crc)
    validate_batch(read_header(view), view)


def test_log_append_time_of_a_client_is_taken_back():
    records = build_batch([Record(timestamp=NOW.wall_ms)], BatchOptions(log_append_time_ms=5))
    checked = check(records)
    assert not checked.headers[0].is_log_append_time
    assert [r.timestamp for r in iterate_records(checked.headers[0], checked.views[0])] == [
        NOW.wall_ms
    ]


def test_log_append_time_of_a_client_is_refused_where_the_topic_sets_it():
    topic = replace(PLAIN_TOPIC, message_timestamp_type="LogAppendTime")
    records = build_batch([Record(), Record()], BatchOptions(log_append_time_ms=5))
    with pytest.raises(RefusedTimestamps, match="only a broker") as refused:
        check(records, topic)
    assert [error.index for error in refused.value.record_errors] == [0, 1]


def test_the_topic_sets_the_time_of_every_record():
    checked = check(batch(2), replace(PLAIN_TOPIC, message_timestamp_type="LogAppendTime"))
    assert checked.append_time_ms == NOW.wall_ms
    assert checked.headers[0].is_log_append_time
    validate_batch(read_header(checked.views[0]), checked.views[0])


def test_what_the_coordinator_writes_is_not_walked():
    records = memoryview(bytearray(assemble(WHOLE, bytes(40))))
    checked = checked_batches(records, PLAIN_TOPIC, NOW, AppendOrigin.COORDINATOR)
    assert checked.size_bytes == len(records)


def test_a_batch_whose_records_are_all_older_than_its_base_timestamp_is_refused():
    """No reader of ours would take it: the base timestamp is the first record's."""
    changed = bytearray(batch(1, value=b"v"))
    changed[BATCH_HEADER_BYTES + 2] = 1  # the timestamp delta, -1
    patch_crc(memoryview(changed))
    with pytest.raises(InvalidTimestamp, match="before base timestamp"):
        check(changed)
