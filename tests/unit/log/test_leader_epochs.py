from __future__ import annotations

import pytest

from millstream.log.leader_epochs import LeaderEpochs


@pytest.fixture
def epochs(world) -> LeaderEpochs:
    world.disk.make_directory("/data/t-0")
    epochs = LeaderEpochs(world.disk, "/data/t-0")
    for epoch, start_offset in ((1, 0), (2, 10), (5, 20)):
        epochs.assign(epoch, start_offset)
    return epochs


@pytest.mark.parametrize(
    ("asked", "epoch", "end_offset"),
    [(0, 0, 0), (1, 1, 10), (2, 2, 20), (3, 2, 20), (5, 5, 33), (6, -1, -1)],
)
def test_the_end_of_an_epoch_is_the_start_of_the_next_one(epochs, asked, epoch, end_offset):
    assert epochs.end_offset(asked, log_end_offset=33) == (epoch, end_offset)


def write(epochs: LeaderEpochs, disk) -> None:
    """What a flush does."""
    planned = epochs.plan_write()
    assert planned is not None
    planned.write(disk)
    epochs.note_written(planned)


def test_a_change_costs_nothing_before_the_next_flush(epochs, world):
    left = world.disk.sync_count
    epochs.assign(6, 30)
    epochs.truncate_from_end(30)
    assert world.disk.sync_count == left
    write(epochs, world.disk)
    assert epochs.plan_write() is None
    epochs.assign(7, 40)
    assert epochs.plan_write() is not None


def test_epochs_survive_a_restart(epochs, world):
    write(epochs, world.disk)
    assert LeaderEpochs(world.disk, "/data/t-0").entries == ((1, 0), (2, 10), (5, 20))
    assert world.content("leader-epoch-checkpoint") == b"0\n3\n1 0\n2 10\n5 20\n"


def test_an_epoch_that_is_not_newer_changes_nothing(epochs):
    epochs.assign(4, 30)
    assert epochs.latest_epoch == 5


def test_an_epoch_that_wrote_nothing_is_replaced(epochs):
    epochs.assign(6, 20)
    assert epochs.entries == ((1, 0), (2, 10), (6, 20))


def test_truncation_from_the_end_forgets_later_epochs(epochs):
    epochs.truncate_from_end(20)
    assert epochs.entries == ((1, 0), (2, 10))


def test_truncation_from_the_start_keeps_the_epoch_in_force(epochs):
    epochs.truncate_from_start(15)
    assert epochs.entries == ((2, 15), (5, 20))


def test_what_is_before_the_log_start_stays_in_the_file_until_the_start_is_on_the_disk(
    epochs, world
):
    """The start is written once a minute: after a crash the log may begin where it did before, and must know its epochs."""
    epochs.truncate_from_start(15)
    epochs.assign(6, 30)
    write(epochs, world.disk)
    assert epochs.entries == ((2, 15), (5, 20), (6, 30))
    assert world.content("leader-epoch-checkpoint") == b"0\n4\n1 0\n2 10\n5 20\n6 30\n"
    epochs.note_durable_start(15)
    write(epochs, world.disk)
    assert world.content("leader-epoch-checkpoint") == b"0\n3\n2 15\n5 20\n6 30\n"


def test_an_epoch_in_which_the_log_start_moves_several_times_stands_once_in_the_file(epochs, world):
    """Twice, and the next start takes the file for damaged: it forgets epochs that no batch tells of any more."""
    for start_offset in (21, 23, 30):
        epochs.truncate_from_start(start_offset)
        epochs.note_durable_start(start_offset - 2)
    epochs.truncate_from_start(31)
    assert epochs.entries == ((5, 31),)
    write(epochs, world.disk)
    assert world.content("leader-epoch-checkpoint") == b"0\n1\n5 28\n"
    again = LeaderEpochs(world.disk, "/data/t-0")
    assert (again.is_damaged, again.entries) == (False, ((5, 28),))


