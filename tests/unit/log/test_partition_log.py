from __future__ import annotations

import pytest

from millstream.errors import (
    CorruptMessage,
    InvalidRecord,
    InvalidTimestamp,
    KafkaStorageError,
    MessageTooLarge,
    OffsetOutOfRange,
    RecordListTooLarge,
)
from millstream.log import AppendInfo, FileRange
from millstream.log.append_check import AppendOrigin
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.batch import iterate_batches, read_header
from millstream.records.builder import BatchOptions
from millstream.records.compression import Codec
from millstream.records.control import (
    ControlType,
    TransactionMarker,
    build_end_transaction_marker,
)


def test_a_new_log_is_empty_and_starts_at_zero(world):
    log = world.open()
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (0, 0, 0)
    assert world.read(log) == b""


def test_append_numbers_records_and_stamps_the_leader_epoch(world):
    log = world.open()
    assert world.append(log, b"a", b"b", epoch=7) == AppendInfo(0, 1)
    assert world.append(log, b"c", epoch=7) == AppendInfo(2, 2)
    headers = [header for header, _ in iterate_batches(world.read(log))]
    assert [(h.base_offset, h.last_offset, h.partition_leader_epoch) for h in headers] == [
        (0, 1, 7),
        (2, 2, 7),
    ]
    assert log.leader_epochs.entries == ((7, 0),)


def test_several_batches_in_one_append_get_consecutive_offsets(world):
    log = world.open()
    together = memoryview(bytearray(world.batch(b"a", b"b")) + world.batch(b"c"))
    assert log.append_as_leader(together, 0, world.now) == AppendInfo(0, 2)
    assert world.values(log) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_what_is_appended_is_in_the_file_byte_for_byte(world):
    log = world.open()
    batch = world.batch(b"a")
    log.append_as_leader(batch, 0, world.now)
    assert world.content("00000000000000000000.log") == bytes(batch)


def test_a_damaged_batch_is_refused_and_leaves_no_trace(world):
    log = world.open()
    batch = world.batch(b"a")
    batch[-1] ^= 1
    with pytest.raises(CorruptMessage):
        log.append_as_leader(batch, 0, world.now)
    assert log.log_end_offset == 0
    assert world.content("00000000000000000000.log") == b""


def test_one_bad_batch_refuses_the_whole_append(world):
    log = world.open()
    bad = world.batch(b"b")
    bad[-1] ^= 1
    with pytest.raises(CorruptMessage):
        log.append_as_leader(memoryview(bytearray(world.batch(b"a")) + bad), 0, world.now)
    assert log.log_end_offset == 0


def test_a_client_may_not_write_what_only_brokers_write(world):
    log = world.open()
    marker = build_end_transaction_marker(
        ControlType.COMMIT, 0, 1_000, BatchOptions(producer_id=7, producer_epoch=0)
    )
    with pytest.raises(InvalidRecord, match="control records"):
        log.append_as_leader(memoryview(marker), 0, world.now)
    with pytest.raises(InvalidRecord, match="without a sequence"):
        world.append(log, b"a", producer_id=7, producer_epoch=0, base_sequence=-1)
    with pytest.raises(InvalidRecord, match="without a producer id"):
        world.append(log, b"a", is_transactional=True)
    assert log.log_end_offset == 0


@pytest.mark.parametrize("limit", ["segment_bytes", "max_message_bytes"])
def test_what_the_topic_unpacks_is_measured_again(world, limit):
    packed = world.batch(b"a" * 5_000, codec=Codec.GZIP)
    assert len(packed) < 1_000
    log = world.open(LogConfig(**{"compression_type": "uncompressed", limit: 4_000}))
    with pytest.raises(MessageTooLarge if limit == "max_message_bytes" else RecordListTooLarge):
        log.append_as_leader(packed, 0, world.now)
    assert log.log_end_offset == 0


def test_a_batch_above_max_message_bytes_is_too_large(world):
    log = world.open(LogConfig(max_message_bytes=100))
    with pytest.raises(MessageTooLarge, match=r"max.message.bytes of the topic is 100"):
        world.append(log, b"x" * 100)


def test_an_append_above_the_segment_size_is_refused(world):
    log = world.open(LogConfig(segment_bytes=200))
    with pytest.raises(RecordListTooLarge):
        world.append(log, b"x" * 300)


