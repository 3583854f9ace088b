"""Sticky assignment where members want different topics: as even as the subscriptions allow, moving little.

1. Members keep what they hold and still want (where racks matter: what is near them).
2. What is free goes, topics with few takers first, to the member with least that wants it (near ones first).
3. Partitions move from members with more to those with at least two less, until none can. If that made nothing more
   even, it is undone.

Movements are remembered, so that two partitions of a topic do not change places: when one is to go from A to B while
another has come from B to A, that other one goes back instead.

As in Java's sticky assignors, down to the order, except where Java's follows a hash, or gives a partition to a former
owner that does not want its topic any more.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from millstream.clients.group.assignors.assignment import Assignment, MemberSubscription, is_near
from millstream.clients.group.assignors.claimed_partitions import ClaimedPartitions
from millstream.model import TopicPartition

_FEW = 32
"""Up to so many takers are compared one by one; of more, one is met soon among those who have least."""


class Loads:
    """Numbers of partitions by member, in order; members with equally many by id."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = dict(counts)
        self._ordered = sorted((count, member) for member, count in counts.items())

    def __getitem__(self, member: str) -> int:
        return self._counts[member]

    def __contains__(self, member: object) -> bool:
        return member in self._counts

    def __iter__(self) -> Iterator[str]:
        """From the least loaded on."""
        return (member for _, member in self._ordered)

    def add(self, member: str, more: int) -> None:
        count = self._counts[member]
        del self._ordered[bisect_left(self._ordered, (count, member))]
        insort(self._ordered, (count + more, member))
        self._counts[member] = count + more

    def remove(self, member: str) -> None:
        count = self._counts.pop(member)
        del self._ordered[bisect_left(self._ordered, (count, member))]

    def least(self, takers: Collection[str]) -> str | None:
        """Returns the least loaded of `takers` that are counted here."""
        if len(takers) <= _FEW:
            counted = (member for member in takers if member in self._counts)
            return min(counted, key=lambda member: (self._counts[member], member), default=None)
        return next((member for member in self if member in takers), None)

    def imbalance(self) -> int:
        """Returns the sum of differences over all pairs of members; 0 is perfectly even."""
        size = len(self._ordered)
        return sum(count * (2 * rank - size + 1) for rank, (count, _) in enumerate(self._ordered))


_Pair = tuple[str, str]


@dataclass(slots=True)
class Movements:
    _pairs: dict[TopicPartition, _Pair] = field(default_factory=dict)
    """By partition: where it came from at first, and where it is now."""
    _moved: dict[tuple[str, _Pair], dict[TopicPartition, None]] = field(default_factory=dict)
    """By topic and pair: what moved so, in order."""

    def to_move(self, partition: TopicPartition, giver: str, taker: str) -> TopicPartition:
        """Returns the partition that had better go from `giver` to `taker`: this one, or one that
        came the other way.
        """
        origin = self._pairs[partition][0] if partition in self._pairs else giver
        came = self._moved.get((partition.topic, (taker, origin)))
        return next(iter(came)) if came else partition

    def record(self, partition: TopicPartition, giver: str, taker: str) -> None:
        origin = giver
        if partition in self._pairs:
            pair = self._pairs.pop(partition)
            origin = pair[0]
            moved = self._moved[partition.topic, pair]
            del moved[partition]
        if origin != taker:
            self._pairs[partition] = (origin, taker)
            self._moved.setdefault((partition.topic, (origin, taker)), {})[partition] = None


Topics = Mapping[str, Sequence[frozenset[str]]]


def assign_mixed(
    topics: Topics,
    members: Mapping[str, MemberSubscription],
    owned: ClaimedPartitions,
    racks: Mapping[str, str],
) -> Assignment:
    """Assigns partitions to members that want different topics. `racks` of members, empty unless they matter."""
    takers = {
        topic: frozenset(m for m, said in members.items() if topic in said.topics)
        for topic in topics
    }
    owners, had_to_give_up = _keep(topics, takers, owned, racks)
    loads = Loads(dict.fromkeys(members, 0))
    for owner in owners.values():
        loads.add(owner, 1)
    builder = _GeneralAssignmentBuilder(topics, takers, owned.previous, owners, loads, Movements())
    builder.run(racks, may_spare_held=not had_to_give_up)
    assignment: Assignment = {member: [] for member in members}
    for partition in sorted(builder.owners):
        assignment[builder.owners[partition]].append(partition)
    return assignment


