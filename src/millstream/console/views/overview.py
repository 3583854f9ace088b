"""The first page: the brokers of the cluster, its totals, and the partitions that need attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millstream.clients.admin import ClusterDescription, GroupListing, TopicDescription
from millstream.errors import KafkaError


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """`leader_count` and `replica_count` count partitions, internal topics included."""

    node_id: int
    address: str
    rack: str | None
    is_controller: bool
    leader_count: int
    replica_count: int


@dataclass(frozen=True, slots=True)
class OverviewView:
    cluster_id: str | None
    controller_id: int
    brokers: tuple[BrokerRow, ...]
    topic_count: int
    internal_topic_count: int
    partition_count: int
    under_replicated_count: int
    leaderless_count: int
    led_elsewhere_count: int
    """Partitions led by another than their first replica."""
    group_count: int | None
    """None where a broker did not say which groups it has; `groups_error` says why."""
    groups_by_state: dict[str, int]
    groups_error: str | None


def overview_view(
    cluster: ClusterDescription,
    topics: Iterable[TopicDescription],
    groups: Sequence[GroupListing] | KafkaError,
) -> OverviewView:
    """Returns the overview. `topics` holds the internal ones too."""
    described = list(topics)
    partitions = [partition for topic in described for partition in topic.partitions]
    leaders = Counter(partition.leader for partition in partitions)
    replicas = Counter(replica for partition in partitions for replica in partition.replicas)
    known = () if isinstance(groups, KafkaError) else groups
    internal_count = sum(topic.is_internal for topic in described)
    return OverviewView(
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        brokers=tuple(
            BrokerRow(
                node_id=node.node_id,
                address=str(node.address),
                rack=node.rack,
                is_controller=node.node_id == cluster.controller_id,
                leader_count=leaders[node.node_id],
                replica_count=replicas[node.node_id],
            )
            for node in sorted(cluster.nodes, key=lambda node: node.node_id)
        ),
        topic_count=len(described) - internal_count,
        internal_topic_count=internal_count,
        partition_count=len(partitions),
        under_replicated_count=sum(len(each.isr) < len(each.replicas) for each in partitions),
        leaderless_count=leaders[-1],
        led_elsewhere_count=sum(each.is_led_elsewhere for each in partitions),
        group_count=None if isinstance(groups, KafkaError) else len(groups),
        groups_by_state=dict(sorted(Counter(str(group.state) for group in known).items())),
        groups_error=str(groups) if isinstance(groups, KafkaError) else None,
    )
