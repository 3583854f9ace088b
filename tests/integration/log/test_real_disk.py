"""The log on a real file system, in processes that die and on disks that end."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from millstream.log import LogEnvironment, PartitionLog, SavedState
from millstream.metadata.topic_config import LogConfig
from millstream.model import TopicPartition
from millstream.records.batch import iterate_batches
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record, iterate_records
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

WRITER = textwrap.dedent(
    """
    import resource, signal, sys
    from millstream.errors import KafkaStorageError
    from millstream.log import LogEnvironment, PartitionLog, SavedState
    from millstream.metadata.topic_config import LogConfig
    from millstream.model import TopicPartition
    from millstream.records.builder import BatchOptions, build_batch
    from millstream.records.record import Record
    from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

    now = SystemClock().now()
    environment = LogEnvironment(SystemFileSystem(), SystemRandom())
    log = PartitionLog.open(
        TopicPartition("t", 0), sys.argv[1], environment, LogConfig(segment_bytes=20_000), saved=SavedState(), now=now
    )

    def append(size):
        value = b"%d " % log.log_end_offset + b"x" * size
        batch = build_batch([Record(timestamp=now.wall_ms, value=value)], BatchOptions())
        return log.append_as_leader(memoryview(batch), 0, now)
    """
)


def start(code: str, directory: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER + textwrap.dedent(code), directory],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def opened():
    logs = []

    def open_log(directory: str) -> PartitionLog:
        environment = LogEnvironment(SystemFileSystem(), SystemRandom())
        log = PartitionLog.open(
            TopicPartition("t", 0), directory, environment, LogConfig(segment_bytes=20_000),
            saved=SavedState(), now=SystemClock().now(),
        )  # fmt: skip
        logs.append(log)
        return log

    yield open_log
    for log in logs:
        log.abandon()


def numbers(log: PartitionLog) -> list[int]:
    """The number that each record says it has."""
    found: list[int] = []
    while len(found) < log.log_end_offset:
        records = log.read(len(found), 1 << 20, log.log_end_offset).records
        data = records if isinstance(records, bytes) else records.read()
        found += [
            int((record.value or b"").split(b" ")[0])
            for header, view in iterate_batches(data, strict=True)
            for record in iterate_records(header, view)
        ]
    return found


def test_kill_9_loses_nothing_that_was_flushed(tmp_path, opened):
    directory = str(tmp_path / "t-0")
    code = """
        while True:
            for _ in range(20):
                append(300)
            log.flush(now)
            print(log.recovery_point, flush=True)
    """
    with start(code, directory) as writer:
        assert writer.stdout is not None
        flushed = [int(writer.stdout.readline()) for _ in range(10)][-1]
        writer.kill()
    log = opened(directory)
    assert log.log_end_offset >= flushed == 200
    assert numbers(log) == list(range(log.log_end_offset))


def test_a_disk_that_ends_in_the_middle_of_a_write_leaves_the_log_intact(tmp_path, opened):
    """RLIMIT_FSIZE makes a real write stop half way, then fail, as a full disk does."""
    directory = str(tmp_path / "t-0")
    code = """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for _ in range(3):
            append(300)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))
        try:
            append(3_000)
        except KafkaStorageError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(append(10).first_offset)
    """
    with start(code, directory) as writer:
        assert writer.stdout is not None
        error, offset = writer.stdout.read().splitlines()
    assert error.startswith("cannot append to the log of t-0 in ")
    assert offset == "3"
    assert numbers(opened(directory)) == [0, 1, 2, 3]


def test_a_segment_reserves_its_space_when_it_is_created_and_gives_the_rest_back(
    tmp_path: Path,
) -> None:
    environment = LogEnvironment(SystemFileSystem(), SystemRandom())
    config = LogConfig(segment_bytes=1 << 20, preallocate=True)
    log = PartitionLog.open(
        TopicPartition("t", 0), str(tmp_path / "t-0"), environment, config,
        saved=SavedState(), now=SystemClock().now(),
    )  # fmt: skip
    batch = build_batch([Record(value=b"v" * 5_000)], BatchOptions())
    log.append_as_leader(memoryview(batch), 0, SystemClock().now())
    file = tmp_path / "t-0" / f"{0:020d}.log"
    assert file.stat().st_size == len(batch)
    assert file.stat().st_blocks * 512 >= 1 << 20
    log.close(SystemClock().now())
    assert file.stat().st_size == len(batch)
    assert file.stat().st_blocks * 512 < 1 << 16


def test_what_a_node_makes_is_for_its_own_user_alone(tmp_path: Path) -> None:
    """Whatever the umask gives: the metadata log holds what passwords can be guessed from."""
    files, before = SystemFileSystem(), os.umask(0)
    try:
        directory = tmp_path / "data"
        files.make_directory(str(directory))
        files.open(str(directory / "log")).close()
        files.lock(str(directory / ".lock")).close()
        files.write_atomically(str(directory / "checkpoint"), b"0")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()} == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_the_rights_of_others_are_seen_and_taken_away(tmp_path: Path) -> None:
    files = SystemFileSystem()
    tmp_path.chmod(0o755)
    assert not files.is_private(str(tmp_path))
    files.make_private(str(tmp_path))
    assert files.is_private(str(tmp_path))
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