def _keep(
    topics: Topics,
    takers: Mapping[str, frozenset[str]],
    owned: ClaimedPartitions,
    racks: Mapping[str, str],
) -> tuple[dict[TopicPartition, str], bool]:
    """Owners to begin with, and whether a member had to give something up."""
    owners: dict[TopicPartition, str] = {}
    had_to_give_up = False
    for member, held in owned.current.items():
        for partition in held:
            replicas = topics[partition.topic][partition.partition]
            if member in takers[partition.topic] and is_near(racks.get(member), replicas):
                owners[partition] = member
            else:
                had_to_give_up = True
    return owners, had_to_give_up


@dataclass(slots=True)
class _GeneralAssignmentBuilder:
    topics: Topics
    takers: Mapping[str, frozenset[str]]
    previous: Mapping[TopicPartition, str]
    owners: dict[TopicPartition, str]
    loads: Loads
    movements: Movements

    def run(self, racks: Mapping[str, str], *, may_spare_held: bool) -> None:
        from_nothing = not self.owners
        free = [partition for partition in self._everything() if partition not in self.owners]
        left = self._hand_out(free, racks) if racks else free
        self._hand_out(left, {})
        for member in self._settled():
            self.loads.remove(member)
        before, imbalance = dict(self.owners), self.loads.imbalance()
        if may_spare_held:
            self._even_out(partition for partition in free if self._can_move(partition))
        moved = self._even_out(p for p in self._everything() if self._can_move(p))
        if moved and not from_nothing and self.loads.imbalance() >= imbalance:
            self.owners = before

    def _everything(self) -> list[TopicPartition]:
        """Topics with few takers first."""
        return [
            TopicPartition(topic, index)
            for topic in sorted(self.topics, key=lambda topic: (len(self.takers[topic]), topic))
            for index in range(len(self.topics[topic]))
        ]

    def _hand_out(
        self, free: Iterable[TopicPartition], racks: Mapping[str, str]
    ) -> list[TopicPartition]:
        """Returns what no member that is near takes."""
        left: list[TopicPartition] = []
        near: dict[tuple[str, frozenset[str]], frozenset[str]] = {}
        for partition in free:
            takers = self.takers[partition.topic]
            if racks:
                replicas = self.topics[partition.topic][partition.partition]
                place = (partition.topic, replicas)
                if place not in near:
                    near[place] = frozenset(m for m in takers if is_near(racks.get(m), replicas))
                takers = near[place]
            member = self.loads.least(takers)
            if member is None:
                left.append(partition)
            else:
                self.owners[partition] = member
                self.loads.add(member, 1)
        return left

    def _can_move(self, partition: TopicPartition) -> bool:
        return len(self.takers[partition.topic]) > 1

    def _settled(self) -> list[str]:
        """Members that can neither get nor give: they have all they want, and no other member wants it."""
        wanted = dict.fromkeys(self.loads, 0)
        for topic, takers in self.takers.items():
            for member in takers:
                wanted[member] += len(self.topics[topic])
        holders = {owner for partition, owner in self.owners.items() if self._can_move(partition)}
        return [m for m in wanted if self.loads[m] == wanted[m] and m not in holders]

    def _even_out(self, partitions: Iterable[TopicPartition]) -> bool:
        """Pass after pass, until nothing moves. Every move brings two loads closer, so this ends."""
        movable = list(partitions)
        moved_any = False
        moved = True
        while moved:
            moved = False
            for partition in movable:
                taker = self._better_owner(partition)
                if taker is not None:
                    self._move(partition, taker)
                    moved = moved_any = True
        return moved_any

    def _better_owner(self, partition: TopicPartition) -> str | None:
        """A member with at least two fewer: the one that had it before, or else the one with fewest."""
        load = self.loads[self.owners[partition]]
        former = self.previous.get(partition)
        takers = self.takers[partition.topic]
        if former in takers and former in self.loads and load > self.loads[former] + 1:
            return former
        least = self.loads.least(takers)
        assert least is not None, "who holds a partition wants its topic"
        return least if load > self.loads[least] + 1 else None

    def _move(self, wanted: TopicPartition, taker: str) -> None:
        partition = self.movements.to_move(wanted, self.owners[wanted], taker)
        giver = self.owners[partition]
        self.movements.record(partition, giver, taker)
        self.owners[partition] = taker
        self.loads.add(giver, -1)
        self.loads.add(taker, 1)
