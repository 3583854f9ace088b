"""Chooses leaders of partitions when a broker comes or goes: partition changes as records.

The order of Kafka: a replica in sync first, in the order of assignment; the last one in sync stays in the ISR even when it is
gone (it has the data), and the partition is then without a leader until it is back. Eligible leader replicas, which Kafka may
have written, come after those in sync.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from millstream.metadata.directory_ids import has_online_directory
from millstream.metadata.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from millstream.metadata.topics_delta import NO_LEADER_CHANGE
from millstream.model import BrokerId
from millstream.protocol.generated.metadata_records import PartitionChangeRecord

RECOVERING: Final = 1


def _any_partition(_partition: PartitionImage) -> bool:
    return True


def plan_broker_gone(
    image: MetadataImage,
    broker_id: BrokerId,
    is_concerned: Callable[[PartitionImage], bool] = _any_partition,
) -> list[PartitionChangeRecord]:
    """The broker was fenced or wants to leave: it leads nothing more, and is in no ISR that has another member.

    `is_concerned` picks the partitions, where it lost only some of its directories.
    """

    def is_up(replica: BrokerId) -> bool:
        return replica != broker_id and _is_active(image, replica)

    records = []
    for topic, partition in _partitions_of(image, broker_id):
        if partition.leader != broker_id and broker_id not in partition.isr:
            continue
        if not is_concerned(partition):
            continue
        isr = tuple(replica for replica in partition.isr if replica != broker_id) or partition.isr
        change = _change(topic, partition, isr, is_up)
        if change is not None:
            records.append(change)
    return records


def plan_broker_back(image: MetadataImage, broker_id: BrokerId) -> list[PartitionChangeRecord]:
    """The broker is unfenced: partitions that waited for one of their in-sync replicas get a leader."""

    def is_up(replica: BrokerId) -> bool:
        return replica == broker_id or _is_active(image, replica)

    records = []
    broker = image.brokers[broker_id]
    for topic, partition in _partitions_of(image, broker_id):
        if not partition.has_leader and has_online_directory(partition, broker):
            change = _change(topic, partition, partition.isr, is_up)
            if change is not None:
                records.append(change)
    return records


def leads_any(image: MetadataImage, broker_id: BrokerId) -> bool:
    return any(p.leader == broker_id for _, p in _partitions_of(image, broker_id))


def elected_leader(
    replicas: Sequence[BrokerId], isr: Collection[BrokerId], image: MetadataImage
) -> BrokerId:
    """Returns the first replica in sync that is up; NO_LEADER without one."""
    return next((r for r in replicas if r in isr and _is_active(image, r)), NO_LEADER)


def plan_election(
    image: MetadataImage, topic: TopicImage, partition: PartitionImage, *, unclean: bool
) -> PartitionChangeRecord | None:
    """Returns the preferred leader where it is in sync and up, else as whenever a leader is missing; None when nothing changes.

    `unclean` allows a replica that may lack records, where no other is up: it then recovers (KIP-704).
    """
    elected = elected_leader(partition.replicas, partition.isr, image)
    if elected not in {NO_LEADER, partition.leader}:
        return PartitionChangeRecord(
            partition_id=partition.partition, topic_id=topic.topic_id, leader=elected
        )
    if partition.has_leader:
        return None
    change = _change(topic, partition, partition.isr, lambda replica: _is_active(image, replica))
    if change is not None or not unclean:
        return change
    leader = next((r for r in partition.replicas if _is_active(image, r)), NO_LEADER)
    if leader == NO_LEADER:
        return None
    return PartitionChangeRecord(
        partition_id=partition.partition,
        topic_id=topic.topic_id,
        isr=[leader],
        leader=leader,
        leader_recovery_state=RECOVERING,
    )


def _change(
    topic: TopicImage,
    partition: PartitionImage,
    isr: tuple[BrokerId, ...],
    is_up: Callable[[BrokerId], bool],
) -> PartitionChangeRecord | None:
    """The record that gives the partition this ISR and a leader out of it; None when nothing changes."""
    keeps = partition.leader in isr and is_up(partition.leader)
    elected = next((r for r in partition.replicas if r in isr and is_up(r)), NO_LEADER)
    leader = partition.leader if keeps else elected
    if leader == NO_LEADER:
        eligible = next((r for r in partition.eligible_leader_replicas if is_up(r)), NO_LEADER)
        if eligible != NO_LEADER:
            return _led_by_eligible(topic, partition, eligible)
    if leader == partition.leader and isr == partition.isr:
        return None
    return PartitionChangeRecord(
        partition_id=partition.partition,
        topic_id=topic.topic_id,
        isr=None if isr == partition.isr else list(isr),
        leader=NO_LEADER_CHANGE if leader == partition.leader else leader,
    )


def _led_by_eligible(
    topic: TopicImage, partition: PartitionImage, leader: BrokerId
) -> PartitionChangeRecord:
    """A replica that left the ISR with all its data is as good as one in it (KIP-966). Written by Kafka, honoured here."""
    rest: list[int] = [r for r in partition.eligible_leader_replicas if r != leader]
    return PartitionChangeRecord(
        partition_id=partition.partition,
        topic_id=topic.topic_id,
        isr=[leader],
        leader=leader,
        eligible_leader_replicas=rest,
        last_known_elr=[],
    )


def _is_active(image: MetadataImage, broker_id: BrokerId) -> bool:
    registration = image.brokers.get(broker_id)
    return registration is not None and registration.is_active


def _partitions_of(
    image: MetadataImage, broker_id: BrokerId
) -> Iterator[tuple[TopicImage, PartitionImage]]:
    for topic in image.topics:
        for partition in topic.partitions:
            if broker_id in partition.replicas:
                yield topic, partition