def test_an_empty_log_whose_records_were_deleted_in_steps_knows_its_epoch(world):
    log = world.open()
    world.append(log, b"a", b"b", b"c", epoch=4)
    for start_offset in (1, 2, 3):
        log.delete_records_before(start_offset)
    log.flush(world.now)
    log.roll(world.now)
    log.maintain(3, world.now)
    log.close(world.now)
    again = world.open(recovery_point=3, log_start_offset=3, was_clean=True)
    assert again.leader_epochs.entries == ((4, 3),)


def test_a_log_whose_new_start_is_lost_in_a_crash_knows_its_first_epochs_again(world):
    log = world.open()
    for epoch in (1, 2, 3):
        world.append(log, b"a", b"b", epoch=epoch)
    log.delete_records_before(3)
    world.append(log, b"a", epoch=4)
    log.flush(world.now)
    world.disk.crash()
    for recovery_point in (
        7,
        0,
    ):  # what the checkpoint says; the epochs of the file, or those of the batches
        again = world.open(recovery_point=recovery_point)
        assert again.log_start_offset == 0
        assert again.leader_epochs.entries == ((1, 0), (2, 2), (3, 4), (4, 6))
        again.abandon()


@pytest.mark.parametrize("is_flushed", [False, True])
def test_a_file_that_is_older_than_a_cut_does_not_bring_its_epochs_back(world, is_flushed):
    """The file says that epoch 2 began at 2; the cut took it, epoch 3 wrote there, and the power went."""
    log = world.open()
    world.append(log, b"a", b"b", epoch=1)
    world.append(log, b"c", b"d", epoch=2)
    log.flush(world.now)
    log.truncate_to(2, world.now)
    world.append(log, b"e", epoch=3)
    world.append(log, b"f", epoch=3)
    if is_flushed:
        log.flush(world.now)
    world.disk.crash(kept_bytes=lambda _, unsynced: unsynced)
    again = world.open(recovery_point=4)
    assert again.leader_epochs.entries == ((1, 0), (3, 2))
    assert world.values(again) == [(0, b"a"), (1, b"b"), (2, b"e"), (3, b"f")]


def test_recovery_keeps_the_start_of_an_epoch_whose_first_batches_are_gone(world):
    """Cleaning took them; a follower that has other records there must still be told that the epoch before ends at 2."""
    epochs = LeaderEpochs(world.disk, "/data/t-0")
    for epoch, start_offset in ((1, 0), (2, 2)):
        epochs.assign(epoch, start_offset)
    epochs.follow(1, 0, 0)
    epochs.follow(2, 4, 2)
    assert epochs.entries == ((1, 0), (2, 2))
    assert not epochs.is_contradicted


def test_epochs_of_another_log_are_contradicted_by_a_batch(world):
    epochs = LeaderEpochs(world.disk, "/data/t-0")
    epochs.assign(9, 0)
    epochs.follow(3, 5, 5)
    assert epochs.is_contradicted


def test_a_log_forgets_epochs_before_its_start_when_it_is_loaded(world):
    log = world.open()
    for epoch in (1, 2, 3):
        world.append(log, b"a", b"b", epoch=epoch)
    log.delete_records_before(3)
    log.close(world.now)
    reopened = world.open(recovery_point=6, log_start_offset=3, was_clean=True)
    assert log.leader_epochs.entries == ((2, 3), (3, 4))
    assert reopened.leader_epochs.entries == ((2, 3), (3, 4))


def test_the_epoch_of_an_offset(epochs):
    assert [epochs.epoch_for(offset) for offset in (0, 9, 10, 25)] == [1, 1, 2, 5]


def test_a_first_epoch_that_a_power_loss_took_is_read_from_the_log(world):
    log = world.open()
    world.append(log, b"a", epoch=4)
    log.flush(world.now)
    world.disk.crash(zeroed_bytes=lambda _, lost: lost)
    assert world.disk.read("/data/t-0/leader-epoch-checkpoint") == bytes(8)
    assert world.open(recovery_point=1).leader_epochs.entries == ((4, 0),)
