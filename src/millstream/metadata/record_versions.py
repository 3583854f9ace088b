"""The version in which each metadata record is written, by the cluster's metadata.version (3.3-IV3 and later)."""

from __future__ import annotations

from typing import Final

from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import METADATA_VERSION_4_3, METADATA_VERSIONS, Capability
from millstream.protocol.generated.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)

LOWEST_METADATA_VERSION: Final = min(METADATA_VERSIONS)
"""Kafka 4.3's (`MetadataVersion.MINIMUM_VERSION`)."""


def record_version(record: MetadataRecord, metadata_version: int = METADATA_VERSION_4_3) -> int:
    """Returns the version in which a record is written; 0 for every record that has one version only."""
    assert metadata_version >= LOWEST_METADATA_VERSION, f"records at {metadata_version} differ"
    match record:
        case BrokerRegistrationChangeRecord():
            return _registration_change_version(record)
        case RegisterBrokerRecord():
            return _registration_version(metadata_version)
        case PartitionRecord() | PartitionChangeRecord():
            return _partition_version(metadata_version)
        case _:
            return 0


def _registration_change_version(record: BrokerRegistrationChangeRecord) -> int:
    """The lowest that can carry the change, as Kafka writes it."""
    if record.cordoned_log_dirs is not None:
        return 3
    if record.log_dirs:
        return 2
    return 1 if record.in_controlled_shutdown else 0


def _registration_version(metadata_version: int) -> int:
    if metadata_version >= Capability.CORDONED_DIRECTORIES:
        return 4
    if metadata_version >= Capability.DIRECTORY_ASSIGNMENT:
        return 3
    return 2 if metadata_version >= Capability.MIGRATION_FIELD else 1


def _partition_version(metadata_version: int) -> int:
    if metadata_version >= Capability.ELIGIBLE_LEADER_REPLICAS:
        return 2
    return 1 if metadata_version >= Capability.DIRECTORY_ASSIGNMENT else 0
