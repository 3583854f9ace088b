"""A topic of three replicas on three nodes with Kafka's time-outs, load on it, and what its replicas hold."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

from millstream.clients import NewTopic
from millstream.clients.admin.topics.descriptions import PartitionDescription
from millstream.clients.blocking import Admin
from millstream.errors import MillstreamError
from millstream.testing import Cluster
from tests.soak.cluster.world import LIMIT_S, three

SESSION_S: Final = 9.0
LAG_S: Final = 30.0
"""Kafka's `replica.lag.time.max.ms`."""
TOPIC: Final = "t"


@contextmanager
def replicated(
    partitions: int = 3,
    node_settings: Mapping[int, Mapping[str, str]] | None = None,
    roles: Literal["combined", "separate"] = "combined",
    **settings: str,
) -> Iterator[Cluster]:
    """Three brokers with one topic of three replicas, two of which must have what is acknowledged."""
    with three(node_settings, roles, **settings) as cluster:
        create_replicated(cluster, TOPIC, partitions)
        yield cluster


def create_replicated(
    cluster: Cluster, name: str, partitions: int, *, min_insync_replicas: int = 2
) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        topic = NewTopic(name, partitions, 3, {"min.insync.replicas": str(min_insync_replicas)})
        admin.create_topics([topic]).raise_errors()
    wait_until(cluster, name, lambda found: len(found) == partitions and all_in_sync(found))


def all_in_sync(found: list[PartitionDescription]) -> bool:
    return bool(found) and all(len(each.isr) == 3 and each.leader >= 0 for each in found)


def described(cluster: Cluster, name: str = TOPIC) -> list[PartitionDescription]:
    """Returns the partitions as a broker that answers has them; none while none does."""
    try:
        with Admin(bootstrap_servers=cluster.bootstrap_servers, request_timeout_ms=2_000) as admin:
            found = admin.describe_topics([name])
            return [] if name in found.errors() else found.result(name).partitions
    except MillstreamError:
        return []  # between two leaders; the caller has a deadline


def wait_until(
    cluster: Cluster,
    name: str,
    holds: Callable[[list[PartitionDescription]], bool],
    limit_s: float = LIMIT_S,
) -> float:
    """Returns the seconds until the description of the topic is as wanted."""
    begin = time.monotonic()
    while not holds(found := described(cluster, name)):
        assert time.monotonic() - begin < limit_s, f"not within {limit_s} s: {found}"
        time.sleep(0.05)
    return time.monotonic() - begin


def leader_of(cluster: Cluster, partition: int = 0, name: str = TOPIC) -> int:
    wait_until(cluster, name, lambda found: bool(found) and found[partition].leader >= 0)
    return described(cluster, name)[partition].leader


class ReplicaFiles(NamedTuple):
    log: str
    """A digest of the bytes of all segments."""
    epochs: str


def replica_files(cluster: Cluster, node: int, partition: int) -> ReplicaFiles:
    """Returns what a node that has stopped holds of a partition of the topic."""
    (directory,) = Path(cluster.data).glob(f"*{node}*/**/{TOPIC}-{partition}")
    digest = hashlib.sha256()
    for segment in sorted(directory.glob("*.log")):
        digest.update(segment.read_bytes())
    return ReplicaFiles(digest.hexdigest(), (directory / "leader-epoch-checkpoint").read_text())


def check_replicas_are_equal(cluster: Cluster, partitions: int) -> None:
    """Stops the nodes and compares what they hold byte for byte."""
    wait_until(cluster, TOPIC, all_in_sync)
    cluster.stop()
    for partition in range(partitions):
        files = {node: replica_files(cluster, node, partition) for node in cluster.node_ids}
        assert len(set(files.values())) == 1, f"{TOPIC}-{partition}: {files}"
    cluster.start()
