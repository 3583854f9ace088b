"""A copy of a log that is cut while it moves to another directory, since its leader does not have what it held."""

from __future__ import annotations

import pytest

from millstream.broker.storage.replica_moves import follow_truncation
from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.log.file_range import FileRange
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.builder import build_batch
from millstream.records.record import Record
from millstream.runtime import Instant
from millstream.runtime.system import SystemRandom
from tests.support.simulated_disk import SimFileSystem

NOW = Instant(1_000_000, 0)


def new_log() -> PartitionLog:
    environment = LogEnvironment(SimFileSystem(), SystemRandom())
    name = TopicPartition("t", 0)
    return PartitionLog.open(name, "/d/t-0", environment, LogConfig(), saved=SavedState(), now=NOW)


def write(log: PartitionLog, epoch: int, count: int) -> None:
    for number in range(count):
        built = build_batch([Record(timestamp=1, value=b"%d of %d" % (number, epoch))])
        log.append_as_leader(memoryview(built), epoch, NOW)


def content(log: PartitionLog) -> bytes:
    read = log.read(log.log_start_offset, 1 << 20, log.log_end_offset).records
    return read.read() if isinstance(read, FileRange) else read


def copy(current: PartitionLog, future: PartitionLog) -> None:
    """As a move does it: what is cut, then what is missing."""
    follow_truncation(current, future, NOW)
    read = current.read(future.log_end_offset, 1 << 20, current.log_end_offset).records
    data = read.read() if isinstance(read, FileRange) else read
    future.append_as_follower(memoryview(bytearray(data)), NOW)


@pytest.fixture
def logs() -> tuple[PartitionLog, PartitionLog]:
    current, future = new_log(), new_log()
    write(current, 1, 3)
    write(current, 2, 3)
    copy(current, future)
    return current, future


@pytest.mark.parametrize("cut_to", [0, 1, 3, 5, 6])
@pytest.mark.parametrize("grows_by", [0, 1, 9])
def test_the_copy_is_cut_too(
    logs: tuple[PartitionLog, PartitionLog], cut_to: int, grows_by: int
) -> None:
    """Where it has grown since, its end says nothing of what was cut."""
    current, future = logs
    current.truncate_to(cut_to, NOW)
    write(current, 3, grows_by)
    copy(current, future)
    assert content(future) == content(current)
    assert future.leader_epochs.entries == current.leader_epochs.entries


def test_a_copy_of_what_was_not_cut_is_left_alone(
    logs: tuple[PartitionLog, PartitionLog],
) -> None:
    current, future = logs
    current.delete_records_before(5)
    follow_truncation(current, future, NOW)
    assert future.log_end_offset == 6
