"""What a partition does with what its leader sends."""

from __future__ import annotations

from typing import Any  # options of a batch

import pytest

from millstream.errors import CorruptMessage, NotLeaderOrFollower
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.leader_epochs import EpochEnd
from millstream.metadata.image import PartitionImage
from millstream.metadata.topic_config import LogConfig
from millstream.model import LeaderEpoch, TopicPartition, Uuid
from millstream.records.batch import patch_offset_and_epoch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import TransactionMarker
from millstream.records.record import Record
from millstream.replication import Partition
from millstream.runtime import Instant
from millstream.runtime.system import SystemRandom
from tests.support.cut_at_once import cut_at_once
from tests.support.simulated_disk import SimFileSystem

T0, TOPIC_ID = TopicPartition("t", 0), Uuid(b"t" * 16)
NOW = Instant(1_000_000, 0)
EPOCH = LeaderEpoch(5)
THE_LEADERS_ALL = 1 << 40


def image(leader: int = 2, epoch: int = EPOCH) -> PartitionImage:
    return PartitionImage(
        partition=0, replicas=(1, 2), isr=(2,), leader=leader, leader_epoch=LeaderEpoch(epoch)
    )


def batch(offset: int, epoch: int, *values: bytes, **options: Any) -> bytearray:
    built = build_batch(
        [Record(offset=i, timestamp=1_000, value=value) for i, value in enumerate(values)],
        BatchOptions(**options),
    )
    patch_offset_and_epoch(memoryview(built), offset, epoch)
    return built


def marker(offset: int, epoch: int, producer_id: int, *, commits: bool) -> bytearray:
    built = bytearray(TransactionMarker(producer_id, 0, 0, commits, 0).build(NOW.wall_ms))
    patch_offset_and_epoch(memoryview(built), offset, epoch)
    return built


class World:
    def __init__(self) -> None:
        self.progressed: list[TopicPartition] = []
        self.log = PartitionLog.open(
            T0, "/d/t-0", LogEnvironment(SimFileSystem(), SystemRandom()), LogConfig(), saved=SavedState(), now=NOW
        )  # fmt: skip
        self.partition = Partition(self.log, TOPIC_ID, 1, 0, self.progressed.append)
        self.partition.apply(image(), NOW)
        self.progressed.clear()

    def receive(
        self, *batches: bytearray, mark: int = THE_LEADERS_ALL, start: int = 0, epoch: int = EPOCH
    ) -> None:
        self.partition.append_fetched(
            memoryview(b"".join(batches)),
            leader_epoch=LeaderEpoch(epoch),
            leader_high_watermark=mark,
            leader_log_start_offset=start,
            now=NOW,
        )
        self.partition.check_offsets()

    def offsets(self) -> tuple[int, int, int]:
        partition = self.partition
        return partition.log_start_offset, partition.high_watermark, partition.log_end_offset


@pytest.fixture
def world() -> World:
    return World()


def test_it_appends_and_its_mark_is_the_leaders_as_far_as_it_has_records(world: World) -> None:
    world.receive(batch(0, 4, b"a", b"b"), mark=1)
    assert world.offsets() == (0, 1, 2)
    assert world.progressed == [T0]
    world.receive(batch(2, 5, b"c"), mark=100)
    assert world.offsets() == (0, 3, 3)
    assert world.log.leader_epochs.entries == ((4, 0), (5, 2))


def test_an_answer_without_records_moves_the_mark(world: World) -> None:
    world.receive(batch(0, 4, b"a", b"b"), mark=0)
    assert world.progressed == []
    world.receive(mark=2)
    assert world.offsets() == (0, 2, 2)
    assert world.progressed == [T0]


def test_the_mark_of_a_new_leader_may_be_lower_for_a_while(world: World) -> None:
    world.receive(batch(0, 4, b"a", b"b"), mark=2)
    world.receive(mark=1)
    assert world.offsets() == (0, 1, 2)


def test_what_the_leader_has_deleted_is_deleted(world: World) -> None:
    world.receive(batch(0, 4, b"a", b"b"), batch(2, 4, b"c"), start=2)
    assert world.offsets() == (2, 3, 3)
    world.receive(start=1)
    assert world.offsets() == (2, 3, 3)


def test_nothing_is_deleted_beyond_the_mark(world: World) -> None:
    world.receive(batch(0, 4, b"a", b"b"), mark=1, start=2)
    assert world.offsets() == (1, 1, 2)


def test_batches_of_a_newer_epoch_than_was_asked_with_are_left_out(world: World) -> None:
    world.receive(batch(0, 4, b"a"), batch(1, 6, b"b"), batch(2, 5, b"c"))
    assert world.offsets() == (0, 1, 1)
    world.receive(batch(1, 6, b"b"))
    assert world.offsets() == (0, 1, 1)
    assert world.log.leader_epochs.entries == ((4, 0),)


def test_a_damaged_batch_is_refused_and_changes_nothing(world: World) -> None:
    world.receive(batch(0, 4, b"a"))
    damaged = batch(1, 4, b"b")
    damaged[-1] ^= 1
    with pytest.raises(CorruptMessage):
        world.receive(damaged)
    assert world.offsets() == (0, 1, 1)


@pytest.mark.parametrize("leader", [1, 2])
def test_what_another_leader_has_sent_is_refused(world: World, leader: int) -> None:
    world.partition.apply(image(leader, 6), NOW)
    for attempt in (
        lambda: world.receive(batch(0, 5, b"a")),
        lambda: world.partition.plan_divergence_cut(EpochEnd(1, 0), EPOCH),
    ):
        with pytest.raises(NotLeaderOrFollower):
            attempt()
    assert world.offsets() == (0, 0, 0)


