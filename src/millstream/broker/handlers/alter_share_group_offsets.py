"""AlterShareGroupOffsets: where a share group without members goes on, partition by partition (KIP-932).

Version 0. A group that does not exist is made, also where of a topic that exists only unknown partitions are named. The
share state of each partition begins anew at the given offset: what was delivered and not finished is forgotten.
"""

from __future__ import annotations

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.broker.share.share_groups import ShareGroups
from millstream.coordinator.group.share.offsets import AlterOutcome
from millstream.coordinator.share.state import SharePartitionKey
from millstream.errors import InvalidGroupId, KafkaError, TopicAuthorizationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    versions=range(1),
    permissions=(
        Permission(Operation.READ, ResourceType.GROUP),
        Permission(Operation.READ, ResourceType.TOPIC),
    ),
    lists=(Lists(("topics", "partitions"), ("responses", "partitions")),),
)


async def handle(
    request: AlterShareGroupOffsetsRequest,
    context: RequestContext,
    *,
    access: Access,
    share_group_state: ShareGroupPersistence,
    share_groups: ShareGroups,
) -> AlterShareGroupOffsetsResponse:
    """Alters the offsets of topics that may be read. Raises GroupAuthorizationFailed, InvalidGroupId."""
    share_groups.check_served()
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    if not request.group_id:
        raise InvalidGroupId
    denied = access.denied(
        context, Operation.READ, ResourceType.TOPIC, (topic.topic_name for topic in request.topics)
    )
    refused = [_refused(topic) for topic in request.topics if topic.topic_name in denied]
    if refused:
        allowed = [topic for topic in request.topics if topic.topic_name not in denied]
        request = request.replaced(topics=allowed)
    outcome = await share_group_state.ask(request.group_id, request, AlterOutcome, context.caller)
    if outcome.to_initialize is not None:
        errors = await share_group_state.initialize(outcome.to_initialize, context.caller)
        _note(outcome.response, request.group_id, errors)
    if not outcome.response.error_code:
        outcome.response.responses += refused
    return outcome.response


def _refused(topic: AlterShareGroupOffsetsRequestTopic) -> AlterShareGroupOffsetsResponseTopic:
    error = TopicAuthorizationFailed()
    return AlterShareGroupOffsetsResponseTopic(
        topic_name=topic.topic_name,
        partitions=[
            AlterShareGroupOffsetsResponsePartition(
                partition.partition_index, error.code, str(error)
            )
            for partition in topic.partitions
        ],
    )


def _note(
    response: AlterShareGroupOffsetsResponse,
    group_id: str,
    errors: dict[SharePartitionKey, KafkaError],
) -> None:
    for topic in response.responses:
        for partition in topic.partitions:
            key = SharePartitionKey(group_id, topic.topic_id, partition.partition_index)
            error = errors.get(key)
            if error is not None:
                partition.error_code, partition.error_message = error.code, str(error)
