"""The metadata image as clients of one listener may see it: reachable brokers, and
partitions with leaders they can reach.

Shared by the handlers that describe the cluster. Reads the image only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.errors import LeaderNotAvailable, ListenerNotFound
from millstream.metadata.directory_ids import has_online_directory
from millstream.metadata.image import NO_LEADER, MetadataImage, PartitionImage
from millstream.model import BrokerId


@dataclass(frozen=True, slots=True)
class AdvertisedBroker:
    """A broker and the address at which clients of a listener reach it."""

    id: BrokerId
    host: str
    port: int
    rack: str | None
    fenced: bool


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition as clients see it. The leader is -1 with LEADER_NOT_AVAILABLE or LISTENER_NOT_FOUND."""

    error_code: int
    leader_id: BrokerId
    leader_epoch: int
    replicas: Sequence[BrokerId]
    isr: Sequence[BrokerId]
    offline: Sequence[BrokerId]


def advertised_brokers(
    image: MetadataImage, listener: str, *, include_fenced: bool = False
) -> list[AdvertisedBroker]:
    found = []
    for broker in image.brokers.values():
        endpoint = broker.endpoint(listener)
        if endpoint is not None and (include_fenced or not broker.fenced):
            found.append(
                AdvertisedBroker(
                    broker.broker_id, endpoint.host, endpoint.port, broker.rack, broker.fenced
                )
            )
    return found


def any_broker_for_controller(image: MetadataImage, own_id: BrokerId) -> BrokerId:
    """Returns a broker to name as the controller: clients cannot reach controllers, brokers forward to them (KIP-590).

    -1 without any.
    """
    up = [broker.broker_id for broker in image.brokers.values() if not broker.fenced]
    return own_id if own_id in up else min(up, default=NO_LEADER)


def partition_view(
    partition: PartitionImage, reachable: frozenset[BrokerId], image: MetadataImage
) -> PartitionView:
    """Returns the partition for clients of one listener.

    `reachable`: the brokers that have an endpoint for that listener.
    """
    error_code, leader_id = 0, partition.leader
    if leader_id not in reachable:
        registered = image.brokers.get(leader_id)
        up = registered is not None and not registered.fenced
        error_code = ListenerNotFound.code if up else LeaderNotAvailable.code
        leader_id = NO_LEADER
    return PartitionView(
        error_code,
        leader_id,
        partition.leader_epoch,
        partition.replicas,
        partition.isr,
        [
            replica
            for replica in partition.replicas
            if replica not in reachable
            or not has_online_directory(partition, image.brokers[replica])
        ],
    )
