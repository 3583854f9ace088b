"""The records that lead from one image to another, where the log between them is gone: what a snapshot
changes of what was known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

from millstream.metadata.delta import MetadataRecord
from millstream.metadata.image import MetadataImage
from millstream.metadata.snapshot_records import image_records
from millstream.protocol.generated import metadata_records as records

_GONE_LEVEL: Final = 0


def difference(before: MetadataImage, after: MetadataImage) -> Iterator[MetadataRecord]:
    """Yields records that make `after` of `before`: what is gone first, so that names are free,
    then what is new or other.
    """
    known = {_key(record): record for record in image_records(before)}
    wanted = {_key(record): record for record in image_records(after)}
    for key, record in known.items():
        if key not in wanted:
            yield from _removal(record)
    for key, record in wanted.items():
        if known.get(key) != record:
            yield record


def _key(record: MetadataRecord) -> Hashable:
    """Names the thing that a record of a snapshot is about."""
    match record:
        case records.FeatureLevelRecord():
            return "feature", record.name
        case records.RegisterBrokerRecord():
            return "broker", record.broker_id
        case records.RegisterControllerRecord():
            return "controller", record.controller_id
        case records.TopicRecord():
            return "topic", record.topic_id
        case records.PartitionRecord():
            return "partition", record.topic_id, record.partition_id
        case records.ConfigRecord():
            return "config", record.resource_type, record.resource_name, record.name
        case records.ClientQuotaRecord():
            return "quota", tuple((e.entity_type, e.entity_name) for e in record.entity), record.key
        case records.ProducerIdsRecord():
            return "producer ids"
        case records.AccessControlEntryRecord():
            return "acl", record.id
        case records.UserScramCredentialRecord():
            return "scram", record.name, record.mechanism
        case records.DelegationTokenRecord():
            return "token", record.token_id
        case _:
            raise AssertionError(f"{type(record).__name__} is no record of a snapshot")


def _removal(record: MetadataRecord) -> Iterator[MetadataRecord]:
    """Yields the record that says that a thing is gone.

    Partitions go with their topic; controllers and producer ids never do.
    """
    match record:
        case records.FeatureLevelRecord():
            yield records.FeatureLevelRecord(name=record.name, feature_level=_GONE_LEVEL)
        case records.RegisterBrokerRecord():
            yield records.UnregisterBrokerRecord(
                broker_id=record.broker_id, broker_epoch=record.broker_epoch
            )
        case records.TopicRecord():
            yield records.RemoveTopicRecord(topic_id=record.topic_id)
        case records.ConfigRecord():
            yield records.ConfigRecord(
                resource_type=record.resource_type,
                resource_name=record.resource_name,
                name=record.name,
                value=None,
            )
        case records.ClientQuotaRecord():
            yield records.ClientQuotaRecord(
                entity=list(record.entity), key=record.key, value=record.value, remove=True
            )
        case records.AccessControlEntryRecord():
            yield records.RemoveAccessControlEntryRecord(id=record.id)
        case records.UserScramCredentialRecord():
            yield records.RemoveUserScramCredentialRecord(
                name=record.name, mechanism=record.mechanism
            )
        case records.DelegationTokenRecord():
            yield records.RemoveDelegationTokenRecord(token_id=record.token_id)
        case _:
            return
