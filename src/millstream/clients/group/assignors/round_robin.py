"""Round robin: all partitions of all topics in order, dealt to the members in turn."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.clients.group.assignors.assignment import (
    Assignment,
    LastAssignment,
    MemberSubscription,
    TopicRacks,
    members_in_order,
    subscribed_topics,
)
from millstream.model import TopicPartition


class RoundRobinAssignor:
    name = "roundrobin"
    is_cooperative = False

    def user_data(self, topics: frozenset[str], last: LastAssignment) -> None:  # noqa: ARG002 - Assignor's signature
        return None

    def assign(self, topics: TopicRacks, members: Mapping[str, MemberSubscription]) -> Assignment:
        """A member that does not want a topic is passed over, and is next in line for the following
        partition's turn.
        """
        assignment: Assignment = {member: [] for member in members}
        ordered = members_in_order(members)
        turn = 0
        for topic, partitions in subscribed_topics(topics, members).items():
            for partition in range(len(partitions)):
                while topic not in members[ordered[turn]].topics:
                    turn = (turn + 1) % len(ordered)
                assignment[ordered[turn]].append(TopicPartition(topic, partition))
                turn = (turn + 1) % len(ordered)
        return assignment
