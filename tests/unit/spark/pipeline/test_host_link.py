"""A worker's way to a task host that ends while it is looked for."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Self, cast

import pytest

from millstream.spark.pipeline import host_link
from millstream.spark.pipeline.host_link import close_tasks, run_tasks
from millstream.spark.pipeline.messages import RunTask, RunTasks, TaskFailed
from millstream.streams.runtime.report import TaskReport

REQUEST = RunTasks("app", "digest", (RunTask(0, 1, ("in",), {}),))
REPORT = TaskReport("0_1", {})


class Host:
    """Stands for a connection to a host."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held."""


class Busy(Host):
    """One whose kernel is in a long function of another application."""

    def settimeout(self, _timeout_s: float) -> None:
        """The time is over at once."""

    def sendall(self, _data: bytes) -> None:
        """It hears."""

    def recv(self, _size: int) -> bytes:
        raise TimeoutError


class World:
    """Directories and hosts that come and go: what each look finds, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *finds: Exception | None) -> None:
        self.finds = list(finds)
        self.starts = 0
        monkeypatch.setattr(host_link, "socket_of", lambda *_: Path("/gone/host-0.socket"))
        monkeypatch.setattr(host_link, "_connection", self.connection)
        monkeypatch.setattr(host_link, "_start", self.start)
        monkeypatch.setattr(host_link, "_ask", lambda *_: (REPORT,))

    def connection(self, *_: object) -> socket.socket:
        found = self.finds.pop(0)
        if found is not None:
            raise found
        return cast("socket.socket", Host())

    def start(self, *_: object) -> None:
        self.starts += 1
        found = self.finds.pop(0)
        if found is not None:
            raise found


def test_a_directory_that_goes_with_its_last_host_is_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = FileNotFoundError("/gone/host-0.start")
    world = World(monkeypatch, gone, gone, gone, None, None)
    assert run_tasks(REQUEST, bytes, 0, b"") == (REPORT,)
    assert world.starts == 2


def test_a_host_that_ends_again_and_again_is_a_failure_that_may_be_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = ConnectionRefusedError(111, "Connection refused")
    World(monkeypatch, ended, None, ended, ended, None, ended)
    (reply,) = run_tasks(REQUEST, bytes, 0, b"")
    assert isinstance(reply, TaskFailed)
    assert reply.is_retriable
    assert "task host 0 does not answer: [Errno 111] Connection refused" in reply.text


def test_a_host_that_is_busy_with_another_application_is_not_ended_when_one_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = list[object]()
    monkeypatch.setattr(host_link, "socket_of", lambda *_: Path("/there/host-0.socket"))
    monkeypatch.setattr(host_link, "_connection", lambda *_: Busy())
    monkeypatch.setattr(host_link, "pid_of_peer", lambda _: 17)
    monkeypatch.setattr(host_link, "_end", ended.append)
    close_tasks("app", 2, b"")
    assert ended == []
