"""New partitions of a topic: their replicas, by hand or by placement, and their first records."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.controller.partitions.partition_changes import default_directory
from millstream.controller.topics.placement import UsableBroker, place_replicas
from millstream.errors import InvalidReplicaAssignment, InvalidReplicationFactor
from millstream.metadata.features import Capability, can
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.metadata_records import PartitionRecord
from millstream.runtime.interfaces import Random


def placed_partitions(
    image: MetadataImage, partition_count: int, replication_factor: int, random: Random
) -> list[tuple[BrokerId, ...]]:
    """Returns the replicas for `partition_count` new partitions. Raises InvalidReplicationFactor.

    A broker that is about to stop gets none; one that is gone may, as it may come back.
    """
    usable = [
        UsableBroker(broker.broker_id, broker.rack, broker.fenced)
        for broker in image.brokers.values()
        if not broker.is_cordoned and (broker.fenced or not broker.in_controlled_shutdown)
    ]
    return place_replicas(usable, partition_count, replication_factor, random)


def check_assignment(
    replicas: Sequence[int], replication_factor: int | None, image: MetadataImage
) -> tuple[BrokerId, ...]:
    """Checks replicas given by hand. `replication_factor` is that of the topic's other partitions, None for the first.

    Raises InvalidReplicaAssignment.
    """
    if not replicas:
        raise InvalidReplicaAssignment(
            "The manual partition assignment includes an empty replica list."
        )
    before = None
    for broker_id in sorted(replicas):
        if BrokerId(broker_id) not in image.brokers:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
            )
        if broker_id == before:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes the broker {broker_id} more than once."
            )
        before = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
            f"but this is not consistent with previous partitions, which have {replication_factor} replica(s)."
        )
    return tuple(map(BrokerId, replicas))


def check_has_leader(number: int, replicas: Sequence[BrokerId], image: MetadataImage) -> None:
    """Raises InvalidReplicaAssignment where nobody could lead partition `number`, whose replicas are given by hand."""
    if not any(image.brokers[broker_id].is_active for broker_id in replicas):
        raise InvalidReplicaAssignment(
            f"All brokers specified in the manual partition assignment for partition {number} are fenced or in controlled shutdown."
        )


def partition_record(
    topic_id: Uuid, number: int, replicas: tuple[BrokerId, ...], image: MetadataImage
) -> PartitionRecord:
    """Returns the record of a new partition: led by the first replica that is up, in sync with all that are.

    Raises InvalidReplicationFactor when none is.
    """
    isr = [broker_id for broker_id in replicas if image.brokers[broker_id].is_active]
    if not isr:
        raise InvalidReplicationFactor(
            f"Unable to replicate the partition {len(replicas)} time(s): All brokers are currently fenced or in controlled shutdown."
        )
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=list(isr),
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[default_directory(image, broker_id) for broker_id in replicas]
        if can(image, Capability.DIRECTORY_ASSIGNMENT)
        else [],
    )
