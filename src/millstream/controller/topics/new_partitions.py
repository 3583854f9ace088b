"""New partitions of a topic: their replicas, by hand or by placement, and their first records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.controller.topics.placement import UsableBroker, place_replicas
from millstream.errors import InvalidReplicaAssignment, InvalidReplicationFactor
from millstream.metadata.directory_ids import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY
from millstream.metadata.image import MetadataImage
from millstream.model import BrokerId, Uuid
from millstream.protocol.generated.metadata_records import PartitionRecord
from millstream.runtime.random import Random


def placed_partitions(
    image: MetadataImage, partition_count: int, replication_factor: int, random: Random
) -> list[tuple[BrokerId, ...]]:
    """Returns the replicas for `partition_count` new partitions. Raises InvalidReplicationFactor."""
    usable = [
        UsableBroker(broker.broker_id, broker.rack, not broker.is_active)
        for broker in image.brokers.values()
        if not broker.is_cordoned
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
    if len(set(replicas)) != len(replicas):
        twice = next(replica for replica in replicas if replicas.count(replica) > 1)
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes the broker {twice} more than once."
        )
    for broker_id in replicas:
        if BrokerId(broker_id) not in image.brokers:
            raise InvalidReplicaAssignment(
                f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
            )
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignment(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
            f"but this is not consistent with previous partitions, which have {replication_factor} replica(s)."
        )
    return tuple(map(BrokerId, replicas))


def partition_record(
    topic_id: Uuid, number: int, replicas: tuple[BrokerId, ...], image: MetadataImage
) -> PartitionRecord:
    """Returns the record of a new partition: led by the first replica that is up, in sync with all that are.

    Raises InvalidReplicationFactor when none is.
    """
    isr = [broker_id for broker_id in replicas if image.brokers[broker_id].is_active]
    if not isr:
        raise InvalidReplicationFactor(
            f"Partition {number} would have no leader: its brokers {list(replicas)} are fenced or shutting down."
        )
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=list(isr),
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=list(_directories(replicas, image)),
    )


def _directories(replicas: Iterable[BrokerId], image: MetadataImage) -> Iterable[Uuid]:
    for broker_id in replicas:
        known = image.brokers[broker_id].log_directories
        if len(known) == 1:
            yield known[0]
        else:
            yield UNASSIGNED_DIRECTORY if known else MIGRATING_DIRECTORY
