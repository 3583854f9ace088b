"""What a cut costs, and that everything agrees with what is left."""

from __future__ import annotations

import pytest

from millstream.errors import KafkaStorageError
from millstream.log import FileRange, SavedState
from millstream.log.directory.log_loader import load_log
from millstream.log.log_reader import INLINE_READ_BYTES_MAX
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.builder import BatchOptions
from millstream.records.control import ControlType, build_end_transaction_marker
from tests.unit.log.conftest import DIRECTORY

SMALL = LogConfig(index_interval_bytes=200)
LOG = "00000000000000000000.log"


def transactional(world, producer_id: int, epoch: int, sequence: int):
    return world.batch(
        b"v", producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
    )  # fmt: skip


def marker(world, kind: ControlType, producer_id: int, epoch: int, coordinator_epoch: int = 0):
    options = BatchOptions(producer_id=producer_id, producer_epoch=epoch)
    return memoryview(
        build_end_transaction_marker(kind, coordinator_epoch, world.now.wall_ms, options)
    )


def test_a_cut_reads_what_is_cut_off_and_no_more(world, monkeypatch):
    log = world.open(SMALL)
    for number in range(2_000):
        world.append(log, b"%d" % number, timestamp=1_000 + number)
    log.flush(world.now)
    read = 0
    file = log.segments[0].file
    read_at = type(file).read_at

    def counted(self, position, length):
        nonlocal read
        found = read_at(self, position, length)
        read += len(found)
        return found

    monkeypatch.setattr(type(file), "read_at", counted)
    log.truncate_to(1_990, world.now)
    assert 0 < read < 64 * 1024 < log.size_bytes
    assert log.log_end_offset == 1_990


@pytest.mark.parametrize("offset", [1, 2, 37, 99, 150, 199])
@pytest.mark.parametrize("is_restarted", [False, True])
def test_the_indexes_of_what_is_left_are_those_that_a_rebuild_would_make(
    world, offset, is_restarted
):
    log = world.open(SMALL)
    for number in range(200):
        world.append(log, b"%d" % number, timestamp=1_000 + (number * 37) % 101)
    if is_restarted:
        log.close(world.now)
        log = world.open(SMALL, was_clean=True, recovery_point=200)
    log.truncate_to(offset, world.now)
    segment = log.segments[0]
    found = segment.offset_index.entries(), segment.time_index.entries()
    largest = segment.max_timestamp_ms, segment.max_timestamp_offset, segment._bytes_since_entry
    segment.rebuild_indexes()
    assert found[0] == segment.offset_index.entries()
    # Entries that a seal had forced in between say nothing wrong, and may stay.
    assert set(segment.time_index.entries()) <= set(found[1])
    assert largest == (
        segment.max_timestamp_ms,
        segment.max_timestamp_offset,
        segment._bytes_since_entry,
    )


def test_segments_behind_a_cut_leave_at_once_and_their_files_later(world):
    log = world.open(LogConfig(segment_bytes=200))
    for number in range(8):
        world.append(log, b"%d" % number)
    log.flush(world.now)
    log.truncate_to(2, world.now)
    assert [name for name in world.files() if name.endswith(".log")] == [LOG]
    assert any(name.endswith(".deleted") for name in world.files())
    for remove in log.take_due_removals(world.now):
        remove()
    assert not any(name.endswith(".deleted") for name in world.files())
    assert world.values(log) == [(0, b"0"), (1, b"1")]


def producers_by_replay(world, log):
    """What recovery reads from the batches of the log as it is."""
    state = load_log(DIRECTORY, world.environment, log.config, SavedState())
    return sorted(state.producers.snapshot()), state.producers.first_open_offset, [
        entry for segment in state.segments for entry in segment.transaction_index.entries()
    ]  # fmt: skip


@pytest.mark.parametrize("cut", range(1, 13))
@pytest.mark.parametrize("committed_to", [0, 6])
def test_producers_go_back_to_what_they_were_at_the_cut(world, cut, committed_to):
    log = world.open()
    appended = [
        world.produced(7, 0, 0),
        transactional(world, 8, 0, 0),
        world.produced(7, 0, 1),
        marker(world, ControlType.ABORT, 8, 1),  # TV2: ends it and raises the epoch
        transactional(world, 8, 1, 0),
        transactional(world, 9, 0, 0),
        marker(world, ControlType.COMMIT, 9, 0),  # TV1
        transactional(world, 9, 0, 1),
        world.produced(7, 1, 0),  # a new epoch
        marker(world, ControlType.ABORT, 8, 2),
        marker(world, ControlType.COMMIT, 9, 0),
        world.produced(10, 0, 0),  # a new producer
        world.produced(7, 1, 1),
    ]
    for offset, batch in enumerate(appended):
        batch[:8] = offset.to_bytes(8)
        log.append_as_follower(batch, world.now)
    log.last_stable_offset(committed_to)
    log.truncate_to(cut, world.now)
    found = log.producers.snapshot()
    known = sorted((e.producer_id, e.producer_epoch, e.last_sequence, e.last_offset) for e in found)
    opened = {e.producer_id: e.transaction_first_offset for e in found}
    first_open, aborted = log.producers.first_open_offset, list(
        log.segments[-1].transaction_index.entries()
    )  # fmt: skip
    replayed, first_open_again, aborted_again = producers_by_replay(world, log)
    assert known == [
        (e.producer_id, e.producer_epoch, e.last_sequence, e.last_offset) for e in replayed
    ]
    assert opened == {e.producer_id: e.transaction_first_offset for e in replayed}
    assert (first_open, aborted) == (first_open_again, aborted_again)


