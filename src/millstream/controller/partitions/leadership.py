"""Plans what becomes of partitions when a broker comes, goes or loses something: each one's change, as a record.

Owns which partitions are concerned and what is asked for them; what they become is decided in `partition_change`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from millstream.controller.partitions.partition_change import Election, PartitionTarget
from millstream.controller.partitions.partition_changes import PartitionChanges
from millstream.metadata.directory_ids import assigned_directory
from millstream.metadata.image import MetadataImage, PartitionImage, TopicImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.metadata_records import PartitionChangeRecord

_Partition = tuple[TopicImage, PartitionImage]


def plan_broker_gone(changes: PartitionChanges, broker_id: BrokerId) -> list[PartitionChangeRecord]:
    """The broker is fenced or about to stop: it leads nothing more and leaves the ISRs."""
    return _without(changes, broker_id, _in_sync(changes.image, broker_id))


def plan_broker_forgotten(
    changes: PartitionChanges, broker_id: BrokerId
) -> list[PartitionChangeRecord]:
    """The broker is unregistered: as when it is gone; where it is eligible it stays so, should it come back."""
    concerned = [*_in_sync(changes.image, broker_id), *_eligible(changes.image, broker_id)]
    return _without(changes, broker_id, concerned)


def plan_broker_restarted(
    changes: PartitionChanges, broker_id: BrokerId, *, is_clean: bool
) -> list[PartitionChangeRecord]:
    """The broker is a new process.

    One that was not stopped cleanly may have lost what it had: it is not eligible any more.
    """
    if is_clean or not changes.keeps_eligible_replicas:
        return plan_broker_gone(changes, broker_id)
    concerned = [*_in_sync(changes.image, broker_id), *_eligible(changes.image, broker_id)]
    return _without(changes, broker_id, concerned, unclean_replicas=(broker_id,))


def plan_directories_lost(
    changes: PartitionChanges, broker_id: BrokerId, directory_ids: Collection[Uuid]
) -> list[PartitionChangeRecord]:
    """Data directories of the broker failed: for the partitions in them it is gone (KIP-858)."""
    concerned = [
        (topic, partition)
        for topic, partition in partitions_of(changes.image)
        if broker_id in partition.replicas
        and assigned_directory(partition, broker_id) in directory_ids
    ]
    return _without(changes, broker_id, concerned)


def plan_replicas_lost(
    changes: PartitionChanges, broker_id: BrokerId, concerned: Iterable[_Partition]
) -> list[PartitionChangeRecord]:
    """The broker told that these replicas are in a directory that failed."""
    return _without(changes, broker_id, concerned)


def plan_broker_back(changes: PartitionChanges, broker_id: BrokerId) -> list[PartitionChangeRecord]:
    """The broker is unfenced: partitions without a leader may have one now."""

    def is_active(replica: BrokerId) -> bool:
        return replica == broker_id or changes.is_active(replica)

    planned = (
        changes.change(
            topic, partition, PartitionTarget(election=_election(changes, topic)), is_active
        )
        for topic, partition in partitions_of(changes.image)
        if not partition.has_leader
    )
    return [record for record in planned if record is not None]


def leads_any(image: MetadataImage, broker_id: BrokerId) -> bool:
    return any(partition.leader == broker_id for _, partition in partitions_of(image))


def partitions_of(image: MetadataImage) -> Iterator[_Partition]:
    for topic in image.topics:
        for partition in topic.partitions:
            yield topic, partition


def _without(
    changes: PartitionChanges,
    broker_id: BrokerId,
    concerned: Iterable[_Partition],
    unclean_replicas: Collection[BrokerId] = (),
) -> list[PartitionChangeRecord]:
    """The changes of partitions that the broker can neither lead nor be in sync with."""

    def is_active(replica: BrokerId) -> bool:
        return replica != broker_id and changes.is_active(replica)

    planned = (
        changes.change(
            topic,
            partition,
            PartitionTarget(
                isr=tuple(replica for replica in partition.isr if replica != broker_id),
                unclean_replicas=unclean_replicas,
                election=_election(changes, topic),
            ),
            is_active,
        )
        for topic, partition in concerned
    )
    return [record for record in planned if record is not None]


def _election(changes: PartitionChanges, topic: TopicImage) -> Election:
    return Election.UNCLEAN if changes.elects_uncleanly(topic.name) else Election.ONLINE


def _in_sync(image: MetadataImage, broker_id: BrokerId) -> Iterator[_Partition]:
    return _those(image, lambda partition: broker_id in partition.isr)


def _eligible(image: MetadataImage, broker_id: BrokerId) -> Iterator[_Partition]:
    return _those(image, lambda partition: broker_id in partition.eligible_leader_replicas)


def _those(
    image: MetadataImage, is_concerned: Callable[[PartitionImage], bool]
) -> Iterator[_Partition]:
    return (each for each in partitions_of(image) if is_concerned(each[1]))
