"""What an assignor takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from millstream.model import TopicPartition


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """What a member wants, and what it holds since generation `generation_id`."""

    topics: frozenset[str]
    owned: frozenset[TopicPartition] = frozenset()
    generation_id: int = -1
    group_instance_id: str | None = None
    rack: str | None = None


Assignment = dict[str, list[TopicPartition]]
"""By member id; every member has an entry."""


class Assignor(Protocol):
    def __call__(
        self, partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        """Each partition of the subscribed topics to at most one member that subscribes to it."""
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
    partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> list[str]:
    """Topics that somebody wants and that exist, sorted."""
    wanted = {topic for subscription in members.values() for topic in subscription.topics}
    return sorted(topic for topic in wanted if partition_counts.get(topic, 0) > 0)
