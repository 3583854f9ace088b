"""One process at a time has a data directory, also where the other one is a node of Apache Kafka, which takes POSIX locks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from millstream.runtime.system import SystemFileSystem

AS_JAVA_DOES = """
import fcntl, sys
file = open(sys.argv[1], "ab")
try:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    print("refused", flush=True)
else:
    print("locked", flush=True)
sys.stdin.read()
"""


def java_like(path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", AS_JAVA_DOES, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_directory_that_kafka_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with java_like(path) as kafka:
        assert first_line(kafka) == "locked"
        with pytest.raises(BlockingIOError):
            SystemFileSystem().lock(str(path))
        kafka.communicate()
    SystemFileSystem().lock(str(path)).close()


def test_kafka_is_refused_a_directory_that_is_ours(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    lock = SystemFileSystem().lock(str(path))
    with java_like(path) as kafka:
        assert first_line(kafka) == "refused"
        kafka.communicate()
    lock.close()


def test_a_second_owner_in_this_process_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    lock = SystemFileSystem().lock(path)
    with pytest.raises(BlockingIOError):
        SystemFileSystem().lock(path)
    lock.close()
    SystemFileSystem().lock(path).close()
