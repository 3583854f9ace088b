"""Cooperative sticky: the sticky target, reached in two steps (KIP-429).

A partition that must move is first taken from its owner; the member that gets it joins again once it is free. So no
partition ever has two owners, and what does not move is never interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from millstream.clients.core.assignors.assignment import (
    Assignment,
    LastAssignment,
    MemberSubscription,
    TopicRacks,
)
from millstream.clients.core.assignors.claims import Claims
from millstream.clients.core.assignors.sticky import assign_sticky
from millstream.model import TopicPartition

_GENERATION = Struct(">i")


class CooperativeStickyAssignor:
    name = "cooperative-sticky"
    is_cooperative = True

    def user_data(self, topics: frozenset[str], last: LastAssignment) -> bytes:  # noqa: ARG002 - Assignor's signature
        """The generation, for leaders whose subscriptions have no field for it."""
        return _GENERATION.pack(last.generation_id)

    def assign(self, topics: TopicRacks, members: Mapping[str, MemberSubscription]) -> Assignment:
        target, claims = assign_sticky(topics, members)
        claimed = {partition for said in members.values() for partition in said.owned}
        return {
            member: [
                partition
                for partition in partitions
                if _is_free(partition, member, members[member], claims, claimed)
            ]
            for member, partitions in target.items()
        }


def _is_free(
    partition: TopicPartition,
    member: str,
    said: MemberSubscription,
    claims: Claims,
    claimed: set[TopicPartition],
) -> bool:
    """For this member: it holds the partition by right already, or nobody says to hold it."""
    if partition not in claimed:
        return True
    return (
        partition in said.owned
        and partition not in claims.disputed
        and (partition in claims.kept[member])
    )
