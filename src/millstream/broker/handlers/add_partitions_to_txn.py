"""AddPartitionsToTxn: partitions that a producer is about to write to in its transaction.

Versions 0-5. Up to version 3 one transaction, from the producer. From 4 on several, from brokers: to add for
producers that leave it to them (KIP-890), or only to verify (TRANSACTION_ABORTABLE for a partition that was
not added). Answered when the transaction's new state is in the log. Where one partition does not exist, none
is added: that one is told UNKNOWN_TOPIC_OR_PARTITION, the others OPERATION_NOT_ATTEMPTED. PRODUCER_FENCED is
told from version 2 on, before INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from millstream.broker.coordination.transaction_coordination import TransactionCoordination
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission, error_code
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.requests.turns import turns_of
from millstream.broker.services import Metadata
from millstream.errors import (
    InvalidRequest,
    KafkaError,
    OperationNotAttempted,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from millstream.metadata.topic_names import is_internal
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.ADD_PARTITIONS_TO_TXN,
    versions=range(6),
    permissions=(
        Permission(Operation.CLUSTER_ACTION, ResourceType.CLUSTER),
        Permission(Operation.WRITE, ResourceType.TRANSACTIONAL_ID),
        Permission(Operation.WRITE, ResourceType.TOPIC),
    ),
    lists=(Lists(("transactions",), ("results_by_transaction",)),),
)
_BATCHED_VERSION: Final = 4
_KNOWS_FENCED_FROM: Final = 2


async def handle(
    request: AddPartitionsToTxnRequest,
    context: RequestContext,
    *,
    access: Access,
    long_work: LongWork,
    metadata: Metadata,
    transaction_coordinator: TransactionCoordination,
) -> AddPartitionsToTxnResponse:
    """Adds partitions.

    Raises ClusterAuthorizationFailed for clients that speak as brokers, TransactionalIdAuthorizationFailed.
    """
    if context.version >= _BATCHED_VERSION:
        access.check_cluster(context, Operation.CLUSTER_ACTION)
        results: list[AddPartitionsToTxnResult] = []
        # Many together: each waits for the replicas of its coordinator's partition.
        for some in turns_of(request.transactions):
            adding = (
                _add(
                    each,
                    context,
                    long_work=long_work,
                    metadata=metadata,
                    transaction_coordinator=transaction_coordinator,
                )
                for each in some
            )
            results += await asyncio.gather(*adding)
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    access.check(
        context,
        Operation.WRITE,
        ResourceType.TRANSACTIONAL_ID,
        request.v3_and_below_transactional_id,
    )
    asked = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    hidden = await access.denied_of_many(
        context,
        Operation.WRITE,
        ResourceType.TOPIC,
        (each.topic for each in _partitions_of(asked.topics) if not is_internal(each.topic)),
        long_work=long_work,
    )
    result = await _add(
        asked,
        context,
        hidden | {topic.name for topic in asked.topics if is_internal(topic.name)},
        long_work=long_work,
        metadata=metadata,
        transaction_coordinator=transaction_coordinator,
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=result.topic_results)


def failed(
    request: AddPartitionsToTxnRequest, version: int, error: KafkaError
) -> AddPartitionsToTxnResponse:
    if version >= _BATCHED_VERSION:
        return AddPartitionsToTxnResponse(error_code=error.code)
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                topic.name,
                [
                    AddPartitionsToTxnPartitionResult(number, error.code)
                    for number in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


async def _add(
    asked: AddPartitionsToTxnTransaction,
    context: RequestContext,
    denied: AbstractSet[str] = frozenset(),
    *,
    long_work: LongWork,
    metadata: Metadata,
    transaction_coordinator: TransactionCoordination,
) -> AddPartitionsToTxnResult:
    """`denied`: topics that the producer may not write to. Where one partition cannot be added none is."""
    image = metadata.image
    refused = {
        each: TopicAuthorizationFailed if each.topic in denied else UnknownTopicOrPartition
        async for each in long_work.in_turns(_partitions_of(asked.topics))
        if each.topic in denied or image.partition(*each) is None
    }
    if refused:
        return await _refused(
            asked,
            long_work,
            lambda partition: refused.get(partition, OperationNotAttempted).code,
        )
    try:
        if not asked.transactional_id:
            raise InvalidRequest("a transactional id must not be empty")
        return await transaction_coordinator.ask(
            asked.transactional_id,
            asked,
            AddPartitionsToTxnResult,
            context.caller,
        )
    except KafkaError as error:
        code = error_code(error, context.version, _KNOWS_FENCED_FROM)
        return await _refused(asked, long_work, lambda _partition: code)


async def _refused(
    asked: AddPartitionsToTxnTransaction,
    long_work: LongWork,
    code_of: Callable[[TopicPartition], int],
) -> AddPartitionsToTxnResult:
    results = [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [
                AddPartitionsToTxnPartitionResult(
                    number, code_of(TopicPartition(topic.name, number))
                )
                async for number in long_work.in_turns(topic.partitions)
            ],
        )
        async for topic in long_work.in_turns(asked.topics)
    ]
    return AddPartitionsToTxnResult(transactional_id=asked.transactional_id, topic_results=results)


def _partitions_of(
    topics: Iterable[AddPartitionsToTxnTopic],
) -> Iterator[TopicPartition]:
    """One after another, as there may be very many."""
    return (TopicPartition(topic.name, number) for topic in topics for number in topic.partitions)
