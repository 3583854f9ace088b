"""Ids of data directories in the metadata (KIP-858): the three that mean no directory, and where a replica lives.

Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from millstream.metadata.broker_registration import BrokerRegistration
from millstream.metadata.image import PartitionImage
from millstream.model import BrokerId, Uuid

MIGRATING_DIRECTORY: Final = Uuid(bytes(16))
"""The broker has not told of any directory."""
UNASSIGNED_DIRECTORY: Final = Uuid(bytes(15) + b"\x01")
"""The broker chooses among its directories and tells the controller."""
LOST_DIRECTORY: Final = Uuid(bytes(15) + b"\x02")
"""A directory that is offline, and the broker cannot tell which."""
_RESERVED_BELOW: Final = 100
"""Kafka keeps that many ids for meanings like these."""


def is_reserved(directory_id: Uuid) -> bool:
    """Whether an id can be that of no directory."""
    return int.from_bytes(directory_id) < _RESERVED_BELOW


def assigned_directory(partition: PartitionImage, broker_id: BrokerId) -> Uuid:
    """Returns the directory in which `broker_id`, one of the replicas, has the partition."""
    if not partition.directories:
        return MIGRATING_DIRECTORY
    return partition.directories[partition.replicas.index(broker_id)]


def is_online(directory_id: Uuid, online: Collection[Uuid]) -> bool:
    """Whether a directory is in `online`, those of the broker's registration; without any, every
    directory counts as online.
    """
    if directory_id in {MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY}:
        return True
    return directory_id != LOST_DIRECTORY and (not online or directory_id in online)


def has_online_directory(partition: PartitionImage, broker: BrokerRegistration) -> bool:
    """Whether the broker can reach its replica of the partition."""
    directory_id = assigned_directory(partition, broker.broker_id)
    return is_online(directory_id, broker.log_directories)
