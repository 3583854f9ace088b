"""The uniform assignor: members own as equally many partitions as their subscriptions allow, and keep what they can.

Balance comes before stickiness. When all members subscribe to the same topics, quotas say at once who keeps how much.
When subscriptions differ, partitions go to the member that owns least, and then move from members to others that own at
least two fewer, until none does.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from millstream.coordinator.assignors.partition_assignor import AssignableGroup, Partitions
from millstream.model import Uuid

ROUNDS_MAX: Final = 1_000
"""Of balancing. Every move brings the group nearer to balance, so it ends by itself; the limit
spares the reader the proof."""


class _Partition(NamedTuple):
    topic_id: Uuid
    partition: int


class UniformAssignor:
    name = "uniform"

    def assign(self, group: AssignableGroup) -> Mapping[str, Partitions]:
        assign = _assign_by_quota if group.is_homogeneous else _assign_by_balance
        return {member_id: _by_topic(owned) for member_id, owned in assign(group).items()}


# All members subscribe to the same topics


def _assign_by_quota(group: AssignableGroup) -> Mapping[str, list[_Partition]]:
    unassigned = dict.fromkeys(_all_partitions(group))
    members = len(group.members)
    quota, extra = divmod(len(unassigned), members) if members else (0, 0)
    owned: dict[str, list[_Partition]] = {}
    # Who owns most keeps the extra partitions: so nothing moves that does not have to.
    for member_id in sorted(group.members, key=lambda m: -_size(group.members[m].assigned)):
        room = quota + (extra > 0)
        extra -= extra > 0
        kept = [p for p in _partitions(group.members[member_id].assigned) if p in unassigned][:room]
        owned[member_id] = kept
        for partition in kept:
            del unassigned[partition]
    _fill(owned, list(unassigned), quota)
    return owned


def _fill(owned: dict[str, list[_Partition]], unassigned: list[_Partition], quota: int) -> None:
    """First all members up to the quota, then one more each."""
    left = iter(unassigned)
    for mine in owned.values():
        mine.extend(_take(left, quota - len(mine)))
    for mine in owned.values():
        if len(mine) == quota:
            mine.extend(_take(left, 1))


def _take(left: Iterator[_Partition], count: int) -> list[_Partition]:
    return [partition for _, partition in zip(range(count), left, strict=False)]


# Subscriptions differ


def _assign_by_balance(group: AssignableGroup) -> Mapping[str, list[_Partition]]:
    subscribers: dict[Uuid, list[str]] = defaultdict(list)
    for member_id in sorted(group.members):
        for topic_id in group.members[member_id].topic_ids:
            subscribers[topic_id].append(member_id)
    # Topics with few subscribers first: the others can make up for what these must take.
    topics = sorted(subscribers, key=lambda topic: (len(subscribers[topic]), topic))
    owners = _keep(group)
    load = dict.fromkeys(sorted(group.members), 0)
    for owner in owners.values():
        load[owner] += 1
    for topic_id in topics:
        poor = _Poorest(subscribers[topic_id], load)
        for number in range(group.partition_counts[topic_id]):
            if (partition := _Partition(topic_id, number)) not in owners:
                owners[partition] = poor.give()
    for _ in range(ROUNDS_MAX):
        moves = [
            _balance(topic_id, group.partition_counts[topic_id], owners, subscribers, load)
            for topic_id in topics
        ]
        if not any(moves):
            break
    owned: dict[str, list[_Partition]] = {member_id: [] for member_id in group.members}
    for partition, owner in owners.items():
        owned[owner].append(partition)
    return owned


class _Poorest:
    """Finds who of the subscribers of one topic owns least, while partitions of that topic are given and taken.

    A heap with places that may be out of date: an entry counts if it tells the member's load of now.
    """

    def __init__(self, subscribers: Iterable[str], load: dict[str, int]) -> None:
        self._load = load
        self._heap = [(load[member_id], member_id) for member_id in subscribers]
        heapq.heapify(self._heap)

    @property
    def load(self) -> int:
        """Of the poorest."""
        while self._heap[0][0] != self._load[self._heap[0][1]]:
            heapq.heappop(self._heap)
        return self._heap[0][0]

    def give(self) -> str:
        """One partition more for the poorest: who that is."""
        load, member_id = self.load, self._heap[0][1]
        self._load[member_id] = load + 1
        heapq.heapreplace(self._heap, (load + 1, member_id))
        return member_id

    def take(self, member_id: str) -> None:
        """One partition less."""
        self._load[member_id] -= 1
        heapq.heappush(self._heap, (self._load[member_id], member_id))


def _balance(
    topic_id: Uuid,
    partitions: int,
    owners: dict[_Partition, str],
    subscribers: Mapping[Uuid, list[str]],
    load: dict[str, int],
) -> bool:
    """Moves partitions of one topic from members to others that own at least two fewer. Whether any moved."""
    poor = _Poorest(subscribers[topic_id], load)
    has_moved = False
    for number in range(partitions):
        partition = _Partition(topic_id, number)
        owner = owners[partition]
        if poor.load + 1 < load[owner]:
            owners[partition] = poor.give()
            poor.take(owner)
            has_moved = True
    return has_moved


def _keep(group: AssignableGroup) -> dict[_Partition, str]:
    """Returns the owner of each partition that exists and that its owner still subscribes to."""
    return {
        partition: member_id
        for member_id, member in group.members.items()
        for partition in _partitions(member.assigned)
        if partition.topic_id in member.topic_ids
        and partition.partition < group.partition_counts[partition.topic_id]
    }


# Both


def _all_partitions(group: AssignableGroup) -> Iterator[_Partition]:
    topics = {topic for member in group.members.values() for topic in member.topic_ids}
    return (
        _Partition(topic, partition)
        for topic in sorted(topics)
        for partition in range(group.partition_counts[topic])
    )


def _partitions(assigned: Partitions) -> Iterator[_Partition]:
    return (
        _Partition(topic, partition)
        for topic, partitions in sorted(assigned.items())
        for partition in sorted(partitions)
    )


def _size(assigned: Partitions) -> int:
    return sum(map(len, assigned.values()))


def _by_topic(owned: Iterable[_Partition]) -> Partitions:
    topics: dict[Uuid, set[int]] = defaultdict(set)
    for topic_id, partition in owned:
        topics[topic_id].add(partition)
    return {topic_id: frozenset(partitions) for topic_id, partitions in topics.items()}
