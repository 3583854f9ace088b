"""The messages of transactions: out of what is wanted, and what the answers say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.clients.core.named_errors import transaction_error
from millstream.clients.core.values import ConsumerGroupMetadata, OffsetAndMetadata
from millstream.clients.producer.transaction.core.transaction import ProducerIdentity
from millstream.errors import (
    KafkaError,
    OperationNotAttempted,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from millstream.model import TopicPartition
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

ADD_PARTITIONS_VERSION_MAX = 3
"""Later versions are spoken between brokers."""
EXPLICIT_END_VERSION_MAX = 4
EXPLICIT_OFFSET_COMMIT_VERSION_MAX = 4
"""Versions beyond these mean that partitions and groups join implicitly (KIP-890)."""
FIRST_OFFSET_COMMIT_WITH_MEMBER = 3
FIRST_INIT_WITH_IDENTITY = 3


def add_partitions_request(
    transactional_id: str, identity: ProducerIdentity, partitions: Iterable[TopicPartition]
) -> AddPartitionsToTxnRequest:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=identity[0],
        v3_and_below_producer_epoch=identity[1],
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=numbers)
            for topic, numbers in by_topic.items()
        ],
    )


def add_partitions_error(
    response: AddPartitionsToTxnResponse, transactional_id: str
) -> KafkaError | None:
    """Returns the error, None when all were added.

    The gravest comes first: the others follow from it, or can wait for the next try.
    """
    errors = [
        transaction_error(
            partition.partition_error_code,
            f"{topic.name}-{partition.partition_index}",
            transactional_id,
        )
        for topic in response.results_by_topic_v3_and_below
        for partition in topic.results_by_partition
        if partition.partition_error_code
    ]
    return min(errors, key=_mildness, default=None)


def _mildness(error: KafkaError) -> int:
    if isinstance(error, OperationNotAttempted):
        return 3
    return 2 if error.retriable else 1 if isinstance(error, TopicAuthorizationFailed) else 0


def offset_commit_request(
    transactional_id: str,
    identity: ProducerIdentity,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    group: ConsumerGroupMetadata,
    version: int,
) -> TxnOffsetCommitRequest:
    """Builds the request that commits offsets in a transaction.

    Raises UnsupportedVersion when the broker cannot tell a member of the group from a zombie (KIP-447).
    """
    is_member = group != ConsumerGroupMetadata(group.group_id)
    if is_member and version < FIRST_OFFSET_COMMIT_WITH_MEMBER:
        raise UnsupportedVersion(
            f"TXN_OFFSET_COMMIT: the broker serves up to version {version} and does not check group members;"
            f" pass ConsumerGroupMetadata({group.group_id!r}) and make sure that no other consumer commits"
        )
    topics: dict[str, TxnOffsetCommitRequestTopic] = {}
    for (topic, partition), position in offsets.items():
        entry = topics.setdefault(topic, TxnOffsetCommitRequestTopic(name=topic))
        entry.partitions.append(
            TxnOffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=position.offset,
                committed_leader_epoch=position.leader_epoch,
                committed_metadata=position.metadata,
            )
        )
    return TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group.group_id,
        producer_id=identity[0],
        producer_epoch=identity[1],
        generation_id=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=list(topics.values()),
    )


def offset_commit_error(
    response: TxnOffsetCommitResponse, group_id: str, transactional_id: str
) -> KafkaError | None:
    """Returns the error, None when every offset was taken; an error that is no use to retry before one that is."""
    errors = [
        transaction_error(
            partition.error_code,
            f"offset of {topic.name}-{partition.partition_index} in group {group_id!r}",
            transactional_id,
        )
        for topic in response.topics
        for partition in topic.partitions
        if partition.error_code
    ]
    return min(errors, key=lambda error: error.retriable, default=None)