def test_a_compacted_topic_refuses_records_without_keys_and_names_them(world):
    log = world.open(LogConfig(cleanup_policy=frozenset({"compact"})))
    with pytest.raises(InvalidRecord) as refused:
        world.append(log, b"a", b"b", key=None)
    assert [(e.index, e.message) for e in refused.value.record_errors] == [
        (0, "a compacted topic needs a key in every record"),
        (1, "a compacted topic needs a key in every record"),
    ]


def test_log_append_time_replaces_the_producers_time(world):
    log = world.open(LogConfig(message_timestamp_type="LogAppendTime"))
    assert world.append(log, b"a", timestamp=5) == AppendInfo(0, 0, log_append_time_ms=1_000_000)
    header = read_header(world.read(log))
    assert (header.max_timestamp, header.is_log_append_time) == (1_000_000, True)
    assert log.segments[0].largest_timestamp_ms == 1_000_000, "retention and look-ups go by it"


def test_markers_are_stamped_as_records_are(world):
    log = world.open(LogConfig(message_timestamp_type="LogAppendTime"))
    marker = TransactionMarker(7, 0, coordinator_epoch=0, is_commit=True)
    batch = memoryview(marker.build(5))
    log.append_as_leader(batch, 0, world.now, AppendOrigin.COORDINATOR)
    header = read_header(world.read(log))
    assert (header.is_log_append_time, header.is_control, header.max_timestamp) == (
        True,
        True,
        1_000_000,
    )


def test_a_timestamp_too_far_in_the_future_is_refused(world):
    log = world.open(LogConfig(message_timestamp_after_max_ms=1_000))
    world.append(log, b"a", timestamp=1_001_000)
    with pytest.raises(InvalidTimestamp) as refused:
        world.append(log, b"a", timestamp=1_001_001)
    assert [e.index for e in refused.value.record_errors] == [0]


def test_a_timestamp_too_far_in_the_past_is_refused_when_the_topic_says_so(world):
    log = world.open(LogConfig(message_timestamp_before_max_ms=1_000))
    world.append(log, b"a", timestamp=999_000)
    with pytest.raises(InvalidTimestamp):
        world.append(log, b"a", timestamp=998_999)


def test_a_record_without_timestamp_is_not_judged_by_time(world):
    log = world.open(LogConfig(message_timestamp_before_max_ms=1_000))
    assert world.append(log, b"a", timestamp=-1) == AppendInfo(0, 0)


@pytest.mark.parametrize(
    ("setting", "codec"),
    [
        ("uncompressed", Codec.NONE),
        ("gzip", Codec.GZIP),
        ("snappy", Codec.SNAPPY),
        ("lz4", Codec.LZ4),
        ("zstd", Codec.ZSTD),
    ],
)
def test_the_topics_compression_type_replaces_the_producers(world, setting, codec):
    log = world.open(LogConfig(compression_type=setting))
    world.append(
        log, b"a" * 500, b"b" * 500, codec=Codec.LZ4 if codec is not Codec.LZ4 else Codec.GZIP
    )
    assert read_header(world.read(log)).codec is codec
    assert world.values(log) == [(0, b"a" * 500), (1, b"b" * 500)]


def test_a_full_disk_refuses_the_append_with_a_sentence_and_leaves_the_log_intact(world):
    log = world.open()
    world.append(log, b"a")
    before = world.content("00000000000000000000.log")
    world.disk.space_bytes = 20
    with pytest.raises(
        KafkaStorageError, match=r"cannot append to the log of t-0 .* free some space"
    ):
        world.append(log, b"b")
    assert world.content("00000000000000000000.log") == before
    world.disk.space_bytes = None
    assert world.append(log, b"c") == AppendInfo(1, 1)
    assert world.values(log) == [(0, b"a"), (1, b"c")]


def test_after_a_failed_sync_the_log_refuses_everything(world):
    log = world.open()
    world.append(log, b"a")
    world.disk.failing_syncs = lambda path: path.endswith(".log")
    with pytest.raises(KafkaStorageError, match="failed to sync"):
        log.flush(world.now)
    world.disk.failing_syncs = lambda path: False
    with pytest.raises(KafkaStorageError, match="restart the broker to recover"):
        world.append(log, b"b")
    with pytest.raises(KafkaStorageError):
        world.read(log)
    with pytest.raises(KafkaStorageError):
        log.plan_flush()


# --- read


def test_a_read_inside_a_batch_returns_the_whole_batch(world):
    log = world.open()
    world.append(log, b"a", b"b", b"c")
    assert read_header(world.read(log, offset=2)).base_offset == 0


