"""The uniform assignor: members own as equally many partitions as their subscriptions allow, and keep what they can.

Balance comes before stickiness. When everyone subscribes to the same topics, quotas say at once who keeps how much. When
subscriptions differ, partitions go to whoever owns least, and then move from members to others that own at least two fewer,
until none does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from millstream.coordinator.assignors.partition_assignor import AssignableGroup, Partitions
from millstream.model import Uuid

ROUNDS_MAX: Final = 1_000
"""Of balancing. Every move brings the group nearer to balance, so it ends by itself; nobody should have to trust that."""


class _Partition(NamedTuple):
    topic_id: Uuid
    partition: int


class UniformAssignor:
    name = "uniform"

    def assign(self, group: AssignableGroup) -> Mapping[str, Partitions]:
        assign = _assign_by_quota if group.is_homogeneous else _assign_by_balance
        return {member_id: _by_topic(owned) for member_id, owned in assign(group).items()}


# Everyone subscribes to the same topics


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
    """First everyone up to the quota, then one more each."""
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
    owners = _keep(group)
    load = dict.fromkeys(sorted(group.members), 0)
    for owner in owners.values():
        load[owner] += 1
    # Topics with few subscribers first: the others can make up for what these must take.
    for partition in sorted(
        _all_partitions(group), key=lambda p: (len(subscribers[p.topic_id]), p)
    ):
        if partition not in owners:
            owner = min(subscribers[partition.topic_id], key=load.__getitem__)
            owners[partition] = owner
            load[owner] += 1
    for _ in range(ROUNDS_MAX):
        if not _balance_once(owners, subscribers, load):
            break
    owned: dict[str, list[_Partition]] = {member_id: [] for member_id in group.members}
    for partition, owner in owners.items():
        owned[owner].append(partition)
    return owned


def _keep(group: AssignableGroup) -> dict[_Partition, str]:
    """What members own, still subscribe to, and what still exists."""
    return {
        partition: member_id
        for member_id, member in group.members.items()
        for partition in _partitions(member.assigned)
        if partition.topic_id in member.topic_ids
        and partition.partition < group.partition_counts[partition.topic_id]
    }


def _balance_once(
    owners: dict[_Partition, str], subscribers: Mapping[Uuid, list[str]], load: dict[str, int]
) -> bool:
    """Whether anything moved."""
    has_moved = False
    for partition, owner in owners.items():
        poorest = min(subscribers[partition.topic_id], key=load.__getitem__)
        if load[poorest] + 1 < load[owner]:
            owners[partition] = poorest
            load[owner] -= 1
            load[poorest] += 1
            has_moved = True
    return has_moved


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
