"""TxnOffsetCommit: a group's positions, committed with a transaction. They count from its commit marker on.

Versions 0-5. From version 3 on the member that commits is checked as for OffsetCommit (KIP-447). From version 5 on the
group's partition of `__consumer_offsets` is added to the transaction here (KIP-890); before that, it is asked whether
the producer has added it. Every partition has its own error: what does not exist is refused, the rest is committed.
Before version 2 COORDINATOR_LOAD_IN_PROGRESS is told as COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.coordinator_topic import ask_shard
from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.coordination.internal_topics import CONSUMER_OFFSETS
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.broker.transactions.coordinator_channel import TransactionCoordinatorChannel
from millstream.broker.transactions.verification import (
    SupportedOperation,
    TransactionalProducer,
    verify_partitions,
)
from millstream.coordinator.group.context import TransactionalCommit
from millstream.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidGroupId,
    InvalidTxnState,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from millstream.metadata.image import MetadataImage
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from millstream.replication.partition import Partition
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.TXN_OFFSET_COMMIT,
    versions=range(6),
    permissions=(
        Permission(Operation.WRITE, ResourceType.TRANSACTIONAL_ID),
        Permission(Operation.READ, ResourceType.GROUP),
        Permission(Operation.READ, ResourceType.TOPIC),
    ),
    lists=(Lists(("topics", "partitions"), ("topics", "partitions"), 200),),
)
_ADDS_VERSION: Final = 5
_KNOWS_LOADING_VERSION: Final = 2

ErrorCodes = dict[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Services:
    access: Access
    config: DynamicConfig
    group_coordinator: GroupCoordination
    metadata: Metadata
    transaction_coordinator_channel: TransactionCoordinatorChannel


async def handle(
    request: TxnOffsetCommitRequest, context: RequestContext, services: Services
) -> TxnOffsetCommitResponse:
    """Commits what exists and may be read. Raises TransactionalIdAuthorizationFailed, GroupAuthorizationFailed."""
    access, image = services.access, services.metadata.image
    access.check(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    denied = access.denied(
        context, Operation.READ, ResourceType.TOPIC, (topic.name for topic in request.topics)
    )
    known = [
        part
        for topic in request.topics
        if topic.name not in denied and (part := _known_part(topic, image)).partitions
    ]
    topic_ids = {part.name: image.topics.by_name[part.name].topic_id for part in known}
    asked = TransactionalCommit(request.replaced(topics=known), topic_ids)
    codes = await _commit(asked, context, services) if known else {}
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                [
                    TxnOffsetCommitResponsePartition(
                        each.partition_index,
                        TopicAuthorizationFailed.code
                        if topic.name in denied
                        else codes.get(
                            (topic.name, each.partition_index), UnknownTopicOrPartition.code
                        ),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def failed(
    request: TxnOffsetCommitRequest, _version: int, error: KafkaError
) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                [
                    TxnOffsetCommitResponsePartition(partition.partition_index, error.code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _known_part(
    topic: TxnOffsetCommitRequestTopic, image: MetadataImage
) -> TxnOffsetCommitRequestTopic:
    exists = [p for p in topic.partitions if image.partition(topic.name, p.partition_index)]
    return TxnOffsetCommitRequestTopic(topic.name, exists)


async def _commit(
    asked: TransactionalCommit, context: RequestContext, services: Services
) -> ErrorCodes:
    """An error of the whole request is every partition's error."""
    try:
        response = await _commit_in_transaction(asked, context, services)
    except KafkaError as error:
        code = _told(error, context.version).code
        topics = asked.commit.topics
        return {(t.name, p.partition_index): code for t in topics for p in t.partitions}
    return {
        (topic.name, each.partition_index): each.error_code
        for topic in response.topics
        for each in topic.partitions
    }


async def _commit_in_transaction(
    asked: TransactionalCommit, context: RequestContext, services: Services
) -> TxnOffsetCommitResponse:
    request = asked.commit
    if not request.group_id:
        raise InvalidGroupId("a group id must not be empty")
    if services.metadata.image.topic(CONSUMER_OFFSETS) is None:
        raise CoordinatorNotAvailable("the topic of group coordinators does not exist yet")
    coordinator = services.group_coordinator.shards.shard_of(request.group_id)
    partition = coordinator.partition
    marker_offset = await _join_transaction(request, partition, context, services)

    def check() -> None:
        """Right before the append, which follows without a pause."""
        producers = partition.log.producers
        producers.check_epoch(request.producer_id, request.producer_epoch)
        if producers.last_marker_offset(request.producer_id) != marker_offset:
            raise InvalidTxnState("the transaction was ended while its offsets were on their way")

    return await ask_shard(coordinator, asked, TxnOffsetCommitResponse, context.caller, check)


async def _join_transaction(
    request: TxnOffsetCommitRequest,
    partition: Partition,
    context: RequestContext,
    services: Services,
) -> int:
    """Sees to it that the transaction knows of `partition`; the last marker offset of the producer there.

    Raises why not.
    """
    producers = partition.log.producers
    operation = SupportedOperation.of(context.version, adds_from=_ADDS_VERSION)
    verifies = services.config.current.transaction_partition_verification_enable
    must_ask = operation is SupportedOperation.ADD_PARTITION or verifies
    is_asked_again = False
    while True:
        producers.check_epoch(request.producer_id, request.producer_epoch)
        marker_offset = producers.last_marker_offset(request.producer_id)
        is_open = producers.has_open_transaction(request.producer_id, request.producer_epoch)
        if is_open or not must_ask:
            return marker_offset
        producer = TransactionalProducer(
            request.transactional_id, request.producer_id, request.producer_epoch, operation
        )
        errors = await verify_partitions(
            services.transaction_coordinator_channel, producer, [partition.topic_partition]
        )
        for error in errors.values():
            raise error
        has_new_marker = producers.last_marker_offset(request.producer_id) != marker_offset
        if (
            is_asked_again
            or not has_new_marker
            or operation is not SupportedOperation.ADD_PARTITION
        ):
            return marker_offset
        # The marker of the transaction before came while the coordinator was asked. One that comes now is this transaction's.
        is_asked_again = True


def _told(error: KafkaError, version: int) -> KafkaError:
    if isinstance(error, CoordinatorLoadInProgress) and version < _KNOWS_LOADING_VERSION:
        return CoordinatorNotAvailable(str(error))
    return error