def test_a_read_returns_whole_batches_within_the_limit(world):
    log = world.open()
    size = len(world.batch(b"a"))
    for _ in range(3):
        world.append(log, b"a")
    assert len(world.read(log, bytes_max=2 * size + 10)) == 2 * size


def test_a_read_returns_one_batch_even_above_the_limit(world):
    log = world.open()
    world.append(log, b"a" * 100)
    world.append(log, b"b")
    assert [h.base_offset for h, _ in iterate_batches(world.read(log, bytes_max=1))] == [0]
    assert world.read(log, bytes_max=1, min_one_batch=False) == b""


def test_a_read_stops_before_the_upper_bound(world):
    log = world.open()
    for _ in range(3):
        world.append(log, b"a", b"b")
    assert [h.base_offset for h, _ in iterate_batches(world.read(log, upper_bound=4))] == [0, 2]
    assert [h.base_offset for h, _ in iterate_batches(world.read(log, upper_bound=3))] == [0]
    assert world.read(log, offset=4, upper_bound=4) == b""


def test_a_read_outside_the_log_is_out_of_range(world):
    log = world.open()
    world.append(log, b"a", b"b")
    assert world.read(log, offset=2) == b""
    with pytest.raises(OffsetOutOfRange):
        world.read(log, offset=3)
    with pytest.raises(OffsetOutOfRange):
        world.read(log, offset=-1)


def test_a_large_read_is_a_file_range_and_a_small_one_bytes(world):
    log = world.open()
    world.append(log, b"a" * 100_000)
    world.append(log, b"b")
    large = log.read(0, 1 << 20, log.log_end_offset).records
    assert isinstance(large, FileRange)
    assert (large.position, len(large)) == (0, log.size_bytes)
    assert isinstance(log.read(1, 1 << 20, log.log_end_offset).records, bytes)


