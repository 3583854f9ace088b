"""The page of the nodes: brokers and controllers, who leads the quorum, who is behind, fenced or
cordoned, and where the logs are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from millstream.clients.admin import (
    ClusterDescription,
    LogDirDescription,
    LogDirs,
    QuorumInfo,
    TopicDescription,
)
from millstream.clients.admin.cluster.nodes import ClusterNode, broker_state, cluster_nodes
from millstream.errors import KafkaError

_NO_QUORUM = QuorumInfo(-1, -1, -1, [], [], {})


@dataclass(frozen=True, slots=True)
class DirectoryRow:
    """With an `error` the directory is offline, and nothing else is known of it."""

    path: str
    is_cordoned: bool = False
    used_bytes: int | None = None
    usable_bytes: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class NodeRow:
    """`state` is None of a node that is no broker.

    `lag` and `lag_ms` are None where the leader of the quorum has not heard of it.
    """

    node_id: int
    roles: tuple[str, ...]
    address: str | None
    rack: str | None
    state: str | None
    place: str | None
    lag: int | None
    lag_ms: int | None
    leader_count: int
    replica_count: int
    out_of_sync_count: int
    """Its replicas that are not in sync with their leaders."""
    directories: tuple[DirectoryRow, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokersView:
    """With a `quorum_error` nothing is known of the quorum: it has no leader, or the
    cluster has none at all (ZooKeeper).
    """

    leader_id: int
    epoch: int
    high_watermark: int
    voter_count: int
    observer_count: int
    fenced_count: int
    nodes: tuple[NodeRow, ...]
    quorum_error: str | None = None


def brokers_view(
    cluster: ClusterDescription,
    quorum: QuorumInfo | KafkaError,
    topics: Iterable[TopicDescription],
    directories: Mapping[int, LogDirs | KafkaError],
) -> BrokersView:
    """Returns the page. `topics` holds the internal ones too."""
    partitions = [partition for topic in topics for partition in topic.partitions]
    leaders = Counter(partition.leader for partition in partitions)
    replicas = Counter(replica for partition in partitions for replica in partition.replicas)
    in_sync = Counter(replica for partition in partitions for replica in partition.isr)
    known = _NO_QUORUM if isinstance(quorum, KafkaError) else quorum

    def row(node: ClusterNode) -> NodeRow:
        found = directories.get(node.node_id)
        told = {} if found is None or isinstance(found, KafkaError) else dict(found)
        rows = tuple(_directory(path, each) for path, each in sorted(told.items()))
        return NodeRow(
            node_id=node.node_id,
            roles=tuple(node.roles),
            address=node.address,
            rack=node.rack,
            state=broker_state(told.values(), is_fenced=node.is_fenced) if node.is_broker else None,
            place=node.place,
            lag=node.lag,
            lag_ms=node.lag_ms,
            leader_count=leaders[node.node_id],
            replica_count=replicas[node.node_id],
            out_of_sync_count=replicas[node.node_id] - in_sync[node.node_id],
            directories=rows,
        )

    return BrokersView(
        leader_id=known.leader_id,
        epoch=known.leader_epoch,
        high_watermark=known.high_watermark,
        voter_count=len(known.voters),
        observer_count=len(known.observers),
        fenced_count=len(cluster.fenced_broker_ids),
        nodes=tuple(row(node) for node in cluster_nodes(cluster, known, {})),
        quorum_error=str(quorum) if isinstance(quorum, KafkaError) else None,
    )


def _directory(path: str, found: LogDirDescription | KafkaError) -> DirectoryRow:
    if isinstance(found, KafkaError):
        return DirectoryRow(path, error=str(found))
    used = sum(replica.size_bytes for replica in found.replicas.values())
    return DirectoryRow(path, found.is_cordoned, used, found.usable_bytes)
