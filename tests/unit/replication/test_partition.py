from __future__ import annotations

import pytest

from millstream.errors import (
    FencedLeaderEpoch,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownLeaderEpoch,
)
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.offset_order import OrderedOffsets, check_order
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition, Uuid
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import TransactionMarker
from millstream.records.record import Record
from millstream.replication import FetchPosition, Partition
from millstream.runtime import Instant
from millstream.runtime.system import SystemRandom
from tests.support.simulated_disk import SimFileSystem

T0 = TopicPartition("t", 0)
TOPIC_ID = Uuid(b"t" * 16)
NOW = Instant(1_000_000, 0)
OFFSET_MAX = 2**63 - 1


def image(leader=1, epoch=4, replicas=(1,), isr=(1,)) -> PartitionImage:
    return PartitionImage(
        partition=0, replicas=replicas, isr=isr, leader=leader, leader_epoch=epoch
    )


def batch(*values: bytes, **options) -> memoryview:
    records = [Record(offset=i, timestamp=1_000, value=value) for i, value in enumerate(values)]
    return memoryview(build_batch(records, BatchOptions(**options)))


class World:
    def __init__(self, saved_high_watermark=0, config: LogConfig | None = None) -> None:
        self.progressed: list[TopicPartition] = []
        self.log = PartitionLog.open(
            T0, "/d/t-0", LogEnvironment(SimFileSystem(), SystemRandom()), config or LogConfig(), saved=SavedState(), now=NOW
        )  # fmt: skip
        self.partition = Partition(
            self.log, TOPIC_ID, 1, saved_high_watermark, self.progressed.append
        )


@pytest.fixture
def world() -> World:
    world = World()
    world.partition.apply(image(), NOW)
    world.progressed.clear()
    return world


def test_a_single_replica_commits_what_it_appends_and_tells(world):
    info = world.partition.append(batch(b"a", b"b"), NOW)
    assert (info.first_offset, info.last_offset) == (0, 1)
    assert world.partition.high_watermark == 2
    assert world.progressed == [T0]
    assert world.log.leader_epochs.entries == ((4, 0),)


def test_a_duplicate_makes_no_progress(world):
    again = {"producer_id": 9, "producer_epoch": 0, "base_sequence": 0}
    world.partition.append(batch(b"a", **again), NOW)
    world.progressed.clear()
    assert world.partition.append(batch(b"a", **again), NOW).is_duplicate
    assert world.progressed == []


def test_records_wait_for_in_sync_followers(world):
    world.partition.apply(image(replicas=(1, 2), isr=(1, 2)), NOW)
    world.partition.append(batch(b"a"), NOW)
    assert world.partition.high_watermark == 0
    assert world.partition.read(FetchPosition(0, 1_000)).records == b""
    world.partition.apply(image(replicas=(1, 2), isr=(1,)), NOW)
    assert world.partition.high_watermark == 1


def test_who_does_not_lead_appends_and_reads_nothing(world):
    world.partition.apply(image(leader=2, epoch=5, replicas=(1, 2)), NOW)
    with pytest.raises(NotLeaderOrFollower, match="broker 2 leads t-0"):
        world.partition.append(batch(b"a"), NOW)
    with pytest.raises(NotLeaderOrFollower):
        world.partition.read(FetchPosition(0, 1_000))


def test_readers_with_another_leader_epoch_are_fenced(world):
    with pytest.raises(FencedLeaderEpoch):
        world.partition.read(FetchPosition(0, 1_000, current_leader_epoch=3))
    with pytest.raises(UnknownLeaderEpoch):
        world.partition.read(FetchPosition(0, 1_000, current_leader_epoch=5))
    world.partition.read(FetchPosition(0, 1_000, current_leader_epoch=4))


def test_min_insync_replicas_is_asked_for_by_acks_all_only():
    world = World(config=LogConfig(min_insync_replicas=2))
    world.partition.apply(image(replicas=(1, 2)), NOW)
    with pytest.raises(NotEnoughReplicas, match=r"1 in-sync replicas, min.insync.replicas is 2"):
        world.partition.append(batch(b"a"), NOW, acks=-1)
    assert world.partition.append(batch(b"a"), NOW, acks=1).last_offset == 0


def test_min_insync_replicas_is_never_more_than_there_are_replicas():
    world = World(config=LogConfig(min_insync_replicas=2))
    world.partition.apply(image(replicas=(1,)), NOW)
    assert world.partition.append(batch(b"a"), NOW, acks=-1).last_offset == 0


def test_a_saved_high_watermark_stays_within_the_log():
    assert World(saved_high_watermark=50).partition.high_watermark == 0


