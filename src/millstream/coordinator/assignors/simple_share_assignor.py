"""The simple assignor of share groups (KIP-932): partitions are shared, so that every member has work.

Even first, sticky second. With fewer partitions than members each partition goes to several of them; else
each to one. Members that subscribe to the same topics share all partitions evenly; with different
subscriptions each topic is shared out by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from millstream.coordinator.assignors.partition_assignor import AssignableGroup, Partitions
from millstream.model import Uuid

NAME = "simple"


class _TopicIdPartition(NamedTuple):
    topic_id: Uuid
    partition: int


def assign(group: AssignableGroup, assignable: Partitions) -> Mapping[str, Partitions]:
    """Returns the target of each member; one without partitions is absent.

    `assignable`: the partitions that may be read.
    """
    subscribers: dict[Uuid, list[str]] = defaultdict(list)
    for member_id, member in sorted(group.members.items()):
        for topic_id in member.topic_ids:
            subscribers[topic_id].append(member_id)
    topics = sorted(subscribers)
    shares = [topics] if group.is_homogeneous else [[topic_id] for topic_id in topics]
    targets: dict[str, set[_TopicIdPartition]] = defaultdict(set)
    for together in shares:
        partitions = [
            _TopicIdPartition(topic_id, partition)
            for topic_id in together
            for partition in sorted(assignable.get(topic_id, ()))
        ]
        members = subscribers[together[0]] if together else []
        kept = {member_id: _assigned(group, member_id, partitions) for member_id in members}
        for member_id, share in _shared_out(partitions, kept).items():
            targets[member_id] |= share
    return {member_id: _by_topic(share) for member_id, share in targets.items() if share}


def _assigned(
    group: AssignableGroup, member_id: str, partitions: Collection[_TopicIdPartition]
) -> set[_TopicIdPartition]:
    assigned = group.members[member_id].assigned
    return {each for each in partitions if each.partition in assigned.get(each.topic_id, ())}


def _by_topic(partitions: Iterable[_TopicIdPartition]) -> Partitions:
    numbers_by_topic: dict[Uuid, set[int]] = defaultdict(set)
    for each in partitions:
        numbers_by_topic[each.topic_id].add(each.partition)
    return {topic_id: frozenset(numbers) for topic_id, numbers in numbers_by_topic.items()}


def _shared_out(
    partitions: Sequence[_TopicIdPartition], assigned: Mapping[str, set[_TopicIdPartition]]
) -> Mapping[str, set[_TopicIdPartition]]:
    """`assigned`: what each member has now, in the order in which members get one more."""
    if not partitions or not assigned:
        return {}
    sharers = -(-len(assigned) // len(partitions))
    wanted = dict(zip(assigned, _sizes(sharers * len(partitions), len(assigned)), strict=True))
    shares: dict[str, set[_TopicIdPartition]] = {}
    takers: dict[_TopicIdPartition, int] = dict.fromkeys(partitions, 0)
    for member_id, current in assigned.items():
        kept = [each for each in sorted(current) if takers[each] < sharers]
        shares[member_id] = set(kept[: wanted[member_id]])
        for each in shares[member_id]:
            takers[each] += 1
    _fill(shares, wanted, {each: sharers - taken for each, taken in takers.items()})
    return shares


def _sizes(total: int, members: int) -> Iterable[int]:
    """As even as whole numbers allow: ceil(total/members) a step."""
    reached = 0
    for number in range(1, members + 1):
        goal = -(-total * number // members)
        yield goal - reached
        reached = goal


def _fill(
    shares: Mapping[str, set[_TopicIdPartition]],
    wanted: Mapping[str, int],
    missing: Mapping[_TopicIdPartition, int],
) -> None:
    """A partition that all who want more have already stays with fewer members: rare, and no member is without work."""
    hungry = [member_id for member_id, share in shares.items() if len(share) < wanted[member_id]]
    for each, count in missing.items():
        for _ in range(count):
            taker = next((member for member in hungry if each not in shares[member]), None)
            if taker is None:
                break
            shares[taker].add(each)
            hungry.remove(taker)
            if len(shares[taker]) < wanted[taker]:
                hungry.append(taker)
