"""Task hosts beside each other on one machine, without Spark: a task's stores go from one to the other."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millstream.spark.kafka_settings import for_both
from millstream.spark.pipeline.hosted_application import HostedApplication, digest_of
from millstream.spark.pipeline.messages import (
    Application,
    ApplicationWanted,
    Hello,
    RunTask,
    RunTasks,
    Working,
)
from millstream.streams import StreamsBuilder
from millstream.streams.config import ProcessingGuarantee, StreamsConfig
from millstream.streams.runtime.process import LENGTH, decode, encode
from millstream.streams.runtime.report import TaskReport
from millstream.streams.serdes import long, string
from millstream.streams.topology import Topology
from tests.patience import LONG_ENOUGH_S, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
SOON_S = 20
"""Less than a task waits for the lock of a store."""
SECRET = bytes(range(32))


class Host:
    def __init__(self, path: Path, pid: int) -> None:
        self.pid = pid
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.settimeout(LONG_ENOUGH_S)
        self._connection.connect(str(path))
        self._connection.sendall(SECRET)

    def ask(self, message: object) -> object:
        self._connection.sendall(encode(message))
        while isinstance(answer := self._received(), Working):
            pass
        return answer

    def _received(self) -> object:
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
        return decode(self._exactly(length))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._connection.recv(size - len(data))
            assert part, "the host has ended"
            data += part
        return data

    def close(self) -> None:
        self._connection.close()


@contextmanager
def host(
    path: Path, *, python: str = sys.executable, environment: Mapping[str, str] = os.environ
) -> Iterator[Host]:
    process = subprocess.Popen(
        [python, "-m", "millstream.spark.pipeline.host_process", str(path), str(os.getpid())],
        env=environment,
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(SECRET)
    wait_until(lambda: path.exists() or process.poll() is not None)
    assert process.poll() is None
    connected = Host(path, process.pid)
    try:
        yield connected
    finally:
        connected.close()
        process.send_signal(signal.SIGTERM)
        process.wait(LONG_ENOUGH_S)


def counting(source: str, out: str) -> Topology:
    builder = StreamsBuilder()
    words = builder.stream(source, key=string(), value=string())
    words.group_by_key().count().to_stream().to(out, value=long())
    return builder.build().with_own_changelogs()


@pytest.mark.parametrize("guarantee", list(ProcessingGuarantee))
def test_a_task_that_moves_is_closed_where_it_was(
    topics: Any, tmp_path: Path, guarantee: ProcessingGuarantee
) -> None:
    source, out = topics.new("words"), topics.new("counts")
    config = StreamsConfig(application_id=f"app-{source}", processing_guarantee=guarantee)
    topology = counting(source, out)
    (group,) = topology.sub_topologies
    for changelog in topology.topics_of(group, config.application_id).changelogs:
        topics.create(changelog)
    kafka = for_both({"bootstrap.servers": topics.bootstrap_servers})
    pickled = HostedApplication(topology, config, kafka, str(tmp_path)).pickled()
    digest = digest_of(pickled)
    (tmp_path / "sockets").mkdir()
    with host(tmp_path / "sockets" / "a") as a, host(tmp_path / "sockets" / "b") as b:
        for total, each in enumerate((a, b, a), start=1):
            topics.put(source, [{"key": b"k", "value": b"v"}])
            run = RunTask(group.id, 0, (source,), {source: total})
            request = RunTasks(config.application_id, digest, (run,))
            began = time.monotonic()
            answer = each.ask(request)
            if isinstance(answer, ApplicationWanted):
                answer = each.ask(Application(pickled, tuple(sys.path)))
            assert isinstance(answer, tuple)
            (report,) = answer
            assert isinstance(report, TaskReport), report
            assert (report.read, report.restored) == (1, 0), "its stores came with it"
            assert time.monotonic() - began < SOON_S
    counts = [int.from_bytes(record["value"], "big") for record in topics.get(out)]
    assert counts == [1, 2, 3]


def test_who_does_not_show_the_secret_is_not_heard_and_nothing_of_it_is_unpickled(
    tmp_path: Path,
) -> None:
    """The pickle would make a file: it comes whole behind a secret that is wrong in its last byte."""
    made = tmp_path / "made"
    orders = pickle.dumps(_Makes(made))
    with host(tmp_path / "host.socket") as known:
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(LONG_ENOUGH_S)
            stranger.connect(str(tmp_path / "host.socket"))
            stranger.sendall(SECRET[:-1] + b"x" + LENGTH.pack(len(orders)) + orders)
            with contextlib.suppress(ConnectionResetError):  # what it has not read is thrown away
                assert stranger.recv(1) == b""
        assert known.ask(Hello()) == Hello()
    assert not made.exists()


class _Makes:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._path),)
