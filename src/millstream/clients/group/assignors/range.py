"""Range: per topic, consecutive partitions to the members in order, the first ones getting one more.

Topics with equal partition counts are shared out alike, so that joins find their partitions together. Where members and
replicas say on which racks they are, and that makes a difference, members first get partitions near them (KIP-881).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from millstream.clients.group.assignors.assignment import (
    Assignment,
    LastAssignment,
    MemberSubscription,
    TopicRacks,
    is_near,
    member_racks,
    members_in_order,
    racks_matter,
    subscribed_topics,
)
from millstream.model import TopicPartition


class RangeAssignor:
    name = "range"
    is_cooperative = False

    def user_data(self, topics: frozenset[str], last: LastAssignment) -> None:  # noqa: ARG002 - Assignor's signature
        return None

    def assign(self, topics: TopicRacks, members: Mapping[str, MemberSubscription]) -> Assignment:
        racks = member_racks(members)
        ordered = members_in_order(members)
        shares = [
            _Shares(topic, partitions, [m for m in ordered if topic in members[m].topics])
            for topic, partitions in subscribed_topics(topics, members).items()
        ]
        for alike in _copartitioned(shares, racks):
            _give_near(alike, racks)
        assignment: Assignment = {member: [] for member in members}
        for share in shares:
            share.give_ranges()
            for member, partitions in share.given.items():
                assignment[member] += [
                    TopicPartition(share.topic, index) for index in sorted(partitions)
                ]
        return assignment


@dataclass(slots=True)
class _Shares:
    """One topic being shared out among those who want it."""

    topic: str
    replicas: Sequence[frozenset[str]]
    takers: list[str]
    given: dict[str, list[int]] = field(init=False)
    free: dict[int, None] = field(init=False)
    """In order of partitions."""
    _each: int = field(init=False)
    _extra: int = field(init=False)
    """Members that may still get one more than the others."""

    def __post_init__(self) -> None:
        self.given = {member: [] for member in self.takers}
        self.free = dict.fromkeys(range(len(self.replicas)))
        self._each, self._extra = divmod(len(self.replicas), len(self.takers))

    def room(self, member: str) -> int:
        return max(0, self._each + (self._extra > 0) - len(self.given[member]))

    def give(self, member: str, partitions: Sequence[int]) -> None:
        self.given[member] += partitions
        if len(self.given[member]) > self._each:
            self._extra -= 1
        for partition in partitions:
            del self.free[partition]

    def give_ranges(self) -> None:
        for member in self.takers:
            room = self.room(member)
            if room and self.free:
                self.give(member, [index for index, _ in zip(self.free, range(room), strict=False)])

    def give_near_ranges(self, racks: Mapping[str, str]) -> None:
        for member in self.takers:
            near = [p for p in self.free if is_near(racks.get(member), self.replicas[p])]
            if taken := near[: self.room(member)]:
                self.give(member, taken)


def _copartitioned(shares: list[_Shares], racks: Mapping[str, str]) -> list[list[_Shares]]:
    """Topics with the same takers and partition counts, which joins want together; none if racks do
    not matter at all.
    """
    mattering = {
        share.topic
        for share in shares
        if racks_matter({racks[m] for m in share.takers if m in racks}, share.replicas)
    }
    if not mattering:
        return []
    alike: dict[tuple[int, tuple[str, ...]], list[_Shares]] = {}
    for share in shares:
        alike.setdefault((len(share.replicas), tuple(share.takers)), []).append(share)
    return [group for group in alike.values() if len(group) > 1 or group[0].topic in mattering]


def _give_near(alike: list[_Shares], racks: Mapping[str, str]) -> None:
    if len(alike) == 1:
        alike[0].give_near_ranges(racks)
        return
    first = alike[0]
    for partition in range(len(first.replicas)):
        for member in first.takers:
            rack = racks.get(member)
            if first.room(member) and all(is_near(rack, s.replicas[partition]) for s in alike):
                for share in alike:
                    share.give(member, [partition])
                break
