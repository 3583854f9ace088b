"""Transactions in one log (KIP-98, KIP-890): who may write, which markers count, and what readers at read_committed see."""

from __future__ import annotations

import pytest

from millstream.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaStorageError,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)
from millstream.log import SavedState
from millstream.log.append_check import AppendOrigin
from millstream.records.batch import read_header
from millstream.records.control import TransactionMarker
from millstream.records.record_rows import empty_batch
from tests.unit.log.conftest import DIRECTORY

PRODUCER = 7
TRANSACTION_INDEX = f"{DIRECTORY}/{0:020d}.txnindex"


def write(world, log, sequence, epoch=0, *, is_transactional=True):
    batch = batch_of(world, sequence, epoch, is_transactional=is_transactional)
    return log.append_as_leader(batch, 0, world.now)


def batch_of(world, sequence, epoch=0, *, is_transactional=True):
    return world.batch(
        b"v",
        producer_id=PRODUCER,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )


def end(world, log, epoch, *, is_commit=True, version=2, coordinator_epoch=0):
    marker = TransactionMarker(PRODUCER, epoch, coordinator_epoch, is_commit, version)
    log.producers.check_marker(marker)
    built = memoryview(marker.build(world.now.wall_ms))
    return log.append_as_leader(built, 0, world.now, AppendOrigin.COORDINATOR)


def test_a_plain_batch_amid_a_transaction_of_its_producer_is_refused(world):
    log = world.open()
    write(world, log, 0)
    with pytest.raises(InvalidTxnState):
        write(world, log, 1, is_transactional=False)


def test_after_a_marker_that_raised_the_epoch_sequences_begin_at_0(world):
    log = world.open()
    write(world, log, 0)
    write(world, log, 1)
    end(world, log, epoch=1)
    with pytest.raises(OutOfOrderSequenceNumber):
        write(world, log, 2, epoch=1)
    assert write(world, log, 0, epoch=1).first_offset == 3


def test_after_a_marker_at_the_same_epoch_sequences_go_on(world):
    log = world.open()
    write(world, log, 0)
    end(world, log, epoch=0, version=0)
    assert write(world, log, 1).first_offset == 2


def test_a_batch_that_comes_after_the_marker_of_its_transaction_is_fenced(world):
    """The zombie's late batch: the marker has raised the epoch of this log (KIP-890)."""
    log = world.open()
    write(world, log, 0)
    end(world, log, epoch=1, is_commit=False)
    with pytest.raises(InvalidProducerEpoch):
        write(world, log, 1)


def test_a_marker_at_the_epoch_of_the_open_transaction_is_too_old(world):
    """A delayed marker of the transaction before must not end this one."""
    log = world.open()
    write(world, log, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch, match="the lowest that counts here is 2"):
        end(world, log, epoch=1)
    assert log.producers.has_open_transaction(PRODUCER, 1)


def test_a_marker_may_be_written_twice(world):
    log = world.open()
    write(world, log, 0)
    end(world, log, epoch=1)
    end(world, log, epoch=1)
    assert log.last_stable_offset(log.log_end_offset) == 3


def test_markers_of_clients_that_keep_their_epoch_end_at_that_epoch(world):
    log = world.open()
    write(world, log, 0)
    end(world, log, epoch=0, version=0)
    assert log.last_stable_offset(2) == 2
    with pytest.raises(InvalidProducerEpoch):
        end(world, log, epoch=-1, version=0)


def test_a_coordinator_that_was_replaced_ends_nothing(world):
    log = world.open()
    write(world, log, 0)
    end(world, log, epoch=1, coordinator_epoch=5)
    write(world, log, 0, epoch=1)
    with pytest.raises(TransactionCoordinatorFenced):
        end(world, log, epoch=2, coordinator_epoch=4)


