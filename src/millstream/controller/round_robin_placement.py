"""Kafka's older placement of replicas, round robin with a shift: what its reassignment tool still proposes moves by.

New partitions are placed by `placement`, as Kafka's controller does. This one is for proposals over brokers that are all up: it
spreads leaders and followers evenly and depends on nothing but its two numbers, so that equal questions get equal answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
)
from millstream.model import BrokerId


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRobin:
    """Where to begin. For partitions added to a topic, `first_partition` is their number so far."""

    start: int
    """Position, among the brokers, of the leader of partition 0."""
    shift: int
    """How far the first follower stands behind its leader; grows by one with every round of partitions."""
    first_partition: int = 0


def place_round_robin(
    racks: Mapping[BrokerId, str | None],
    partition_count: int,
    replication_factor: int,
    order: RoundRobin,
) -> list[tuple[BrokerId, ...]]:
    """Replicas of each partition, the preferred leader first. With racks, no rack gets a second replica before each has one.

    Raises InvalidPartitions, InvalidReplicationFactor; InvalidReplicaAssignment when only some brokers name their rack.
    """
    if partition_count <= 0:
        raise InvalidPartitions("Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise InvalidReplicationFactor("Replication factor must be larger than 0.")
    if replication_factor > len(racks):
        raise InvalidReplicationFactor(
            f"Replication factor: {replication_factor} larger than available brokers: {len(racks)}."
        )
    named = [rack for rack in racks.values() if rack is not None]
    if named and len(named) != len(racks):
        raise InvalidReplicaAssignment("Not all brokers have rack information.")
    brokers = alternated(racks) if named else sorted(racks)
    rack_count = len(set(named)) or 1
    placed = []
    shift = order.shift
    for partition in range(order.first_partition, order.first_partition + partition_count):
        if partition > 0 and partition % len(brokers) == 0:
            shift += 1
        leader_at = (partition + order.start) % len(brokers)
        candidates = _followers(brokers, leader_at, shift * rack_count)
        placed.append(_chosen(brokers[leader_at], candidates, racks, replication_factor))
    return placed


def alternated(racks: Mapping[BrokerId, str | None]) -> list[BrokerId]:
    """One broker of each rack in turn, racks by name and brokers by id; racks that have no more are passed over."""
    by_rack: dict[str, list[BrokerId]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker] or "", []).append(broker)
    columns = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max((len(column) for column in columns), default=0)
    return [column[row] for row in range(longest) for column in columns if row < len(column)]


def _followers(brokers: Sequence[BrokerId], leader_at: int, shift: int) -> list[BrokerId]:
    """All brokers but the leader, in the order in which they are asked."""
    others = len(brokers) - 1
    return [
        brokers[(leader_at + 1 + (shift + step) % others) % len(brokers)] for step in range(others)
    ]


def _chosen(
    leader: BrokerId,
    candidates: Sequence[BrokerId],
    racks: Mapping[BrokerId, str | None],
    replication_factor: int,
) -> tuple[BrokerId, ...]:
    """The first candidates, but for those whose rack has a replica while another rack has none."""
    chosen = [leader]
    rack_count = len(set(racks.values()))
    waiting = list(candidates)
    while len(chosen) < replication_factor:
        used = {racks[broker] for broker in chosen}
        fresh = len(used) < rack_count
        found = next(b for b in waiting if not fresh or racks[b] not in used)
        chosen.append(found)
        waiting = waiting[waiting.index(found) + 1 :] + waiting[: waiting.index(found)]
    return tuple(chosen)
