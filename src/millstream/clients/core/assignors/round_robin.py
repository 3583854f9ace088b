"""Round robin: all partitions of all topics in order, dealt to the members in turn."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.clients.core.assignors.assignment import (
    Assignment,
    MemberSubscription,
    members_in_order,
    subscribed_topics,
)
from millstream.model import TopicPartition


def assign_round_robin(
    partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> Assignment:
    """A member that does not want a topic is passed over, and is next in line for the following partition's turn."""
    assignment: Assignment = {member: [] for member in members}
    ordered = members_in_order(members)
    turn = 0
    for topic in subscribed_topics(partition_counts, members):
        for partition in range(partition_counts[topic]):
            while topic not in members[ordered[turn]].topics:
                turn = (turn + 1) % len(ordered)
            assignment[ordered[turn]].append(TopicPartition(topic, partition))
            turn = (turn + 1) % len(ordered)
    return assignment