def test_a_marker_that_came_while_the_coordinator_was_asked_ends_the_beginning(world):
    """Otherwise the transaction would stay open in this log for ever."""
    log = world.open()
    asked_at = log.producers.last_marker_offset(PRODUCER)
    end(world, log, epoch=0, is_commit=False, version=0)
    with pytest.raises(InvalidTxnState):
        log.producers.check_begins_transaction(
            read_header(batch_of(world, 0)), asked_at, sequence_from_0=False
        )


def test_an_unknown_producer_that_raises_epochs_begins_with_sequence_0(world):
    producers = world.open().producers
    header = read_header(batch_of(world, 3))
    producers.check_begins_transaction(header, -1, sequence_from_0=False)
    with pytest.raises(OutOfOrderSequenceNumber):
        producers.check_begins_transaction(header, -1, sequence_from_0=True)


def test_coordinators_are_not_held_to_sequences(world):
    """The group coordinator writes every batch of offsets with sequence 0."""
    log = world.open()
    for _ in range(2):
        log.append_as_leader(batch_of(world, 0), 0, world.now, AppendOrigin.COORDINATOR)
    assert log.log_end_offset == 2


def test_an_ended_transaction_is_unstable_until_its_marker_is_committed(world):
    log = world.open()
    write(world, log, 0)
    end(world, log, epoch=1)
    assert [log.last_stable_offset(high_watermark) for high_watermark in (1, 2)] == [0, 2]


def test_open_transactions_and_fences_survive_a_crash(world):
    log = world.open()
    write(world, log, 0)
    end(world, log, epoch=1)
    write(world, log, 0, epoch=1)
    log.roll(world.now)
    reopened = world.open()
    assert reopened.last_stable_offset(3) == 2
    assert reopened.producers.has_open_transaction(PRODUCER, 1)
    with pytest.raises(InvalidProducerEpoch):
        end(world, reopened, epoch=1)


def test_aborted_transactions_beyond_what_was_read_are_not_listed(world):
    """Kafka's bound: the index entry behind the records, else the end of their segment."""
    log = world.open()
    write(world, log, 0)
    log.roll(world.now)
    end(world, log, epoch=1, is_commit=False)
    write(world, log, 0, epoch=1)
    end(world, log, epoch=2, is_commit=False)
    first = log.read(0, 1 << 20, upper_bound=4)
    assert [t.first_offset for t in log.aborted_among(first)] == [0]
    second = log.read(1, 1 << 20, upper_bound=4)
    assert [t.first_offset for t in log.aborted_among(second)] == [0, 2]
    assert log.aborted_among(log.read(4, 1 << 20, upper_bound=4)) == []


def test_a_marker_that_compaction_has_emptied_ends_nothing(world):
    """Its transaction was removed before it; only its header stays, which ends a segment or is its producer's last batch."""
    log = world.open()
    marker = TransactionMarker(PRODUCER, 0, 0, True, 2).build(world.now.wall_ms)
    emptied = empty_batch(read_header(memoryview(marker)))
    log.append_as_follower(memoryview(emptied), world.now)
    assert log.last_stable_offset(log.log_end_offset) == log.log_end_offset == 1
    log.close(world.now)
    again = world.open()
    assert again.last_stable_offset(again.log_end_offset) == again.log_end_offset == 1
    write(world, again, 0)
    assert end(world, again, 1).last_offset == 2


@pytest.mark.parametrize("spare_bytes", [0, 10, 33])
def test_a_disk_that_has_room_for_a_marker_only_shows_nothing_that_was_aborted(world, spare_bytes):
    log = world.open()
    write(world, log, 0)
    marker = TransactionMarker(PRODUCER, 1, 0, False, 2).build(0)
    world.disk.space_bytes = len(marker) + spare_bytes
    end(world, log, epoch=1, is_commit=False)
    assert log.last_stable_offset(log.log_end_offset) == 2
    assert [(t.first_offset, t.last_offset) for t in log.aborted_transactions(0, 2)] == [(0, 1)]
    with pytest.raises(KafkaStorageError):
        log.close(world.now)
    world.disk.space_bytes = None
    log = world.open(was_clean=False)
    assert [(t.first_offset, t.last_offset) for t in log.aborted_transactions(0, 2)] == [(0, 1)]


