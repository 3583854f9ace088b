"""DescribeShareGroupOffsets: where share groups stand in their partitions (KIP-932).

Versions 0-1. Without topics: all partitions that the group has share state of. Start offset -1 where no member has
begun, also in partitions that do not exist. Version 1 gives the lag: records from the start offset to the end of the
partition that are not finished; -1 where it cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from millstream.broker.forwarding.end_offsets import EndOffsets
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.broker.share.share_groups import ShareGroups
from millstream.coordinator.group.share.requests import InitializedPartitions
from millstream.coordinator.share.state import NO_COUNT, SharePartitionKey, ShareState
from millstream.coordinator.share.state_batch import NO_START_OFFSET
from millstream.errors import KafkaError, TopicAuthorizationFailed
from millstream.metadata.image import TopicImage
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    versions=range(2),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
    lists=(Lists(("groups", "topics", "partitions"), ("groups", "topics", "partitions")),),
    tells_all=True,
    answer_lists=("groups", "topics", "partitions"),
)
_NO_LAG: Final = -1


@dataclass(frozen=True, slots=True)
class Services:
    access: Access
    end_offsets: EndOffsets
    long_work: LongWork
    metadata: Metadata
    share_groups: ShareGroups
    share_group_state: ShareGroupPersistence


async def handle(
    request: DescribeShareGroupOffsetsRequest, context: RequestContext, services: Services
) -> DescribeShareGroupOffsetsResponse:
    services.share_groups.check_served()
    return DescribeShareGroupOffsetsResponse(
        groups=[await _describe(group, context, services) for group in request.groups]
    )


def failed(
    request: DescribeShareGroupOffsetsRequest, _version: int, error: KafkaError
) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(
        groups=[
            DescribeShareGroupOffsetsResponseGroup(
                group_id=group.group_id, error_code=error.code, error_message=str(error)
            )
            for group in request.groups
        ]
    )


async def _describe(
    group: DescribeShareGroupOffsetsRequestGroup, context: RequestContext, services: Services
) -> DescribeShareGroupOffsetsResponseGroup:
    answer = DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id)
    access, long_work = services.access, services.long_work
    try:
        access.check(context, Operation.DESCRIBE, ResourceType.GROUP, group.group_id)
        topics = (
            await _all_topics(group.group_id, context, services)
            if group.topics is None
            else group.topics
        )
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, str(error)
        return answer
    hidden = await access.denied_of_many(
        context,
        Operation.DESCRIBE,
        ResourceType.TOPIC,
        (asked.topic_name for asked in topics),
        long_work=long_work,
    )
    for asked in topics:
        if asked.topic_name not in hidden:
            answer.topics.append(await _topic(group.group_id, asked, services))
        elif group.topics is not None:  # of topics that were not asked for nobody learns
            answer.topics.append(_refused(asked))
    return answer


def _refused(
    asked: DescribeShareGroupOffsetsRequestTopic,
) -> DescribeShareGroupOffsetsResponseTopic:
    error = TopicAuthorizationFailed()
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=asked.topic_name,
        partitions=[
            DescribeShareGroupOffsetsResponsePartition(
                partition,
                start_offset=NO_START_OFFSET,
                error_code=error.code,
                error_message=str(error),
            )
            for partition in asked.partitions
        ],
    )


async def _all_topics(
    group_id: str, context: RequestContext, services: Services
) -> Iterable[DescribeShareGroupOffsetsRequestTopic]:
    initialized = await services.share_group_state.ask(
        group_id, InitializedPartitions(group_id), dict, context.caller
    )
    topics = services.metadata.image.topics.by_id
    return [
        DescribeShareGroupOffsetsRequestTopic(topics[topic_id].name, sorted(partitions))
        for topic_id, partitions in initialized.items()
        if topic_id in topics
    ]


async def _topic(
    group_id: str, asked: DescribeShareGroupOffsetsRequestTopic, services: Services
) -> DescribeShareGroupOffsetsResponseTopic:
    topic = services.metadata.image.topic(asked.topic_name)
    answer = DescribeShareGroupOffsetsResponseTopic(topic_name=asked.topic_name)
    if topic is not None:
        answer.topic_id = topic.topic_id
    for partition in asked.partitions:
        answer.partitions.append(await _partition(group_id, topic, partition, services))
    return answer


async def _partition(
    group_id: str, topic: TopicImage | None, partition: int, services: Services
) -> DescribeShareGroupOffsetsResponsePartition:
    answer = DescribeShareGroupOffsetsResponsePartition(partition, start_offset=NO_START_OFFSET)
    if topic is None or not 0 <= partition < len(topic.partitions):
        return answer
    try:
        key = SharePartitionKey(group_id, topic.topic_id, partition)
        state = await services.share_groups.persister.read_summary(key)
        answer.lag = await _lag(state, TopicPartition(topic.name, partition), services.end_offsets)
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, str(error)
        return answer
    answer.start_offset, answer.leader_epoch = state.start_offset, state.leader_epoch
    return answer


async def _lag(state: ShareState, topic_partition: TopicPartition, end_offsets: EndOffsets) -> int:
    """Raises what the leader of the partition refuses with."""
    if state.start_offset == NO_START_OFFSET or state.delivery_complete_count == NO_COUNT:
        return _NO_LAG
    end_offset = await end_offsets.of(topic_partition)
    return end_offset - state.start_offset - state.delivery_complete_count
