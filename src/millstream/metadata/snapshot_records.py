"""An image as records, in the order Kafka writes a snapshot: replayed on an empty image they give
the same image again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from millstream.metadata.broker_registration import BrokerRegistration, ControllerRegistration
from millstream.metadata.delta import MetadataRecord
from millstream.metadata.features import Capability, can
from millstream.metadata.image import MetadataImage, PartitionImage
from millstream.model import Uuid
from millstream.protocol.generated import metadata_records as records

_METADATA_VERSION: Final = "metadata.version"


def image_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    """Feature levels first, metadata.version before all others: it says how the rest is to be read."""
    yield from _feature_records(image)
    for broker in image.brokers.values():
        yield _broker_record(broker)
    for controller in image.controllers.values():
        yield _controller_record(controller)
    has_directories = can(image, Capability.DIRECTORY_ASSIGNMENT)
    for topic in image.topics:
        yield records.TopicRecord(name=topic.name, topic_id=topic.topic_id)
        for partition in topic.partitions:
            record = _partition_record(topic.topic_id, partition)
            if not has_directories:
                record.directories = []  # no more than "not told" of each, which is what none means
            yield record
    for resource, config in image.configs.items():
        for name, value in config.items():
            yield records.ConfigRecord(
                resource_type=resource.type, resource_name=resource.name, name=name, value=value
            )
    yield from _quota_records(image)
    if image.next_producer_id:
        yield records.ProducerIdsRecord(
            broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id
        )
    yield from _acl_records(image)
    yield from _credential_records(image)


def _feature_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    for name in sorted(image.features, key=lambda name: (name != _METADATA_VERSION, name)):
        yield records.FeatureLevelRecord(name=name, feature_level=image.features[name])


def _broker_record(broker: BrokerRegistration) -> records.RegisterBrokerRecord:
    cordoned = broker.cordoned_log_directories
    return records.RegisterBrokerRecord(
        broker_id=broker.broker_id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.broker_epoch,
        end_points=[
            records.BrokerEndpoint(
                name=e.listener, host=e.host, port=e.port, security_protocol=e.security_protocol
            )
            for e in broker.endpoints
        ],
        features=[
            records.BrokerFeature(
                name=name, min_supported_version=r.lowest, max_supported_version=r.highest
            )
            for name, r in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_directories),
        cordoned_log_dirs=None if cordoned is None else list(cordoned),
    )


def _controller_record(controller: ControllerRegistration) -> records.RegisterControllerRecord:
    return records.RegisterControllerRecord(
        controller_id=controller.controller_id,
        incarnation_id=controller.incarnation_id,
        end_points=[
            records.ControllerEndpoint(
                name=e.listener, host=e.host, port=e.port, security_protocol=e.security_protocol
            )
            for e in controller.endpoints
        ],
        features=[
            records.ControllerFeature(
                name=name, min_supported_version=r.lowest, max_supported_version=r.highest
            )
            for name, r in controller.features.items()
        ],
    )


def _partition_record(topic_id: Uuid, partition: PartitionImage) -> records.PartitionRecord:
    """Empty lists of eligible replicas are left out, as Kafka does."""
    return records.PartitionRecord(
        partition_id=partition.partition,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(partition.eligible_leader_replicas) or None,
        last_known_elr=list(partition.last_known_eligible_leader_replicas) or None,
    )


def _quota_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    for entity, limits in image.client_quotas.items():
        for key, value in limits.items():
            yield records.ClientQuotaRecord(
                entity=[
                    records.EntityData(entity_type=part.type, entity_name=part.name)
                    for part in entity
                ],
                key=key,
                value=value,
            )


def _acl_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    for acl_id, entry in image.acls.items():
        yield records.AccessControlEntryRecord(
            id=acl_id,
            resource_type=entry.resource_type,
            resource_name=entry.resource_name,
            pattern_type=entry.pattern_type,
            principal=entry.principal,
            host=entry.host,
            operation=entry.operation,
            permission_type=entry.permission_type,
        )


def _credential_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    for user, credential in image.scram.items():
        yield records.UserScramCredentialRecord(
            name=user.name,
            mechanism=user.mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    for token in image.delegation_tokens.values():
        yield records.DelegationTokenRecord(
            owner=token.owner,
            requester=token.requester,
            renewers=list(token.renewers),
            issue_timestamp=token.issue_timestamp_ms,
            max_timestamp=token.max_timestamp_ms,
            expiration_timestamp=token.expiration_timestamp_ms,
            token_id=token.token_id,
        )
