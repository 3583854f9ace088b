"""The version of each metadata record that is written at metadata.version 4.3-IV0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.metadata.delta import MetadataRecord
from millstream.protocol.generated.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)

_VERSIONS: Final[Mapping[type, int]] = {
    RegisterBrokerRecord: 4,
    PartitionRecord: 2,
    PartitionChangeRecord: 2,
}


def record_version(record: MetadataRecord) -> int:
    """Returns the version in which a record is written; 0 for every record that has one version only."""
    if isinstance(record, BrokerRegistrationChangeRecord):
        return _registration_change_version(record)
    return _VERSIONS.get(type(record), 0)


def _registration_change_version(record: BrokerRegistrationChangeRecord) -> int:
    """The lowest that can carry the change, as Kafka writes it."""
    if record.cordoned_log_dirs is not None:
        return 3
    if record.log_dirs:
        return 2
    return 1 if record.in_controlled_shutdown else 0
