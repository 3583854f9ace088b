"""Sticky: as even as the subscriptions allow, moving as little as possible.

`assign_sticky` is the target that both sticky assignors share. StickyAssignor is the eager one: its members give
everything up before they rejoin, so what they had is told in their user data. CooperativeStickyAssignor reaches the
target in two steps (KIP-429): a partition that must move is first taken from its owner; the member that gets it joins
again once it is free. So no partition ever has two owners, and what does not move is never interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from struct import Struct

from millstream.clients.group.assignors.assignment import (
    Assignment,
    LastAssignment,
    MemberSubscription,
    TopicRacks,
    member_racks,
    racks_matter,
    subscribed_topics,
)
from millstream.clients.group.assignors.claimed_partitions import ClaimedPartitions
from millstream.clients.group.assignors.sticky_alike import assign_alike
from millstream.clients.group.assignors.sticky_mixed import assign_mixed
from millstream.clients.group.assignors.sticky_user_data import (
    decode_sticky_user_data,
    encode_sticky_user_data,
)


class StickyAssignor:
    name = "sticky"
    is_cooperative = False

    def user_data(self, topics: frozenset[str], last: LastAssignment) -> bytes | None:  # noqa: ARG002 - Assignor's signature
        return encode_sticky_user_data(last) if last.generation_id >= 0 else None

    def assign(self, topics: TopicRacks, members: Mapping[str, MemberSubscription]) -> Assignment:
        assignment, _ = assign_sticky(
            topics, {name: _as_remembered(said) for name, said in members.items()}
        )
        return assignment


def assign_sticky(
    topics: TopicRacks, members: Mapping[str, MemberSubscription]
) -> tuple[Assignment, ClaimedPartitions]:
    """Returns the new assignment, and the partitions that members could claim before."""
    known = subscribed_topics(topics, members)
    owned = ClaimedPartitions.of(known, members)
    racks = member_racks(members)
    if not racks_matter(racks.values(), (p for partitions in known.values() for p in partitions)):
        racks = {}
    if len({said.topics for said in members.values()}) == 1:
        return assign_alike(known, owned, racks), owned
    return assign_mixed(known, members, owned, racks), owned


def _as_remembered(said: MemberSubscription) -> MemberSubscription:
    last = decode_sticky_user_data(said.user_data)
    return replace(said, owned=last.partitions, generation_id=last.generation_id)


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
