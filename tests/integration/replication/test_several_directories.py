"""Brokers with two data directories each: one of a broker fails, and replicas move between them while they are written (KIP-858, KIP-113)."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Self

import pytest

from millstream.cli.cluster.layout import NodeLayout
from millstream.clients import NewTopic
from millstream.clients.admin import TopicPartitionReplica
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.blocking import Admin, Consumer, Producer
from millstream.model import TopicPartition
from millstream.runtime import File
from millstream.runtime.interfaces import Buffer
from millstream.runtime.system import SystemFileSystem
from millstream.testing import Cluster, node_runner
from tests.patience import LONG_ENOUGH_MS, wait_until

PARTITIONS = 6
FAILOVER_S = 5.0


class Disks:
    """Those under a broken path answer as a disk that has died. Wraps the system's, whose classes are compiled and have no heirs."""

    broken: ClassVar[set[str]] = set()

    def __init__(self) -> None:
        self._disks = SystemFileSystem()

    def __getattr__(self, name: str) -> object:
        return getattr(self._disks, name)

    def open(self, path: str, *, create: bool = True) -> FileOfDisk:
        self.check(path)
        return FileOfDisk(path, self._disks.open(path, create=create))

    def list(self, path: str) -> list[str]:
        self.check(path)
        return self._disks.list(path)

    @classmethod
    def check(cls, path: str) -> None:
        if any(path.startswith(each) for each in cls.broken):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)


class FileOfDisk:
    def __init__(self, path: str, file: File) -> None:
        self._path, self._file = path, file

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def append(self, buffers: Sequence[Buffer]) -> int:
        Disks.check(self._path)
        return self._file.append(buffers)

    def read_at(self, position: int, length: int) -> bytes:
        Disks.check(self._path)
        return self._file.read_at(position, length)

    def sync(self) -> None:
        Disks.check(self._path)
        self._file.sync()


class ClusterOfTwoDisks(Cluster):
    def second(self, node: int) -> str:
        return str(Path(self.data) / f"second-{node}")

    def _node_settings(self, node: NodeLayout) -> dict[str, str]:
        settings = super()._node_settings(node)
        return settings | {"log.dirs": f"{settings['log.dirs']},{self.second(node.id)}"}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterOfTwoDisks]:
    monkeypatch.setattr(node_runner, "SystemFileSystem", Disks)
    monkeypatch.setattr(Disks, "broken", set())
    with ClusterOfTwoDisks(data=tmp_path / "c") as cluster:
        yield cluster
        Disks.broken.clear()  # they stop in order


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[Admin]:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        yield admin


def create(admin: Admin, topic: str, partitions: int) -> None:
    new = NewTopic(topic, partitions, 3, configs={"min.insync.replicas": "2"})
    admin.create_topics([new]).raise_errors()
    wait_until(lambda: all(len(each.isr) == 3 for each in described(admin, topic)))


def described(admin: Admin, topic: str) -> list[PartitionDescription]:
    found = admin.describe_topics([topic])
    return found.result(topic).partitions if not found.errors() else []


def place(admin: Admin, topic: str, partition: int, node: int) -> str | None:
    key = TopicPartitionReplica(topic, partition, node)
    return admin.describe_replica_log_dirs([key]).result(key).current


def write(cluster: Cluster, topic: str, partitions: int, count: int = 1) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for _ in range(count):
            for number in range(partitions):
                producer.send(topic, b"v" * 100, partition=number)


class Writing(threading.Thread):
    """Writes to the first partition until it is told to stop."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        super().__init__(daemon=True)
        self._cluster, self._topic = cluster, topic
        self._is_over = threading.Event()
        self.acknowledged: list[bytes] = []

    def run(self) -> None:
        with Producer(bootstrap_servers=self._cluster.bootstrap_servers) as producer:
            while not self._is_over.is_set():
                value = str(len(self.acknowledged)).encode()
                producer.send(self._topic, value, partition=0).result()
                self.acknowledged.append(value)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.join()

    def goes_on(self) -> None:
        had = len(self.acknowledged)
        wait_until(lambda: len(self.acknowledged) > had + 5)


def test_leaders_move_away_from_a_directory_that_fails_and_the_broker_lives_on(
    cluster: ClusterOfTwoDisks, admin: Admin
) -> None:
    create(admin, "t", PARTITIONS)
    write(cluster, "t", PARTITIONS)
    node = next(
        each.leader
        for each in described(admin, "t")
        if place(admin, "t", each.partition, each.leader) == cluster.second(each.leader)
    )
    on_second = [n for n in range(PARTITIONS) if place(admin, "t", n, node) == cluster.second(node)]
    assert 0 < len(on_second) < PARTITIONS
    Disks.broken.add(cluster.second(node))
    begin_s = time.monotonic()
    write(cluster, "t", PARTITIONS)  # it is seen with the next write

    def has_moved() -> bool:
        return all(node not in (described(admin, "t")[n].leader, *described(admin, "t")[n].isr) for n in on_second)  # fmt: skip

    wait_until(has_moved)
    assert time.monotonic() - begin_s < FAILOVER_S
    found = described(admin, "t")
    assert all(each.leader >= 0 for each in found)
    assert all(node in found[n].isr for n in range(PARTITIONS) if n not in on_second)
    write(cluster, "t", PARTITIONS)
    create(admin, "u", 3)
    left = place(admin, "t", next(n for n in range(PARTITIONS) if n not in on_second), node)
    # Who creates a topic does not wait for its followers.
    wait_until(lambda: None not in {place(admin, "u", n, node) for n in range(3)})
    assert {place(admin, "u", n, node) for n in range(3)} == {left}


@pytest.mark.parametrize("of_leader", [True, False], ids=["leader", "follower"])
def test_a_replica_moves_between_directories_while_it_is_written(
    cluster: ClusterOfTwoDisks, admin: Admin, of_leader: bool
) -> None:
    create(admin, "t", 1)
    write(cluster, "t", 1, 3_000)
    leader = described(admin, "t")[0].leader
    node = leader if of_leader else next(each for each in cluster.node_ids if each != leader)
    first = place(admin, "t", 0, node)
    assert first is not None
    target = other_directory(admin, node, first)
    with Writing(cluster, "t") as writing:
        writing.goes_on()
        admin.alter_replica_log_dirs({TopicPartitionReplica("t", 0, node): target}).raise_errors()
        wait_until(lambda: place(admin, "t", 0, node) == target)
        writing.goes_on()
    wait_until(lambda: len(described(admin, "t")[0].isr) == 3)
    assert described(admin, "t")[0].leader == leader
    total = 3_000 + len(writing.acknowledged)
    assert consumed(cluster, total)[3_000:] == writing.acknowledged
    cluster.stop()
    logs = [*Path(cluster.data).glob(f"**/t-0/{0:020}.log")]
    assert len(logs) == 3
    assert len({path.read_bytes() for path in logs}) == 1
    assert (Path(target) / "t-0").is_dir()


def other_directory(admin: Admin, node: int, path: str) -> str:
    (found,) = (each for each in admin.describe_log_dirs([node]).result(node) if each != path)
    return found


def consumed(cluster: Cluster, count: int) -> list[bytes]:
    values: list[bytes] = []
    with Consumer(bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:  # fmt: skip
        consumer.assign([TopicPartition("t", 0)])
        while len(values) < count and (came := consumer.poll(timeout_ms=LONG_ENOUGH_MS)):
            values += [each.value for each in came]
    return values
