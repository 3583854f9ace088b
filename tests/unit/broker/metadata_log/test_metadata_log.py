"""The metadata log as the quorum sees it: where it ends, where its epochs end, where it starts."""

from __future__ import annotations

from millstream.broker.metadata_log.log import MetadataLog
from millstream.broker.storage.data_directory import open_data_directories
from millstream.log.directory.log_environment import LogEnvironment
from millstream.metadata.topic_config import LogConfig
from millstream.model import LeaderEpoch, Offset
from millstream.raft.messages import LogPosition
from millstream.raft.ready import AppendBatch
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import KRAFT_VERSION_DYNAMIC, dynamic_quorum_records
from millstream.runtime.system import SystemRandom
from tests.support.simulated_disk import SimFileSystem
from tests.unit.broker.metadata_log.test_metadata_quorum import CONFIG, NOW, OTHER, voter_set


def log_of(*epochs: int) -> MetadataLog:
    """One record for each epoch given."""
    disk = SimFileSystem()
    directories = open_data_directories(CONFIG, LogEnvironment(disk, SystemRandom()), None)
    log = MetadataLog.open(directories.metadata, disk, LogConfig(), NOW)
    for offset, epoch in enumerate(epochs):
        batch = AppendBatch(base_offset=Offset(offset), epoch=LeaderEpoch(epoch), data=(b"x",))
        log.append(batch, NOW)
    return log


def test_a_log_that_was_cut_ends_in_the_epoch_before() -> None:
    log = log_of(1, 1, 2, 4, 4)
    assert [log.position_at(Offset(offset)) for offset in (0, 2, 3, 5)] == [
        LogPosition(0, -1), LogPosition(2, 1), LogPosition(3, 2), LogPosition(5, 4),
    ]  # fmt: skip


def test_a_log_that_begins_at_a_snapshot_continues_it() -> None:
    log = log_of(1, 1, 2, 4, 4)
    assert (log.start(), log.newest_snapshot()) == (LogPosition(0, -1), None)
    for snapshot in (SnapshotId(3, 2), SnapshotId(5, 4)):
        log.add_snapshot(snapshot, 77)
    assert log.start() == LogPosition(0, -1)
    log.log.delete_records_before(3)
    assert (log.start(), log.newest_snapshot()) == (LogPosition(3, 2), SnapshotId(5, 4))
    assert [log.end_of_epoch(epoch) for epoch in (1, 2, 3, 4, 9)] == [
        LogPosition(0, -1), LogPosition(3, 2), LogPosition(3, 2), LogPosition(5, 4), LogPosition(5, 4),
    ]  # fmt: skip
    assert log.position_at(Offset(3)) == LogPosition(3, 2)
    log.remove_snapshot(SnapshotId(3, 2))
    assert (log.snapshot_bytes(SnapshotId(3, 2)), log.snapshot_bytes(SnapshotId(5, 4))) == (
        None,
        77,
    )


def test_a_log_that_was_cut_begins_there_again_after_a_kill() -> None:
    """Its epochs are cut on the disk with the next one that begins, and its start is written down at a clean stop only."""
    log = log_of(1, 1, 2)
    log.add_snapshot(SnapshotId(2, 1), 77)
    log.log.delete_records_before(2)
    log.append(AppendBatch(base_offset=Offset(3), epoch=LeaderEpoch(3), data=(b"x",)), NOW)
    log.log._state.log_start_offset = 0
    log.begin_at_a_snapshot()
    assert log.start() == LogPosition(2, 1)


def test_a_log_that_was_never_cut_stays_whole_beside_its_snapshots() -> None:
    log = log_of(1, 1, 2)
    log.add_snapshot(SnapshotId(2, 1), 77)
    log.begin_at_a_snapshot()
    assert log.start() == LogPosition(0, -1)


def test_an_empty_log_ends_where_its_snapshot_does() -> None:
    log = log_of()
    log.add_snapshot(SnapshotId(100, 7), 77)
    log.log.truncate_fully_and_start_at(100, NOW)
    assert log.position() == log.end_of_epoch(LeaderEpoch(7)) == LogPosition(100, 7)


def test_control_records_are_told_with_their_offsets() -> None:
    log = log_of(1, 1)
    records = dynamic_quorum_records(voter_set([OTHER]))
    log.append(AppendBatch(base_offset=Offset(2), epoch=LeaderEpoch(1), control=records), NOW)
    assert records[0].kraft_version == KRAFT_VERSION_DYNAMIC
    assert list(log.control_records(0, 4)) == [(2, records[0]), (3, records[1])]
