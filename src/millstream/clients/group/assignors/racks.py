"""Racks in assignments: when they matter, and which members are near a partition (KIP-881)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.clients.group.assignors.assignment import MemberSubscription


def replica_racks(snapshot: ClusterMetadata, topic: str) -> list[frozenset[str]]:
    """Returns the racks of each partition of a known topic, in order."""
    racks = {node_id: node.rack for node_id, node in snapshot.nodes.items() if node.rack}
    partitions = snapshot.topics[topic].partitions
    return [
        frozenset(racks[node_id] for node_id in partitions[index].replicas if node_id in racks)
        for index in sorted(partitions)
    ]


def member_racks(members: Mapping[str, MemberSubscription]) -> dict[str, str]:
    """Returns the racks of the members that gave one."""
    return {member: said.rack for member, said in members.items() if said.rack}


def racks_matter(racks: Iterable[str], partitions: Iterable[frozenset[str]]) -> bool:
    """Tells whether racks count: not when no member is near any replica, or when every partition
    has replicas on all racks.
    """
    distinct = set(partitions)
    everywhere = frozenset().union(*distinct)
    return not everywhere.isdisjoint(racks) and distinct != {everywhere}


def is_near(rack: str | None, replicas: frozenset[str]) -> bool:
    """Tells whether a replica is in `rack`; to a member without a rack all are near."""
    return rack is None or rack in replicas
