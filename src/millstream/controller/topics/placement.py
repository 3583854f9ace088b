"""Places the replicas of new partitions: Kafka's striped placement, a pure function of brokers and randomness.

The first replica of each partition goes to the next rack in turn, to its next broker that is up; further replicas go to
the following racks, one each, before any rack gets a second one. Within a rack, brokers take turns, those that are up
before those that are fenced. After as many partitions as there are brokers up, racks and brokers are shuffled, so that
the same sets of brokers do not come again and again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from millstream.errors import InvalidReplicationFactor
from millstream.model import BrokerId
from millstream.runtime.interfaces import Random

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class UsableBroker:
    id: BrokerId
    rack: str | None = None
    fenced: bool = False


def place_replicas(
    brokers: Iterable[UsableBroker], partition_count: int, replication_factor: int, random: Random
) -> list[tuple[BrokerId, ...]]:
    """Returns the replicas of each partition, the preferred leader first.

    Raises InvalidReplicationFactor, in the words of Kafka, when none is up, or there are fewer brokers than replicas.
    """
    known = sorted(brokers, key=lambda broker: broker.id)
    if all(broker.fenced for broker in known):
        raise InvalidReplicationFactor(
            "All brokers are currently fenced, or have all their log directories cordoned."
        )
    if replication_factor > len(known):
        raise InvalidReplicationFactor(
            f"The target replication factor of {replication_factor} cannot be reached because only {len(known)} broker(s) are registered "
            "or some brokers have all their log directories cordoned."
        )
    racks = _RackList(known, random)
    return [racks.place(replication_factor) for _ in range(partition_count)]


class _BrokerList:
    """Brokers that take turns: each round starts one further than the round before."""

    def __init__(self, brokers: list[BrokerId], random: Random) -> None:
        self._brokers = brokers
        self._random = random
        self._offset = random.randrange(len(brokers)) if brokers else 0
        self._round = 0
        self._taken = 0

    def next(self, round_number: int) -> BrokerId | None:
        """A broker that was not taken in this round yet."""
        if not self._brokers:
            return None
        if self._round != round_number:
            self._round = round_number
            self._taken = 0
            self._offset = (self._offset + 1) % len(self._brokers)
        if self._taken == len(self._brokers):
            return None
        self._taken += 1
        return self._brokers[(self._taken - 1 + self._offset) % len(self._brokers)]

    def shuffle(self) -> None:
        _shuffle(self._brokers, self._random)
        self._round = -1


class _Rack:
    def __init__(self, brokers: list[UsableBroker], random: Random) -> None:
        self.up = _BrokerList([b.id for b in brokers if not b.fenced], random)
        self._fenced = _BrokerList([b.id for b in brokers if b.fenced], random)

    def next(self, round_number: int) -> BrokerId | None:
        found = self.up.next(round_number)
        return self._fenced.next(round_number) if found is None else found

    def shuffle(self) -> None:
        self.up.shuffle()
        self._fenced.shuffle()


class _RackList:
    def __init__(self, brokers: list[UsableBroker], random: Random) -> None:
        names = sorted(
            {broker.rack for broker in brokers}, key=lambda name: (name is not None, name or "")
        )
        self._racks = [_Rack([b for b in brokers if b.rack == name], random) for name in names]
        self._up_count = sum(not broker.fenced for broker in brokers)
        self._random = random
        self._offset = random.randrange(len(self._racks))
        self._round = 0

    def place(self, replication_factor: int) -> tuple[BrokerId, ...]:
        if self._round == self._up_count:
            self._shuffle()
        start = self._offset
        first_rack, leader = self._first_replica(start)
        replicas = [leader]
        position, skip_first = start, True
        while len(replicas) < replication_factor:
            if position == first_rack and skip_first:
                skip_first = False
            else:
                found = self._racks[position].next(self._round)
                if found is not None:
                    replicas.append(found)
            position = (position + 1) % len(self._racks)
        self._round += 1
        self._offset = (start + 1) % len(self._racks)
        return tuple(replicas)

    def _first_replica(self, start: int) -> tuple[int, BrokerId]:
        for step in range(len(self._racks)):
            position = (start + step) % len(self._racks)
            found = self._racks[position].up.next(self._round)
            if found is not None:
                return position, found
        raise AssertionError("a broker that is up exists in some rack")

    def _shuffle(self) -> None:
        _shuffle(self._racks, self._random)
        for rack in self._racks:
            rack.shuffle()
        self._round = 0


def _shuffle(items: list[_Item], random: Random) -> None:
    for position in range(len(items) - 1, 0, -1):
        other = random.randrange(position + 1)
        items[position], items[other] = items[other], items[position]
