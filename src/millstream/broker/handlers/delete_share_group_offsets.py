"""DeleteShareGroupOffsets: a share group without members forgets topics, as if it had never read them (KIP-932).

Version 0. Each topic has its own error; one without share state is UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.broker.share.share_groups import ShareGroups
from millstream.coordinator.group.share.offsets import DeleteOutcome, Deletion
from millstream.coordinator.group.share.requests import OffsetsDeleted
from millstream.errors import InvalidGroupId, KafkaError, TopicAuthorizationFailed
from millstream.model import Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    versions=range(1),
    permissions=(
        Permission(Operation.DELETE, ResourceType.GROUP),
        Permission(Operation.READ, ResourceType.TOPIC),
    ),
    lists=(Lists(("topics",), ("responses",)),),
)


async def handle(
    request: DeleteShareGroupOffsetsRequest,
    context: RequestContext,
    *,
    access: Access,
    metadata: Metadata,
    share_group_state: ShareGroupPersistence,
    share_groups: ShareGroups,
) -> DeleteShareGroupOffsetsResponse:
    """Deletes the offsets of topics that may be read. Raises GroupAuthorizationFailed, InvalidGroupId."""
    share_groups.check_served()
    access.check(context, Operation.DELETE, ResourceType.GROUP, request.group_id)
    if not request.group_id:
        raise InvalidGroupId
    denied = access.denied(
        context, Operation.READ, ResourceType.TOPIC, (topic.topic_name for topic in request.topics)
    )
    unauthorized = TopicAuthorizationFailed()
    refused = [
        DeleteShareGroupOffsetsResponseTopic(
            topic.topic_name, error_code=unauthorized.code, error_message=str(unauthorized)
        )
        for topic in request.topics
        if topic.topic_name in denied
    ]
    if refused:
        allowed = [topic for topic in request.topics if topic.topic_name not in denied]
        request = request.replaced(topics=allowed)
    outcome = await share_group_state.ask(request.group_id, request, DeleteOutcome, context.caller)
    results = [*refused, *outcome.refused]
    if outcome.to_delete.partitions:
        results += await _delete(
            outcome.to_delete, context, metadata=metadata, share_group_state=share_group_state
        )
    return DeleteShareGroupOffsetsResponse(responses=results)


async def _delete(
    deletion: Deletion,
    context: RequestContext,
    *,
    metadata: Metadata,
    share_group_state: ShareGroupPersistence,
) -> list[DeleteShareGroupOffsetsResponseTopic]:
    failed: dict[Uuid, KafkaError] = {}
    for key, error in (await share_group_state.delete(deletion)).items():
        failed.setdefault(key.topic_id, error)
    done = frozenset(deletion.partitions.keys() - failed.keys())
    if done:
        request = OffsetsDeleted(deletion.group_id, done)
        await share_group_state.ask(deletion.group_id, request, type(None), context.caller)
    return [
        _result(topic_id, failed.get(topic_id), metadata=metadata)
        for topic_id in deletion.partitions
    ]


def _result(
    topic_id: Uuid, error: KafkaError | None, *, metadata: Metadata
) -> DeleteShareGroupOffsetsResponseTopic:
    topic = metadata.image.topic_by_id(topic_id)
    result = DeleteShareGroupOffsetsResponseTopic("" if topic is None else topic.name, topic_id)
    if error is not None:
        result.error_code, result.error_message = error.code, str(error)
    return result