def test_every_offset_is_found_through_the_index(world):
    log = world.open(LogConfig(index_interval_bytes=300, segment_bytes=3_000))
    for number in range(100):
        world.append(log, b"x%d" % number, b"y%d" % number)
    expected = [(n, (b"x%d" if n % 2 == 0 else b"y%d") % (n // 2)) for n in range(200)]
    assert len(log.segments) > 2
    for offset in range(200):
        header, _ = next(iterate_batches(world.read(log, offset, bytes_max=1)))
        assert header.base_offset == offset - offset % 2
    assert world.values(log) == expected


# --- roll


def test_a_full_segment_is_rolled_and_named_by_the_next_offset(world):
    log = world.open(LogConfig(segment_bytes=200))
    for _ in range(3):
        world.append(log, b"x" * 50)
    assert [s.base_offset for s in log.segments] == [0, 1, 2]
    assert "00000000000000000001.log" in world.files()
    assert "00000000000000000001.snapshot" in world.files()


def test_a_segment_is_rolled_by_the_age_of_its_records(world):
    log = world.open(LogConfig(segment_ms=1_000))
    world.append(log, b"a", timestamp=1)
    world.append(log, b"b", timestamp=1_001)
    assert len(log.segments) == 1
    world.append(log, b"c", timestamp=1_002)
    assert [s.base_offset for s in log.segments] == [0, 2]


def test_a_segment_without_timestamps_is_rolled_by_the_clock(world):
    log = world.open(LogConfig(segment_ms=1_000))
    world.append(log, b"a", timestamp=-1)
    world.later(1_001)
    world.append(log, b"b", timestamp=-1)
    assert [s.base_offset for s in log.segments] == [0, 1]


def test_jitter_lets_a_segment_roll_earlier(world):
    log = world.open(LogConfig(segment_ms=1_000, segment_jitter_ms=400))
    world.append(log, b"a", timestamp=1)
    world.append(log, b"b", timestamp=802)
    assert [s.base_offset for s in log.segments] == [0, 1]


def test_a_full_index_rolls_the_segment(world):
    log = world.open(LogConfig(index_interval_bytes=0, segment_index_bytes=24))
    for timestamp in range(4):
        world.append(log, b"a", timestamp=timestamp)
    assert [s.base_offset for s in log.segments] == [0, 2]


def test_offsets_too_far_from_the_base_roll_the_segment(world):
    log = world.open()
    world.append(log, b"a")
    far = world.batch(b"b", base_offset=2**31)
    log.append_as_follower(far, world.now)
    assert [s.base_offset for s in log.segments] == [0, 1]


# --- flush


def test_truncation_removes_the_records_from_an_offset_on(world):
    log = world.open(LogConfig(segment_bytes=200))
    for _ in range(4):
        world.append(log, b"x" * 50)
    log.truncate_to(2, world.now)
    assert log.log_end_offset == 2
    assert world.values(log) == [(0, b"x" * 50), (1, b"x" * 50)]
    assert world.append(log, b"y") == AppendInfo(2, 2)


def test_truncation_inside_a_batch_removes_the_whole_batch(world):
    log = world.open()
    world.append(log, b"a")
    world.append(log, b"b", b"c", b"d")
    log.truncate_to(2, world.now)
    assert log.log_end_offset == 1


def test_truncation_forgets_leader_epochs_and_producers_of_what_it_removed(world):
    log = world.open()
    world.append(log, b"a", epoch=1)
    log.append_as_leader(world.produced(5, 0, 0), 3, world.now)
    log.truncate_to(1, world.now)
    assert log.leader_epochs.entries == ((1, 0),)
    assert log.producers.get(5) is None


def test_a_log_can_start_over_at_any_offset(world):
    log = world.open()
    world.append(log, b"a")
    log.truncate_fully_and_start_at(100, world.now)
    assert (log.log_start_offset, log.log_end_offset) == (100, 100)
    assert world.append(log, b"b") == AppendInfo(100, 100)
    assert "00000000000000000000.log" not in world.files()


def test_truncating_everything_starts_over_in_the_same_segment(world):
    log = world.open()
    world.append(log, b"a")
    log.truncate_to(0, world.now)
    assert world.append(log, b"b") == AppendInfo(0, 0)
    assert world.values(log) == [(0, b"b")]


def test_deleting_records_moves_the_log_start_offset_and_later_the_files(world):
    log = world.open(LogConfig(segment_bytes=200, retention_ms=-1, file_delete_delay_ms=10))
    for _ in range(4):
        world.append(log, b"x" * 50)
    log.delete_records_before(2)
    assert log.log_start_offset == 2
    with pytest.raises(OffsetOutOfRange):
        world.read(log, offset=1)
    assert log.maintain(upper_bound=4, now=world.now) == 2
    assert "00000000000000000000.log.deleted" in world.files()
    for remove in log.take_due_removals(world.later(10)):
        remove()
    assert not [name for name in world.files() if name.endswith(".deleted")]
    with pytest.raises(OffsetOutOfRange, match="ends at 4"):
        log.delete_records_before(5)


def test_retention_by_time_drops_old_segments_even_the_active_one(world):
    log = world.open(LogConfig(segment_bytes=200, retention_ms=1_000))
    for timestamp in (999_000, 999_001):
        world.append(log, b"x" * 50, timestamp=timestamp)
    assert log.maintain(upper_bound=2, now=world.now) == 0
    assert log.maintain(upper_bound=2, now=world.later(1)) == 1
    assert log.maintain(upper_bound=2, now=world.later(1)) == 1
    assert (log.log_start_offset, log.log_end_offset) == (2, 2)
    assert world.append(log, b"y") == AppendInfo(2, 2)


def test_a_segment_that_a_cleaner_has_emptied_does_not_hold_back_retention(world):
    """Kafka's leaves such segments; ours keeps the last batch of each."""
    config = LogConfig(
        cleanup_policy=frozenset({"compact", "delete"}), segment_bytes=200, retention_ms=60_000
    )
    log = world.open(config)
    for _ in range(6):
        world.append(log, b"a")
    emptied, *_, active = log.segments
    log.abandon()
    world.disk.open(f"/data/t-0/{emptied.base_offset:020d}.log").truncate(0)
    again = world.open(config)
    assert again.first_segment_offset == emptied.base_offset
    again.maintain(again.log_end_offset, world.later(10**9))
    assert again.first_segment_offset > active.base_offset


def test_retention_by_size_drops_what_exceeds_it(world):
    log = world.open(LogConfig(segment_bytes=200, retention_ms=-1, retention_bytes=250))
    for _ in range(4):
        world.append(log, b"x" * 50)
    one = log.segments[0].size_bytes
    assert log.maintain(upper_bound=4, now=world.now) == (4 * one - 250) // one
    assert log.log_start_offset == (4 * one - 250) // one


@pytest.mark.parametrize(
    ("limits", "left"),
    [({"retention_bytes": 0}, 3), ({"retention_bytes": -1}, 0), ({"retention_ms": 0}, 3)],
)
def test_a_limit_of_zero_keeps_nothing_and_a_negative_one_everything(world, limits, left):
    log = world.open(LogConfig(**{"segment_bytes": 200, "retention_ms": -1, **limits}))
    for _ in range(3):
        world.append(log, b"x" * 50)
    assert log.maintain(upper_bound=3, now=world.later(1)) == left
    assert log.log_start_offset == left


@pytest.mark.parametrize(("policies", "left"), [({"compact"}, 0), ({"compact", "delete"}, 4)])
def test_a_log_that_is_only_compacted_loses_nothing_by_age_or_size(world, policies, left):
    log = world.open(
        LogConfig(
            segment_bytes=200, retention_ms=1, retention_bytes=1, cleanup_policy=frozenset(policies)
        )
    )
    for _ in range(4):
        world.append(log, b"x" * 50)
    assert log.maintain(upper_bound=4, now=world.later(10_000_000)) == left
    assert log.log_start_offset == left


def test_retention_never_reaches_the_high_watermark(world):
    log = world.open(LogConfig(segment_bytes=200, retention_ms=1))
    for _ in range(3):
        world.append(log, b"x" * 50)
    world.later(10_000_000)
    assert log.maintain(upper_bound=1, now=world.now) == 1
    assert log.log_start_offset == 1


def test_ranges_of_deleted_segments_stay_readable_until_the_delay_is_over(world):
    log = world.open(LogConfig(segment_bytes=200_000, retention_ms=1, file_delete_delay_ms=60_000))
    world.append(log, b"x" * 100_000)
    data = log.read(0, 1 << 20, 1).records
    log.maintain(upper_bound=1, now=world.later(10_000_000))
    assert read_header(data.read()).base_offset == 0


# --- reserved space


def test_space_is_reserved_for_records_that_are_not_written_yet(world):
    log = world.open(LogConfig(segment_bytes=10_000, preallocate=True))
    world.append(log, b"x" * 100)
    world.disk.space_bytes = 0
    world.append(log, b"x" * 9_000)
    assert (log.log_end_offset, world.disk.space_bytes) == (2, 0)


def test_nothing_is_reserved_where_less_than_a_tenth_of_the_disk_would_stay_free(world):
    world.disk.space_bytes = 11_000
    log = world.open(LogConfig(segment_bytes=10_000, preallocate=True))
    assert world.disk.space_bytes > 10_000
    world.append(log, b"x" * 2_000)
    assert world.disk.space_bytes < 9_000


def test_a_segment_that_is_rolled_gives_back_the_space_it_does_not_need(world):
    log = world.open(LogConfig(segment_bytes=10_000, preallocate=True))
    world.disk.space_bytes = 11_000
    world.append(log, b"x" * 1_000)
    log.roll(world.now)
    assert 9_000 < world.disk.space_bytes < 10_000
    log.close(world.now)
    assert 19_000 < world.disk.space_bytes < 20_000


# --- the whole


def test_a_closed_log_refuses_everything(world):
    log = world.open()
    log.close(world.now)
    with pytest.raises(KafkaStorageError, match="is closed"):
        world.append(log, b"a")
    assert world.disk.open_handles() == []


def test_a_log_knows_its_partition(world):
    assert world.open().partition == TopicPartition("t", 0)


def test_a_segment_without_timestamps_is_as_old_as_its_file(world):
    log = world.open(LogConfig(retention_ms=1_000))
    world.disk.now_ms = world.now.wall_ms
    world.append(log, b"x", timestamp=-1)
    assert log.maintain(upper_bound=1, now=world.later(1_000)) == 0
    assert log.maintain(upper_bound=1, now=world.later(1)) == 1


def test_a_compacted_log_rolls_before_its_maximum_lag_has_passed(world):
    """Only sealed segments are compacted, so max.compaction.lag.ms bounds the age of the active one."""
    config = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=500)
    log = world.open(config)
    world.append(log, b"x", timestamp=1_000)
    world.append(log, b"x", timestamp=1_500)
    assert len(log.segments) == 1
    world.append(log, b"x", timestamp=1_501)
    assert len(log.segments) == 2


def test_a_closed_log_without_records_has_the_index_files_that_kafka_looks_for(world):
    """It takes a missing one for damage, and says so at ERROR."""
    log = world.open()
    log.close(world.now)
    for suffix in ("log", "index", "timeindex"):
        assert world.content(f"00000000000000000000.{suffix}") == b""
