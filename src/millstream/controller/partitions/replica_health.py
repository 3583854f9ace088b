"""Counts partitions from the metadata: those out of sync, without a leader, led elsewhere or on the move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millstream.controller.partitions.topic_replication import ReplicationOf
from millstream.metadata.image import MetadataImage, PartitionImage


@dataclass(frozen=True, slots=True)
class ReplicaHealth:
    """Counts of partitions, as Kafka counts them."""

    partitions: int = 0
    without_leader: int = 0
    under_replicated: int = 0
    """With replicas out of sync; those that a reassignment adds are not missed yet."""
    under_min_isr: int = 0
    """With fewer in sync than acks=all asks for."""
    at_min_isr: int = 0
    """With just as many."""
    led_elsewhere: int = 0
    """Led by another than the first replica."""
    reassigning: int = 0


def replica_health(
    partitions: Iterable[tuple[str, PartitionImage]], settings: ReplicationOf
) -> ReplicaHealth:
    """Counts `partitions`, each with the name of its topic."""
    total = without_leader = under = under_min = at_min = elsewhere = moving = 0
    for topic, partition in partitions:
        in_sync = len(partition.isr)
        least = min(settings(topic).min_insync_replicas, len(partition.replicas))
        total += 1
        without_leader += not partition.has_leader
        under += in_sync < len(partition.replicas) - len(partition.adding_replicas)
        under_min += in_sync < least
        at_min += in_sync == least
        elsewhere += partition.has_leader and partition.leader != partition.preferred_leader
        moving += is_reassigning(partition)
    return ReplicaHealth(total, without_leader, under, under_min, at_min, elsewhere, moving)


def all_partitions(image: MetadataImage) -> Iterator[tuple[str, PartitionImage]]:
    return ((topic.name, partition) for topic in image.topics for partition in topic.partitions)


def is_reassigning(partition: PartitionImage) -> bool:
    return bool(partition.adding_replicas or partition.removing_replicas)
