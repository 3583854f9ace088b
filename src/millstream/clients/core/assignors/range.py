"""Range: per topic, consecutive partitions to the members in order, the first ones getting one more.

Topics with equal partition counts are shared out alike, so that joins find their partitions together.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.clients.core.assignors.assignment import (
    Assignment,
    MemberSubscription,
    members_in_order,
    subscribed_topics,
)
from millstream.model import TopicPartition


def assign_range(
    partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> Assignment:
    assignment: Assignment = {member: [] for member in members}
    ordered = members_in_order(members)
    for topic in subscribed_topics(partition_counts, members):
        takers = [member for member in ordered if topic in members[member].topics]
        share, extra = divmod(partition_counts[topic], len(takers))
        start = 0
        for index, member in enumerate(takers):
            stop = start + share + (1 if index < extra else 0)
            assignment[member] += [TopicPartition(topic, p) for p in range(start, stop)]
            start = stop
    return assignment
