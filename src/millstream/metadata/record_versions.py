"""The version in which each metadata record is written, by the cluster's metadata.version.

From 3.7-IV2 (17) on: before that, records cannot say in which directory a replica lives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import METADATA_VERSION, METADATA_VERSION_4_3
from millstream.metadata.image import MetadataImage
from millstream.protocol.generated.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)

LOWEST_METADATA_VERSION: Final = 17
_ELIGIBLE_LEADER_REPLICAS_FROM: Final = 23
_CORDONED_DIRECTORIES_FROM: Final = 30

_WITH_DIRECTORIES: Final[Mapping[type, int]] = {
    RegisterBrokerRecord: 3,
    PartitionRecord: 1,
    PartitionChangeRecord: 1,
}
_WITH_ELIGIBLE_LEADER_REPLICAS: Final[Mapping[type, int]] = {
    **_WITH_DIRECTORIES,
    PartitionRecord: 2,
    PartitionChangeRecord: 2,
}
_WITH_CORDONED_DIRECTORIES: Final[Mapping[type, int]] = {
    **_WITH_ELIGIBLE_LEADER_REPLICAS,
    RegisterBrokerRecord: 4,
}


def metadata_version_of_image(image: MetadataImage) -> int:
    """Returns the level of the cluster; that of new clusters while it has none."""
    return image.features.get(METADATA_VERSION, METADATA_VERSION_4_3)


def record_version(record: MetadataRecord, metadata_version: int = METADATA_VERSION_4_3) -> int:
    """Returns the version in which a record is written; 0 for every record that has one version only."""
    assert metadata_version >= LOWEST_METADATA_VERSION, f"records at {metadata_version} differ"
    if isinstance(record, BrokerRegistrationChangeRecord):
        return _registration_change_version(record)
    if metadata_version >= _CORDONED_DIRECTORIES_FROM:
        versions = _WITH_CORDONED_DIRECTORIES
    elif metadata_version >= _ELIGIBLE_LEADER_REPLICAS_FROM:
        versions = _WITH_ELIGIBLE_LEADER_REPLICAS
    else:
        versions = _WITH_DIRECTORIES
    return versions.get(type(record), 0)


def _registration_change_version(record: BrokerRegistrationChangeRecord) -> int:
    """The lowest that can carry the change, as Kafka writes it."""
    if record.cordoned_log_dirs is not None:
        return 3
    if record.log_dirs:
        return 2
    return 1 if record.in_controlled_shutdown else 0
