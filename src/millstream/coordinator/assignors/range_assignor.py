"""The range assignor: each topic is cut into ranges, one for each member that subscribes to it.

Members stand in one order for all topics, so members with the same subscriptions own the same partition numbers of
topics with as many partitions: their streams can be joined. Static members come first, by instance id, and so keep
their ranges when they are restarted. Not sticky beyond that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from millstream.coordinator.assignors.partition_assignor import (
    AssignableGroup,
    AssignableMember,
    Partitions,
)
from millstream.model import Uuid


class RangeAssignor:
    name = "range"

    def assign(self, group: AssignableGroup) -> Mapping[str, Partitions]:
        ranges = _ranges(group)
        ordered = sorted(group.members.items(), key=_order)
        targets: dict[str, dict[Uuid, frozenset[int]]] = defaultdict(dict)
        for member_id, member in ordered:
            for topic_id in member.topic_ids:
                taken = ranges[topic_id].take()
                if taken:
                    targets[member_id][topic_id] = taken
        return targets


class _TopicRanges:
    """Hands out the partitions of one topic: each taker gets as many as the others, the first ones one more."""

    def __init__(self, partitions: int, takers: int) -> None:
        self._quota, self._extra = divmod(partitions, takers)
        self._next = 0

    def take(self) -> frozenset[int]:
        start = self._next
        self._next += self._quota + (self._extra > 0)
        self._extra -= self._extra > 0
        return frozenset(range(start, self._next))


def _ranges(group: AssignableGroup) -> Mapping[Uuid, _TopicRanges]:
    takers = Counter(topic for member in group.members.values() for topic in member.topic_ids)
    return {
        topic: _TopicRanges(group.partition_counts[topic], count) for topic, count in takers.items()
    }


def _order(item: tuple[str, AssignableMember]) -> tuple[bool, str]:
    member_id, member = item
    instance_id = member.group_instance_id
    return (True, member_id) if instance_id is None else (False, instance_id)
