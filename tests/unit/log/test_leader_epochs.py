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


def test_epochs_survive_a_restart(epochs, world):
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


def test_truncation_from_the_start_is_written_with_the_next_change(epochs, world):
    """Nobody waits for the disk when records are deleted: whoever loads the log knows where it starts."""
    epochs.truncate_from_start(15)
    assert world.content("leader-epoch-checkpoint") == b"0\n3\n1 0\n2 10\n5 20\n"
    epochs.assign(6, 30)
    assert world.content("leader-epoch-checkpoint") == b"0\n3\n2 15\n5 20\n6 30\n"


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