# --- ranges of a file that is cut


@pytest.fixture
def large(world):
    log = world.open()
    for _ in range(4):
        world.append(log, b"x" * INLINE_READ_BYTES_MAX)
    return log


def test_a_range_of_a_file_that_was_cut_is_never_other_records(world, large):
    """They may stand at its position by the time it is sent: the sender gets an error instead, and ends the connection."""
    records = large.read(2, 1 << 20, large.log_end_offset).records
    assert isinstance(records, FileRange)
    large.truncate_to(3, world.now)
    for _ in range(3):
        world.append(large, b"y" * INLINE_READ_BYTES_MAX, epoch=1)
    with pytest.raises(KafkaStorageError, match="closed"):
        records.read()
    with pytest.raises(OSError, match="closed"):
        records.file.fileno()
    assert large.read(2, 1 << 20, large.log_end_offset).records.read()


@pytest.mark.parametrize("begins_at", [0, 9])
def test_a_range_of_a_segment_that_a_cut_removed_is_never_other_records(world, large, begins_at):
    large.roll(world.now)
    world.append(large, b"z" * 2 * INLINE_READ_BYTES_MAX)
    records = large.read(4, 1 << 20, large.log_end_offset).records
    large.truncate_fully_and_start_at(begins_at, world.now)
    world.append(large, b"y" * 4 * INLINE_READ_BYTES_MAX, epoch=1)
    with pytest.raises(KafkaStorageError, match="closed"):
        records.read()


def test_a_read_up_to_the_end_is_what_was_written(world, large):
    size = large.size_bytes
    whole = large.read(0, 1 << 30, large.log_end_offset).records
    assert len(whole) == size
    world.disk.space_bytes = 100
    with pytest.raises(KafkaStorageError):
        world.append(large, b"x" * INLINE_READ_BYTES_MAX)
    assert len(large.read(0, 1 << 30, large.log_end_offset).records) == size
    assert large.read(large.log_end_offset, 1 << 30, large.log_end_offset).records == b""


def test_a_flush_that_is_under_way_while_the_log_is_cut_does_not_fail(world, large):
    large.roll(world.now)
    world.append(large, b"z")
    plan = large.plan_flush()
    large.truncate_to(2, world.now)
    plan.sync()
    large.complete_flush(plan, world.now)
    assert large.health.failure is None
    assert large.recovery_point <= 2


# --- checkpoints that are older than a cut


def saved_of(directory, log) -> SavedState:
    return directory._saved.of(log.partition, directory._topic_ids[log.partition])


@pytest.mark.parametrize("begin_anew", [False, True])
def test_checkpoints_that_are_older_than_a_cut_do_not_count_after_a_crash(world, begin_anew):
    """The recovery point lies behind the cut, the sizes of segments are others, and the newest segment is all that it names."""
    from millstream.log.directory.formatting import format_directory
    from millstream.log.directory.log_directory import LogDirectory
    from millstream.log.directory.text_checkpoints import MetaProperties
    from millstream.model import Uuid

    partition, topic_id = TopicPartition("t", 0), Uuid((1).to_bytes(16))
    config = LogConfig(segment_bytes=200)
    format_directory(world.disk, "/data", MetaProperties("c", 1, Uuid((2).to_bytes(16))))
    directory = LogDirectory.open("/data", world.environment)
    log = directory.open_log(partition, config, world.now, topic_id)
    for number in range(9):
        world.append(log, b"%d" % number, epoch=1)
    log.flush(world.now)
    directory.checkpoint_recovery_points()
    if begin_anew:
        log.truncate_fully_and_start_at(0, world.now)
    else:
        log.truncate_to(1, world.now)
    expected = [] if begin_anew else [(0, b"0")]
    for number in range(6):  # rolls below the old recovery point
        world.append(log, b"new %d" % number, epoch=2)
        expected.append((len(expected), b"new %d" % number))
    assert [name for name in world.files() if name.endswith(".cut")]
    world.disk.crash(kept_bytes=lambda path, unsynced: unsynced - ("0003" in path))
    directory = LogDirectory.open("/data", world.environment)
    log = directory.open_log(partition, config, world.now, topic_id)
    survived = world.values(log)
    assert survived == expected[: len(survived)]
    assert log.recovery_point <= 1
    world.append(log, b"goes on", epoch=2)
    log.flush(world.now)
    directory.checkpoint_recovery_points()
    assert not [name for name in world.files() if name.endswith(".cut")]
    directory.abandon()


def test_a_cut_of_what_retention_takes_meanwhile_leaves_a_log_that_begins_anew(world):
    """Of damage in the oldest segment, for one: the cut reads in a thread, and the segment leaves."""
    log = world.open(LogConfig(segment_bytes=400))
    for number in range(12):
        world.append(log, b"value %02d" % number)
    log.flush(world.now)
    cut = log.cuts.plan(2)
    cut.read()
    log.delete_records_before(8)
    log.maintain(12, world.now)
    assert log.first_segment_offset > 2
    log.cuts.make(cut, world.now)
    assert (log.log_start_offset, log.log_end_offset) == (2, 2)
    world.append(log, b"again")
    assert world.values(log, 2) == [(2, b"again")]