def test_a_reader_whose_last_record_is_unknown_here_diverged(world):
    world.partition.append(batch(b"a"), NOW)
    world.partition.apply(image(epoch=7), NOW)
    world.partition.append(batch(b"b"), NOW)
    assert world.partition.read(FetchPosition(1, 1_000, last_fetched_epoch=4)).diverging is None
    assert world.partition.read(FetchPosition(2, 1_000, last_fetched_epoch=4)).diverging == (4, 1)
    assert world.partition.read(FetchPosition(1, 1_000, last_fetched_epoch=5)).diverging == (4, 1)
    with pytest.raises(OffsetOutOfRange, match="knows no leader epoch"):
        world.partition.read(FetchPosition(1, 1_000, last_fetched_epoch=9))


def test_read_committed_stops_at_open_transactions(world):
    world.partition.append(batch(b"a"), NOW)
    world.partition.append(
        batch(b"b", producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True), NOW
    )
    uncommitted = world.partition.read(FetchPosition(0, 1_000))
    committed = world.partition.read(FetchPosition(0, 1_000, is_read_committed=True))
    assert (committed.high_watermark, committed.last_stable_offset) == (2, 1)
    assert len(uncommitted.records) == 2 * len(committed.records)
    assert (uncommitted.aborted_transactions, committed.aborted_transactions) == (None, [])
    assert world.partition.latest_offset(is_read_committed=True).offset == 1
    assert world.partition.latest_offset(is_read_committed=False).offset == 2


def test_read_committed_begins_at_the_log_start_where_an_open_transaction_began_before_it(world):
    """As Kafka 4.3.1: the last stable offset is the log start, and what lies behind it waits for the end of the transaction."""
    transaction = {"producer_id": 9, "producer_epoch": 0, "is_transactional": True}
    world.partition.append(batch(b"0"), NOW)
    world.partition.append(batch(b"1", base_sequence=0, **transaction), NOW)
    world.partition.append(batch(b"2"), NOW)
    world.partition.append(batch(b"3"), NOW)
    world.partition.delete_records_before(3)
    assert world.partition.last_stable_offset == 3
    latest = world.partition.latest_offset(is_read_committed=True).offset
    assert latest == 3
    at_latest = FetchPosition(latest, 1_000, is_read_committed=True)
    read = world.partition.read(at_latest)
    assert (read.last_stable_offset, read.log_start_offset, len(read.records)) == (3, 3, 0)
    world.partition.append(batch(b"4"), NOW)
    world.partition.delete_records_before(4)
    assert world.partition.last_stable_offset == 4
    world.partition.append_marker(TransactionMarker(9, 0, 0, False, 1), NOW)
    assert world.partition.last_stable_offset == 6


@pytest.mark.parametrize(
    ("name", "offset", "told"),
    [
        ("first_segment", 3, "the first segment of t-0, 3, lies beyond its log start, 2"),
        ("log_start", 5, "the log start of t-0, 5, lies beyond its last stable offset, 4"),
        ("last_stable", 7, "the last stable offset of t-0, 7, lies beyond its high watermark, 6"),
        ("high_watermark", 9, "the high watermark of t-0, 9, lies beyond its log end, 8"),
        ("recovery_point", 9, "the recovery point of t-0, 9, lies beyond its log end, 8"),
        ("cleaner_checkpoint", 9, "the cleaner checkpoint of t-0, 9, lies beyond its log end, 8"),
        (
            "newest_snapshot",
            9,
            "the newest snapshot of producers of t-0, 9, lies beyond its log end, 8",
        ),
        (
            "newest_epoch_start",
            9,
            "the start of the newest leader epoch of t-0, 9, lies beyond its log end, 8",
        ),
    ],
)
def test_offsets_out_of_order_are_named(name, offset, told):
    in_order = OrderedOffsets(0, 2, 4, 6, 8, 0, None, None, None)
    check_order(T0, in_order)
    with pytest.raises(AssertionError, match=told):
        check_order(T0, in_order._replace(**{name: offset}))


def test_offsets_by_time_are_committed_ones(world):
    world.partition.apply(image(replicas=(1, 2), isr=(1, 2)), NOW)
    world.partition.append(batch(b"a"), NOW)
    (search,) = world.log.timestamp_searches(0)
    found = search.run()
    assert not world.partition.is_visible(found, is_read_committed=False)
    world.partition.apply(image(replicas=(1, 2), isr=(1,)), NOW)
    assert world.partition.is_visible(found, is_read_committed=False)
    assert found == (0, 1_000, 4)


def test_records_are_deleted_up_to_the_high_watermark(world):
    world.partition.append(batch(b"a", b"b"), NOW)
    assert world.partition.delete_records_before(1) == 1
    assert world.partition.delete_records_before(-1) == 2
    assert world.partition.earliest_offset().offset == 2
    with pytest.raises(OffsetOutOfRange, match="up to its high watermark 2"):
        world.partition.delete_records_before(3)


def test_readable_bytes_are_those_below_the_high_watermark(world):
    world.partition.append(batch(b"a"), NOW)
    size = world.log.size_bytes
    assert world.partition.readable_bytes(FetchPosition(0, 1_000)) == size
    assert world.partition.readable_bytes(FetchPosition(0, 10)) == 10
    assert world.partition.readable_bytes(FetchPosition(1, 1_000)) == 0
