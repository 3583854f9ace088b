"""Sticky: as even as the subscriptions allow, moving as little as possible.

`assign_sticky` is the target that both sticky assignors share. StickyAssignor is the eager one: its members give
everything up before they rejoin, so what they had is told in their user data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millstream.clients.group.assignors.assignment import (
    Assignment,
    LastAssignment,
    MemberSubscription,
    TopicRacks,
    subscribed_topics,
)
from millstream.clients.group.assignors.claimed_partitions import ClaimedPartitions
from millstream.clients.group.assignors.racks import member_racks, racks_matter
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
