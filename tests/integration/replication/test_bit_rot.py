"""A bit that a disk has turned in one of three replicas: consumers do not see it, its replica does not lead with it, and it is mended."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millstream.broker.storage import log_scrubber
from millstream.clients import NewTopic
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.blocking import Admin, Consumer, Producer
from millstream.errors import MillstreamError
from millstream.model import TopicPartition
from millstream.testing import Cluster
from tests.patience import LONG_ENOUGH_MS, wait_until

TOPIC, BATCHES = "t", 60
T0 = TopicPartition(TOPIC, 0)
DAMAGED_BATCH = 20


@contextmanager
def filled_cluster(tmp_path: Path) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_scrubber, "_LOOK_AGAIN_S", 0.1)
        settings = {"millstream.log.scrub.interval.ms": "1000"}
        with Cluster(data=tmp_path / "c", settings=settings) as cluster:
            with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
                new = NewTopic(TOPIC, assignments=[[1, 2, 3]], configs={"min.insync.replicas": "2"})
                admin.create_topics([new]).raise_errors()
            with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
                for number in range(BATCHES):
                    producer.send(TOPIC, value(number), partition=0).result()
            wait_until(lambda: sorted(partition(cluster).isr) == [1, 2, 3])
            yield cluster


def value(number: int) -> bytes:
    return f"{number:08}".encode() * 8


def partition(cluster: Cluster) -> PartitionDescription:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        return admin.describe_topics([TOPIC]).result(TOPIC).partitions[0]


def log_file(cluster: Cluster, node: int) -> Path:
    (found,) = Path(cluster.data).glob(f"*{node}*/**/{TOPIC}-0/00000000000000000000.log")
    return found


def turn_a_bit(cluster: Cluster, node: int) -> None:
    path = log_file(cluster, node)
    at = path.read_bytes().index(value(DAMAGED_BATCH))
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x10]))


def is_sound(cluster: Cluster, node: int) -> bool:
    return value(DAMAGED_BATCH) in log_file(cluster, node).read_bytes()


def is_mended(cluster: Cluster, node: int) -> bool:
    return is_sound(cluster, node) and sorted(partition(cluster).isr) == [1, 2, 3]


def consumed(cluster: Cluster, count: int) -> list[bytes]:
    values: list[bytes] = []
    with Consumer(
        bootstrap_servers=cluster.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([T0])
        deadline_s = time.monotonic() + LONG_ENOUGH_MS / 1000
        while len(values) < count and time.monotonic() < deadline_s:
            try:
                values += [each.value for each in consumer.poll(timeout_ms=1_000)]
            except MillstreamError:
                continue  # a batch with a wrong checksum is refused by the client, before it is seen
    return values


def check(cluster: Cluster, more: int = 0) -> None:
    assert consumed(cluster, BATCHES + more) == [value(n) for n in range(BATCHES + more)]
    wait_until(lambda: sorted(partition(cluster).isr) == [1, 2, 3])
    cluster.stop()
    digests = {
        hashlib.sha256(log_file(cluster, node).read_bytes()).hexdigest()
        for node in cluster.node_ids
    }
    assert len(digests) == 1
    cluster.start()


def roles(cluster: Cluster) -> tuple[int, int]:
    leader = partition(cluster).leader
    return leader, next(each for each in cluster.node_ids if each != leader)


@pytest.mark.parametrize(
    "of_leader",
    [pytest.param(True, id="leader"), pytest.param(False, id="follower", marks=pytest.mark.nodes)],
)
def test_a_replica_that_runs_is_mended(tmp_path: Path, of_leader: bool) -> None:
    with filled_cluster(tmp_path) as cluster:
        leader, follower = roles(cluster)
        node = leader if of_leader else follower
        turn_a_bit(cluster, node)
        wait_until(lambda: is_mended(cluster, node))
        assert (partition(cluster).leader == node) is False or not of_leader
        check(cluster)


@pytest.mark.parametrize("way", ["stop", pytest.param("kill", marks=pytest.mark.nodes)])
@pytest.mark.parametrize(
    "of_leader",
    [pytest.param(True, id="leader", marks=pytest.mark.nodes), pytest.param(False, id="follower")],
)
def test_a_replica_that_was_down_is_mended(tmp_path: Path, way: str, of_leader: bool) -> None:
    with filled_cluster(tmp_path) as cluster:
        leader, follower = roles(cluster)
        node = leader if of_leader else follower
        getattr(cluster, way)(node)
        turn_a_bit(cluster, node)
        with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            for number in range(5):
                producer.send(TOPIC, value(BATCHES + number), partition=0).result()
        cluster.restart(node)
        wait_until(lambda: is_mended(cluster, node))
        check(cluster, more=5)
