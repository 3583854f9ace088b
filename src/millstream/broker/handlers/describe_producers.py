"""DescribeProducers: what the logs of partitions know of their producers, to find transactions that hang (KIP-664).

Version 0. Answered by the leader, with an error for each partition.
"""

from __future__ import annotations

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata, Partitions
from millstream.errors import (
    InvalidTopic,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from millstream.metadata.topic_names import check_topic_name, is_legal_topic_name
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DESCRIBE_PRODUCERS,
    versions=range(1),
    permissions=(Permission(Operation.READ, ResourceType.TOPIC),),
    lists=(Lists(("topics", "partition_indexes"), ("topics", "partitions")),),
    tells_all=True,
    answer_lists=("topics", "partitions", "active_producers"),
)


def handle(
    request: DescribeProducersRequest,
    context: RequestContext,
    *,
    access: Access,
    failures: FailureLog,
    metadata: Metadata,
    partitions: Partitions,
) -> DescribeProducersResponse:
    denied = access.denied(
        context,
        Operation.READ,
        ResourceType.TOPIC,
        (topic.name for topic in request.topics if is_legal_topic_name(topic.name)),
    )
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name,
                [
                    _refused(number)
                    if topic.name in denied
                    else _describe(
                        topic.name,
                        number,
                        failures=failures,
                        metadata=metadata,
                        partitions=partitions,
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def failed(
    request: DescribeProducersRequest, _version: int, error: KafkaError
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name,
                [
                    PartitionResponse(number, error.code, str(error))
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _refused(number: int) -> PartitionResponse:
    error = TopicAuthorizationFailed()
    return PartitionResponse(number, error.code, str(error))


def _describe(
    topic: str,
    number: int,
    *,
    failures: FailureLog,
    metadata: Metadata,
    partitions: Partitions,
) -> PartitionResponse:
    try:
        check_topic_name(topic)
    except InvalidTopic as error:
        return PartitionResponse(number, error.code, str(error))
    if metadata.image.topic(topic) is None:
        unknown = UnknownTopicOrPartition()
        return PartitionResponse(number, unknown.code, str(unknown))
    try:
        partition = partitions.get(topic, number)
        partition.check_leader()
    except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
        return PartitionResponse(
            number, failures.of(str(TopicPartition(topic, number)), error).code
        )
    return PartitionResponse(
        partition_index=number,
        active_producers=[
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp_ms,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.transaction_first_offset,
            )
            for entry in partition.log.producers.entries()
        ],
    )
