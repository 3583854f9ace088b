"""Sticky assignment where all members want the same topics: every member gets the same number, or one more.

1. Members keep what they hold, up to their share; so many of them as can have one more keep one more.
2. Where racks matter, what is free goes to members near it that have room.
3. The rest is dealt in turn to those below the common share, then one each to those who may have one more.

As in Java's sticky assignors, down to the order; that of members where Java's follows a hash is by member id here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from millstream.clients.group.assignors.assignment import Assignment, is_near
from millstream.clients.group.assignors.claimed_partitions import ClaimedPartitions
from millstream.model import TopicPartition

Topics = Mapping[str, Sequence[frozenset[str]]]


def assign_alike(topics: Topics, owned: ClaimedPartitions, racks: Mapping[str, str]) -> Assignment:
    """Assigns partitions to members that want the same topics.

    `topics` in order of names; `racks` of members, empty unless they matter.
    """
    builder = _ConstrainedAssignmentBuilder(topics, racks, sorted(owned.current))
    free = builder.keep(owned)
    if racks:
        free = builder.deal_near(sorted(free, key=builder.takers_near))
    builder.deal(free)
    return builder.assignment


@dataclass(slots=True)
class _ConstrainedAssignmentBuilder:
    topics: Topics
    racks: Mapping[str, str]
    members: list[str]
    assignment: Assignment = field(init=False)
    below: list[str] = field(default_factory=list)
    """Members with less than the common share."""
    level: list[str] = field(default_factory=list)
    """Members with the common share that may get one more."""
    _share: int = field(init=False)
    _extra: int = field(init=False)
    _near: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.assignment = {member: [] for member in self.members}
        count = sum(len(partitions) for partitions in self.topics.values())
        self._share, self._extra = divmod(count, len(self.members))
        self._near = {}
        for rack in self.racks.values():
            self._near[rack] = self._near.get(rack, 0) + 1

    def keep(self, owned: ClaimedPartitions) -> list[TopicPartition]:
        """Step 1. Returns what is free, in order."""
        kept: set[TopicPartition] = set()
        for member in self.members:
            held = [
                tp for tp in owned.current[member] if is_near(self.racks.get(member), self._at(tp))
            ]
            held.sort(key=lambda tp: (tp.partition, tp.topic))
            if len(held) < self._share:
                self.below.append(member)
            elif len(held) > self._share and self._extra:
                self._extra -= 1
                held = held[: self._share + 1]
            else:
                self.level.append(member)
                held = held[: self._share]
            self.assignment[member] = held
            kept.update(held)
        if not self._extra:
            self.level.clear()
        everything = (
            TopicPartition(topic, index)
            for topic, partitions in self.topics.items()
            for index in range(len(partitions))
        )
        return [partition for partition in everything if partition not in kept]

    def takers_near(self, partition: TopicPartition) -> int:
        return sum(self._near.get(rack, 0) for rack in self._at(partition))

    def deal_near(self, free: list[TopicPartition]) -> list[TopicPartition]:
        """Step 2. Returns what no member that is near has room for."""
        rest: list[TopicPartition] = []
        turn = 0
        for partition in free:
            at = self._next_near(partition, self.below, turn)
            if at is not None:
                turn = self._give_below(partition, at) % max(1, len(self.below))
            elif self._extra and (at := self._next_near(partition, self.level, 0)) is not None:
                self.assignment[self.level.pop(at)].append(partition)
                self._extra -= 1
            else:
                rest.append(partition)
        return rest

    def deal(self, free: list[TopicPartition]) -> None:
        """Step 3."""
        below, level = deque(self.below), deque(self.level)
        for partition in free:
            member = below.popleft() if below else level.popleft()
            held = self.assignment[member]
            held.append(partition)
            if len(held) < self._share:
                below.append(member)
            elif len(held) == self._share:
                level.append(member)

    def _give_below(self, partition: TopicPartition, at: int) -> int:
        """Returns whose turn is next."""
        member = self.below[at]
        held = self.assignment[member]
        held.append(partition)
        if len(held) < self._share:
            return at + 1
        del self.below[at]
        if self._extra:
            self.level.append(member)
        return at

    def _next_near(self, partition: TopicPartition, members: list[str], start: int) -> int | None:
        replicas = self._at(partition)
        for step in range(len(members)):
            at = (start + step) % len(members)
            if self.racks.get(members[at]) in replicas:
                return at
        return None

    def _at(self, partition: TopicPartition) -> frozenset[str]:
        return self.topics[partition.topic][partition.partition]
