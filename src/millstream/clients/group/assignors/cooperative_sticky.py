"""Cooperative sticky: the sticky target, reached in two steps (KIP-429).

A partition that must move is first taken from its owner; the member that gets it joins again once it is free. So no
partition ever has two owners, and what does not move is never interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from millstream.clients.group.assignors.assignment import (
    Assignment,
    LastAssignment,
    MemberSubscription,
    TopicRacks,
)
from millstream.clients.group.assignors.sticky import assign_sticky

_GENERATION = Struct(">i")


class CooperativeStickyAssignor:
    name = "cooperative-sticky"
    is_cooperative = True

    def user_data(self, topics: frozenset[str], last: LastAssignment) -> bytes:  # noqa: ARG002 - Assignor's signature
        """Returns the generation, for leaders whose subscriptions have no field for it."""
        return _GENERATION.pack(last.generation_id)

    def assign(self, topics: TopicRacks, members: Mapping[str, MemberSubscription]) -> Assignment:
        """Leaves out partitions that another member still holds, until it has given them up, unless the
        member holds them by better right.
        """
        target, owned = assign_sticky(topics, members)
        claimed = {partition for said in members.values() for partition in said.owned}
        holder = {partition: member for member, held in owned.current.items() for partition in held}
        return {
            member: [p for p in partitions if p not in claimed or holder.get(p) == member]
            for member, partitions in target.items()
        }