def test_a_leader_cuts_nothing_and_starts_nothing_over(world: World) -> None:
    world.receive(batch(0, 4, b"a"))
    world.partition.apply(image(1, 6), NOW)
    for is_whole in (False, True):
        with pytest.raises(NotLeaderOrFollower):
            world.partition.plan_cut(0, is_whole=is_whole)
    assert world.offsets()[2] == 1


# --- inside a batch


def test_an_empty_log_begins_with_the_batch_that_its_start_lies_in(world: World) -> None:
    cut_at_once(world.partition, world.partition.plan_cut(7, is_whole=True))
    world.receive(batch(5, 4, b"a", b"b", b"c", b"d"), start=7)
    assert world.offsets() == (7, 9, 9)
    assert world.log.first_segment_offset == 5


def test_a_log_whose_records_are_all_deleted_at_the_leader_is_as_good_as_empty(
    world: World,
) -> None:
    world.receive(batch(0, 1, b"other"))
    world.receive(batch(0, 4, b"a", b"b"), start=1)
    assert world.offsets() == (1, 2, 2)
    assert world.log.leader_epochs.entries == ((4, 1),)


def test_a_log_that_holds_records_does_not_begin_anew(world: World) -> None:
    world.receive(batch(0, 4, b"a", b"b"))
    with pytest.raises(Exception, match="the leader sent a batch at offset 0"):
        world.receive(batch(0, 4, b"a", b"b", b"c"))
    assert world.offsets() == (0, 2, 2)


def test_a_damaged_batch_leaves_the_offsets_in_order(world: World) -> None:
    cut_at_once(world.partition, world.partition.plan_cut(7, is_whole=True))
    damaged = batch(5, 4, b"a", b"b", b"c", b"d")
    damaged[-1] ^= 1
    with pytest.raises(CorruptMessage):
        world.receive(damaged, start=7)
    world.partition.check_offsets()


# --- cutting


def test_a_divergence_is_cut_where_the_epoch_ends_first(world: World) -> None:
    world.receive(batch(0, 1, b"a"), batch(1, 2, b"b"), batch(2, 2, b"c"), batch(3, 4, b"d"))
    cut_at_once(world.partition, world.partition.plan_divergence_cut(EpochEnd(2, 2), EPOCH))
    assert world.offsets() == (0, 2, 2)
    assert world.log.leader_epochs.entries == ((1, 0), (2, 1))


def test_a_divergence_at_an_epoch_that_is_unknown_here_is_cut_to_the_one_before(
    world: World,
) -> None:
    world.receive(batch(0, 1, b"a"), batch(1, 4, b"b"), batch(2, 4, b"c"))
    cut_at_once(world.partition, world.partition.plan_divergence_cut(EpochEnd(3, 2), EPOCH))
    assert world.offsets() == (0, 1, 1)
    assert world.log.leader_epochs.latest_epoch == 1


def test_an_epoch_without_records_goes_with_a_cut_at_the_end(world: World) -> None:
    """As after an append that failed: with it the leader would be asked in vain for ever."""
    world.receive(batch(0, 1, b"a"))
    world.log.leader_epochs.assign(4, 1)
    cut_at_once(world.partition, world.partition.plan_divergence_cut(EpochEnd(3, 1), EPOCH))
    assert world.offsets() == (0, 1, 1)
    assert world.log.leader_epochs.entries == ((1, 0),)


def test_a_cut_below_the_mark_takes_it_along(world: World) -> None:
    world.receive(batch(0, 4, b"a"), batch(1, 4, b"b"), mark=2)
    world.progressed.clear()
    cut_at_once(world.partition, world.partition.plan_cut(1))
    assert world.offsets() == (0, 1, 1)
    assert world.progressed == [T0]


def test_starting_over_moves_everything(world: World) -> None:
    world.receive(batch(0, 4, b"a"))
    cut_at_once(world.partition, world.partition.plan_cut(50, is_whole=True))
    assert world.offsets() == (50, 50, 50)
    assert world.log.leader_epochs.entries == ()


# --- transactions


def transaction(offset: int, epoch: int, producer_id: int, value: bytes) -> bytearray:
    return batch(
        offset,
        epoch,
        value,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )


def test_open_transactions_hold_the_last_stable_offset(world: World) -> None:
    world.receive(batch(0, 4, b"a"), transaction(1, 4, 9, b"b"), batch(2, 4, b"c"))
    assert world.partition.last_stable_offset == 1
    world.receive(marker(3, 4, 9, commits=False), mark=3)
    assert world.partition.last_stable_offset == 1, "the marker is not committed"
    world.receive(mark=4)
    assert world.partition.last_stable_offset == 4
    (aborted,) = world.log.aborted_transactions(0, 4)
    assert (aborted.producer_id, aborted.first_offset, aborted.last_offset) == (9, 1, 3)


def test_a_marker_that_is_cut_off_opens_its_transaction_again(world: World) -> None:
    world.receive(batch(0, 4, b"a"), transaction(1, 4, 9, b"b"))
    world.receive(marker(2, 5, 9, commits=False))
    assert world.partition.last_stable_offset == 3
    cut_at_once(world.partition, world.partition.plan_divergence_cut(EpochEnd(4, 2), EPOCH))
    assert world.offsets() == (0, 2, 2)
    assert world.partition.last_stable_offset == 1
    assert world.log.aborted_transactions(0, 2) == []
    world.receive(marker(2, 5, 9, commits=True))
    assert world.partition.last_stable_offset == 3
    assert world.log.aborted_transactions(0, 3) == []
