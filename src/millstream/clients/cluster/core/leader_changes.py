"""Leaders that brokers name when they are asked for a partition they do not lead (KIP-951): no metadata needed then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from millstream.clients.cluster.core.cluster_metadata import BrokerNode, ClusterMetadata
from millstream.model import TopicPartition
from millstream.net.client.core.addresses import Address


class _Endpoint(Protocol):
    node_id: int
    host: str
    port: int
    rack: str | None


class _Leader(Protocol):
    @property
    def leader_id(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LeaderChanges:
    nodes: Mapping[int, BrokerNode]
    leaders: Mapping[TopicPartition, tuple[int, int]]
    """(node id, leader epoch)."""

    @classmethod
    def collect(
        cls, answers: Iterable[tuple[TopicPartition, _Leader]], endpoints: Iterable[_Endpoint]
    ) -> LeaderChanges:
        nodes = {
            e.node_id: BrokerNode(e.node_id, Address(e.host, e.port), e.rack) for e in endpoints
        }
        leaders = {
            topic_partition: (leader.leader_id, leader.leader_epoch)
            for topic_partition, leader in answers
            if leader.leader_id >= 0
        }
        return cls(nodes, leaders)

    def told_to(self, cluster: ClusterMetadata) -> ClusterMetadata:
        """Returns the metadata with the leaders that are newer than its own; the same object when none is."""
        if not self.leaders:
            return cluster
        unknown = {n: node for n, node in self.nodes.items() if cluster.nodes.get(n) != node}
        told = cluster.with_nodes(unknown) if unknown else cluster
        for topic_partition, (leader, leader_epoch) in self.leaders.items():
            told = told.with_leader(topic_partition, leader, leader_epoch)
        return told
