"""OffsetForLeaderEpoch: where a leader epoch ended, so that a consumer notices records that a new leader does not have.

Versions 2-4. Consumers ask whenever a partition's leader epoch has changed, which every restart of its leader does, and
some (kafka-python) read nothing until they are answered. An epoch that is newer than the leader's answers -1 for both.
Errors per partition: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION.
Replicas, which no longer ask in Kafka 4, are answered as consumers are, as there.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.failure_log import FailureLog
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Partitions
from millstream.errors import KafkaError, TopicAuthorizationFailed
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    versions=range(2, 5),
    permissions=(
        Permission(Operation.CLUSTER_ACTION, ResourceType.CLUSTER),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
    lists=(Lists(("topics", "partitions"), ("topics", "partitions")),),
)


def handle(
    request: OffsetForLeaderEpochRequest,
    context: RequestContext,
    *,
    access: Access,
    failures: FailureLog,
    partitions: Partitions,
) -> OffsetForLeaderEpochResponse:
    denied: AbstractSet[str] = frozenset()
    if not access.allows_on_cluster(context, Operation.CLUSTER_ACTION, quiet=True):
        names = (topic.topic for topic in request.topics)
        denied = access.denied(context, Operation.DESCRIBE, ResourceType.TOPIC, names)
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(
                        error_code=TopicAuthorizationFailed.code, partition=asked.partition
                    )
                    if topic.topic in denied
                    else _answer(topic.topic, asked, failures=failures, partitions=partitions)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def failed(
    request: OffsetForLeaderEpochRequest, _version: int, error: KafkaError
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(error_code=error.code, partition=asked.partition)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _answer(
    topic: str, asked: OffsetForLeaderPartition, *, failures: FailureLog, partitions: Partitions
) -> EpochEndOffset:
    try:
        partition = partitions.get(topic, asked.partition)
        partition.check_leader(asked.current_leader_epoch)
        end = partition.epoch_end(asked.leader_epoch)
    except Exception as error:  # noqa: BLE001 - see FailureLog: one partition must not fail the request
        told = failures.of(str(TopicPartition(topic, asked.partition)), error)
        return EpochEndOffset(error_code=told.code, partition=asked.partition)
    return EpochEndOffset(
        partition=asked.partition, leader_epoch=end.epoch, end_offset=end.end_offset
    )
