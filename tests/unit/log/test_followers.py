"""What a follower takes of its leader's log."""

from __future__ import annotations

import pytest

from millstream.errors import (
    CorruptMessage,
    KafkaStorageError,
    OffsetOutOfRange,
)
from millstream.log import AppendInfo
from millstream.log.offset_order import check_order


def test_a_follower_keeps_the_leaders_offsets_and_epochs(world):
    leader, follower = world.open(), None
    world.append(leader, b"a", b"b", epoch=4)
    data = memoryview(bytearray(world.read(leader)))
    world.__init__()
    follower = world.open()
    assert follower.append_as_follower(data, world.now) == AppendInfo(0, 1)
    assert follower.leader_epochs.entries == ((4, 0),)
    with pytest.raises(OffsetOutOfRange, match="the log ends at 2"):
        follower.append_as_follower(data, world.now)


def test_a_follower_refuses_batches_that_go_back(world):
    follower = world.open()
    together = bytearray(world.batch(b"b", base_offset=5)) + world.batch(b"a", base_offset=3)
    with pytest.raises(OffsetOutOfRange):
        follower.append_as_follower(memoryview(together), world.now)
    assert follower.log_end_offset == 0


def test_a_follower_writes_nothing_when_its_leader_sent_no_whole_batch(world):
    batch = world.batch(b"a" * 100)
    follower = world.open()
    for sent in (b"", bytes(batch[:20]), bytes(batch[:-1])):
        assert follower.append_as_follower(memoryview(sent), world.now) == (-1, -1, -1, False)
    assert follower.log_end_offset == 0
    assert world.content("00000000000000000000.log") == b""


def test_a_follower_cuts_a_last_batch_that_is_not_whole(world):
    batches = [
        world.batch(b"a"),
        world.batch(b"b", base_offset=1),
        world.batch(b"c", base_offset=2),
    ]
    whole = b"".join(batches[:2])
    for missing in (1, len(batches[2]) - 10):
        sent = whole + bytes(batches[2][:-missing])
        world.__init__()
        follower = world.open()
        assert follower.append_as_follower(memoryview(sent), world.now) == AppendInfo(0, 1)
        assert follower.log_end_offset == 2
        assert world.content("00000000000000000000.log") == whole
    assert follower.append_as_follower(batches[2], world.now) == AppendInfo(2, 2)


def test_a_damaged_batch_before_the_cut_is_refused_by_a_follower(world):
    damaged, cut = world.batch(b"a"), world.batch(b"b", base_offset=1)
    damaged[-1] ^= 1
    follower = world.open()
    with pytest.raises(CorruptMessage):
        follower.append_as_follower(memoryview(bytes(damaged) + bytes(cut[:-1])), world.now)
    assert follower.log_end_offset == 0


def test_what_was_cut_off_does_not_come_back_in_a_crash(world):
    """A cut removes the newest segment; other records are written at its offsets, and the power goes before any flush."""
    follower = world.open()
    world.append(follower, b"a")
    follower.roll(world.now)
    world.append(follower, b"of an old leader")
    follower.flush(world.now)
    follower.truncate_to(1, world.now)
    world.append(follower, b"of the new leader")
    world.disk.crash(undone_operations=1)
    assert world.values(world.open(recovery_point=1)) == [(0, b"a")]


def test_what_an_old_leader_knew_of_a_producer_does_not_come_back_in_a_crash(world):
    """The clean stop left a snapshot at offset 2; the cut at 1 removes it, and the same producer writes there with a newer epoch."""
    follower = world.open()
    world.append(follower, b"a")
    follower.append_as_leader(world.produced(7, 0, 0), 0, world.now)
    follower.close(world.now)
    follower = world.open(recovery_point=2, was_clean=True)
    follower.truncate_to(1, world.now)
    of_new_leader = world.batch(
        b"v", base_offset=1, producer_id=7, producer_epoch=1, base_sequence=0
    )
    follower.append_as_follower(of_new_leader, world.now)
    follower.flush(world.now)
    world.disk.crash(undone_operations=1)
    assert world.open(recovery_point=2).producers.get(7).producer_epoch == 1


def test_a_log_that_begins_anew_knows_no_producer_after_a_crash_either(world):
    follower = world.open()
    follower.append_as_leader(world.produced(7, 0, 0), 0, world.now)
    follower.close(world.now)
    follower = world.open(recovery_point=1, was_clean=True)
    follower.truncate_fully_and_start_at(10, world.now)
    world.disk.crash(undone_operations=1)
    follower = world.open(recovery_point=10, log_start_offset=10)
    assert (follower.log_start_offset, follower.producers.get(7)) == (10, None)


def test_a_follower_leaves_out_what_is_of_a_newer_epoch_than_it_asked_with(world):
    """It has not compared its own end with that epoch: it asks again, and is told where they diverge."""
    batches = [
        world.numbered(0, 3, b"a"),
        world.numbered(1, 4, b"b"),
        world.numbered(2, 5, b"c"),
    ]
    follower = world.open()
    sent = memoryview(b"".join(batches))
    assert follower.append_as_follower(sent, world.now, leader_epoch_max=4) == AppendInfo(0, 1)
    assert follower.leader_epochs.entries == ((3, 0), (4, 1))
    rest = memoryview(bytes(batches[2]))
    assert follower.append_as_follower(rest, world.now, leader_epoch_max=4) == AppendInfo(-1, -1)
    assert follower.append_as_follower(rest, world.now, leader_epoch_max=5) == AppendInfo(2, 2)


def test_an_empty_follower_starts_over_where_the_batch_begins_that_holds_its_end(world):
    """DeleteRecords has moved the leader's start into a batch; the follower begins there, and is sent the whole batch."""
    follower = world.open()
    follower.truncate_fully_and_start_at(7, world.now)
    sent = world.batch(b"a", b"b", b"c", base_offset=5)
    assert follower.append_as_follower(sent, world.now) == AppendInfo(5, 7)
    assert (follower.log_start_offset, follower.log_end_offset) == (7, 8)
    assert [segment.base_offset for segment in follower.segments] == [5]
    assert world.values(follower, 7) == [(7, b"c")]


@pytest.mark.parametrize("base_offset", [2, 5])
def test_a_first_batch_that_ends_below_the_log_or_meets_records_is_refused(world, base_offset):
    follower = world.open()
    follower.truncate_fully_and_start_at(7, world.now)
    if base_offset == 5:
        follower.append_as_follower(world.batch(b"x", base_offset=7), world.now)
    sent = world.batch(b"a", b"b", b"c", base_offset=base_offset)
    with pytest.raises(OffsetOutOfRange, match="the log ends at"):
        follower.append_as_follower(sent, world.now)
    assert [segment.base_offset for segment in follower.segments] == [7]


def test_epochs_of_batches_that_a_full_disk_refuses_are_not_noted(world):
    """A node whose log knew of an epoch beyond its end stopped when it next looked at its offsets."""
    log = world.open()
    log.append_as_follower(world.numbered(0, 1, b"a"), world.now)
    world.disk.space_bytes = 0
    both = bytes(world.numbered(1, 1, b"b")) + bytes(world.numbered(2, 3, b"c"))
    with pytest.raises(KafkaStorageError, match="No space left"):
        log.append_as_follower(memoryview(bytearray(both)), world.now)
    assert (log.log_end_offset, log.leader_epochs.latest_epoch) == (1, 1)
    check_order(log.partition, log.offsets(1))