def aborted_in(log):
    return [
        (t.first_offset, t.last_offset) for t in log.aborted_transactions(0, log.log_end_offset)
    ]


def two_aborted(world):
    """At offsets 0 and 2, with their markers at 1 and 3."""
    log = world.open()
    write(world, log, 0)
    end(world, log, epoch=1, is_commit=False)
    write(world, log, 0, epoch=1)
    end(world, log, epoch=2, is_commit=False)
    return log


@pytest.mark.parametrize("damage", ["longer", "gone"])
def test_a_transaction_index_that_is_damaged_while_the_log_is_open_keeps_no_marker_away(
    world, damage
):
    log = world.open()
    write(world, log, 0)
    end(world, log, epoch=1, is_commit=False)
    log.close(world.now)
    log = world.open(recovery_point=2, was_clean=True)
    if damage == "gone":
        world.disk.remove(TRANSACTION_INDEX)
    else:
        world.disk.open(TRANSACTION_INDEX).append([b"torn"])
    write(world, log, 0, epoch=1)
    end(world, log, epoch=2, is_commit=False)
    assert aborted_in(log) == [(0, 1), (2, 3)]
    marks = [segment.mark.transaction_index.size_bytes for segment in log.segments]
    log.close(world.now)
    assert marks == [world.disk.size(TRANSACTION_INDEX)] == [2 * 34]
    log = world.open(recovery_point=4, was_clean=True)
    assert (aborted_in(log), log.repairs.rebuilt_indexes) == ([(0, 1), (2, 3)], ())


@pytest.mark.parametrize("is_noted", [True, False])
@pytest.mark.parametrize("is_lost", [True, False])
def test_entries_that_a_roll_wrote_just_before_a_crash_are_there(world, is_noted, is_lost):
    """The recovery point is where the next segment begins: the one before it counts as being on the disk."""
    log = two_aborted(world)
    log.flush(world.now)
    marks = tuple(segment.mark for segment in log.segments) if is_noted else ()
    log.roll(world.now)
    world.disk.crash(lambda _path, unsynced: 0 if is_lost else unsynced)
    log = world.open_saved(None, SavedState(4, synced_to=4, marks=marks))
    assert [segment.base_offset for segment in log.segments] == [0, 4]
    assert aborted_in(log) == [(0, 1), (2, 3)]
    assert world.disk.size(TRANSACTION_INDEX) == 2 * 34
    assert log.repairs.rebuilt_indexes == ((0,) if is_noted and is_lost else ())


def test_entries_in_memory_are_found_again_in_a_segment_that_was_noted_before_a_crash(world):
    log = two_aborted(world)
    log.flush(world.now)
    marks = tuple(segment.mark for segment in log.segments)
    write(world, log, 0, epoch=2)
    end(world, log, epoch=3, is_commit=False)
    world.disk.crash(lambda _path, unsynced: unsynced)
    log = world.open_saved(None, SavedState(4, synced_to=4, marks=marks))
    assert (aborted_in(log), log.repairs.rebuilt_indexes) == ([(0, 1), (2, 3), (4, 5)], ())


def test_a_cut_takes_the_aborted_transactions_from_the_log_not_from_a_damaged_index(world):
    log = two_aborted(world)
    log.roll(world.now)
    world.append(log, b"plain")
    log.close(world.now)
    log = world.open(recovery_point=5, was_clean=True)
    world.disk.open(TRANSACTION_INDEX).truncate(20)
    log.truncate_to(3, world.now)
    assert (aborted_in(log), log.last_stable_offset(3)) == ([(0, 1)], 2)
    end(world, log, epoch=3, is_commit=False)
    assert aborted_in(log) == [(0, 1), (2, 3)]
