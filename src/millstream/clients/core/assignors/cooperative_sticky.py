"""Cooperative sticky: as even as the subscriptions allow, moving as little as possible, in two steps (KIP-429).

A partition that must move is first taken from its owner; the member that gets it joins again once it is free. So no
partition ever has two owners, and what does not move is never interrupted.
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


def assign_cooperative_sticky(
    partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> Assignment:
    balanced = assign_sticky(partition_counts, members)
    owner = {tp: member for member, subscription in members.items() for tp in subscription.owned}
    return {
        member: [tp for tp in partitions if owner.get(tp, member) == member]
        for member, partitions in balanced.items()
    }


def assign_sticky(
    partition_counts: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> Assignment:
    """The target: who ends up with what."""
    topics = subscribed_topics(partition_counts, members)
    ordered = members_in_order(members)
    takers = {t: [m for m in ordered if t in members[m].topics] for t in topics}
    kept = _kept(partition_counts, members, takers)
    loads = {member: set(kept[member]) for member in ordered}
    owned = set().union(*kept.values()) if kept else set()
    free = [
        TopicPartition(topic, partition)
        for topic in sorted(topics, key=lambda topic: (len(takers[topic]), topic))
        for partition in range(partition_counts[topic])
        if (topic, partition) not in owned
    ]
    for partition in free:
        least = min(takers[partition.topic], key=lambda member: len(loads[member]))
        loads[least].add(partition)
    _balance(loads, takers)
    return {member: sorted(loads[member]) for member in members}


def _kept(
    partition_counts: Mapping[str, int],
    members: Mapping[str, MemberSubscription],
    takers: Mapping[str, list[str]],
) -> dict[str, set[TopicPartition]]:
    """What members may keep: they still want it, it exists, and nobody of a later generation claims it."""
    claims: dict[TopicPartition, list[tuple[int, str]]] = {}
    for member, subscription in members.items():
        for partition in subscription.owned:
            exists = partition.partition < partition_counts.get(partition.topic, 0)
            if exists and member in takers.get(partition.topic, ()):
                claims.setdefault(partition, []).append((subscription.generation_id, member))
    kept: dict[str, set[TopicPartition]] = {member: set() for member in members}
    for partition, claimants in claims.items():
        newest = max(generation for generation, _ in claimants)
        holders = [member for generation, member in claimants if generation == newest]
        if len(holders) == 1:  # two holders in one generation: neither can be believed
            kept[holders[0]].add(partition)
    return kept


def _balance(loads: dict[str, set[TopicPartition]], takers: Mapping[str, list[str]]) -> None:
    """Move single partitions from members with more to members with at least two less, until none can move.

    Each move lowers the sum of squares of the loads, so this ends.
    """
    moved = True
    while moved:
        moved = False
        for giver in sorted(loads, key=lambda member: -len(loads[member])):
            for partition in sorted(loads[giver], reverse=True):
                taker = min(takers[partition.topic], key=lambda member: len(loads[member]))
                if len(loads[giver]) - len(loads[taker]) >= 2:
                    loads[giver].discard(partition)
                    loads[taker].add(partition)
                    moved = True
