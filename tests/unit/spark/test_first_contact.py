"""When a start on Spark looks whether anything listens, and when it has been found and a cluster that refuses is waited for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millstream.clients.config import ClientConfig
from millstream.errors import BrokerNotAvailable
from millstream.spark import connections as module
from millstream.spark.connections import Connections
from millstream.spark.kafka_settings import for_both

Process = Callable[..., Connections]


class Cluster:
    """Refuses until it `listens`; counts who looks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listens, self.looks = True, 0
        monkeypatch.setattr(module, "require_listener", self.look)

    async def look(self, _: ClientConfig) -> None:
        self.looks += 1
        if not self.listens:
            raise BrokerNotAvailable("refused")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


@pytest.fixture
def process() -> Iterator[Process]:
    with contextlib.ExitStack() as ends:

        def start(servers: str = "a:1") -> Connections:
            link = Connections(for_both({"bootstrap.servers": servers}))
            ends.callback(link.close)
            return link

        yield start


def test_a_run_looks_once_and_waits_for_a_cluster_that_refuses_later(
    cluster: Cluster, process: Process, tmp_path: Path
) -> None:
    """Also in the workers that Spark starts in the middle of it."""
    first, later = process(), process()
    first.require_listener("run 1", told_in=str(tmp_path))
    cluster.listens = False
    first.require_listener("run 1", told_in=str(tmp_path))
    later.require_listener("run 1", told_in=str(tmp_path))
    assert cluster.looks == 1


def test_the_next_run_looks_in_a_process_that_was_connected_before(
    cluster: Cluster, process: Process, tmp_path: Path
) -> None:
    link = process()
    link.require_listener("run 1", told_in=str(tmp_path))
    cluster.listens = False
    for _ in range(2):  # a refusal is no finding
        with pytest.raises(BrokerNotAvailable):
            link.require_listener("run 2", told_in=str(tmp_path))


def test_a_run_that_writes_to_two_clusters_looks_for_both(
    cluster: Cluster, process: Process, tmp_path: Path
) -> None:
    process("a:1").require_listener("run 1", told_in=str(tmp_path))
    process("b:1").require_listener("run 1", told_in=str(tmp_path))
    assert cluster.looks == 2


def test_who_does_not_say_what_starts_looks_each_time(cluster: Cluster, process: Process) -> None:
    link = process()
    link.require_listener()
    link.require_listener()
    assert cluster.looks == 2


def test_a_directory_that_cannot_be_written_to_costs_a_look_for_each_process(
    cluster: Cluster, process: Process, tmp_path: Path
) -> None:
    gone = str(tmp_path / "gone")
    for link in (process(), process()):
        link.require_listener("run 1", told_in=gone)
        link.require_listener("run 1", told_in=gone)
    assert cluster.looks == 2


def test_a_process_forgets_the_starts_of_long_ago(cluster: Cluster, process: Process) -> None:
    link = process()
    for number in range(1_001):
        link.require_listener(f"run {number}")
    link.require_listener("run 1000")
    assert cluster.looks == 1_001
    link.require_listener("run 0")
    assert cluster.looks == 1_002
