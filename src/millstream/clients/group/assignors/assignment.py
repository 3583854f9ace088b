"""Input and output of assignors, and racks in them: when they matter, and which members are near a partition (KIP-881).
Applications may bring their own assignors: see `Assignor`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from millstream.clients.cluster.core.cluster_metadata import ClusterMetadata
from millstream.model import TopicPartition

TopicRacks = Mapping[str, Sequence[frozenset[str]]]
"""By topic: for each partition, in order, the racks of its replicas. The length is the number of partitions."""


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """The topics that a member subscribes to, and the partitions that it holds since generation `generation_id`."""

    topics: frozenset[str]
    owned: frozenset[TopicPartition] = frozenset()
    generation_id: int = -1
    group_instance_id: str | None = None
    rack: str | None = None
    user_data: bytes | None = None
    """Whatever the member's assignor added for the leader's."""


@dataclass(frozen=True, slots=True)
class LastAssignment:
    """The assignment that the group gave us last, whether we still hold it or not."""

    partitions: frozenset[TopicPartition] = frozenset()
    generation_id: int = -1


Assignment = dict[str, list[TopicPartition]]
"""By member id; every member has an entry."""


class OfferedProtocol(Protocol):
    """A protocol that a member offers to the others: those of a group have one in common."""

    @property
    def name(self) -> str: ...

    @property
    def is_cooperative(self) -> bool:
        """Members keep their partitions while the group rebalances (KIP-429). If not, they give everything up first."""
        ...

    def user_data(self, topics: frozenset[str], last: LastAssignment) -> bytes | None:
        """User data of a member for the leader's assignor, beside its subscription."""
        ...


@runtime_checkable
class Assignor(OfferedProtocol, Protocol):
    """Shares out partitions, for the leader of a classic group. All members of a group must know the name."""

    def assign(self, topics: TopicRacks, members: Mapping[str, MemberSubscription]) -> Assignment:
        """Assigns each partition of the subscribed topics to at most one member that subscribes to it.

        A cooperative assignor gives no partition to a member while another one holds it; the group rebalances again
        when that one has let go.
        """
        ...


def members_in_order(members: Mapping[str, MemberSubscription]) -> list[str]:
    """Static members by instance id, then the others by member id, as Kafka's Java assignors sort them."""
    return sorted(
        members,
        key=lambda member: (
            members[member].group_instance_id is None,
            members[member].group_instance_id or member,
        ),
    )


def subscribed_topics(
    topics: TopicRacks, members: Mapping[str, MemberSubscription]
) -> dict[str, Sequence[frozenset[str]]]:
    """Returns the topics that a member wants and that exist, sorted by name."""
    wanted = {topic for subscription in members.values() for topic in subscription.topics}
    return {topic: topics[topic] for topic in sorted(wanted) if topics.get(topic)}


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
