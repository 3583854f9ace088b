"""DeleteShareGroupOffsets: a share group without members forgets topics, as if it had never read them (KIP-932).

Version 0. Each topic has its own error; one without share state is UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.group_state import ask_group, delete_state
from millstream.coordinator.group.share.offsets import DeleteOutcome, Deletion
from millstream.coordinator.group.share.requests import OffsetsDeleted
from millstream.errors import InvalidGroupId, KafkaError
from millstream.model import Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

API = ApiSpec(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions=range(1))


async def handle(
    request: DeleteShareGroupOffsetsRequest, context: RequestContext
) -> DeleteShareGroupOffsetsResponse:
    context.node.share_groups.check_served()
    if not request.group_id:
        raise InvalidGroupId
    outcome = await ask_group(request.group_id, request, DeleteOutcome, context)
    results = list(outcome.refused)
    if outcome.to_delete.partitions:
        results += await _delete(outcome.to_delete, context)
    return DeleteShareGroupOffsetsResponse(responses=results)


async def _delete(
    deletion: Deletion, context: RequestContext
) -> list[DeleteShareGroupOffsetsResponseTopic]:
    failed: dict[Uuid, KafkaError] = {}
    for key, error in (await delete_state(deletion, context)).items():
        failed.setdefault(key.topic_id, error)
    done = frozenset(deletion.partitions.keys() - failed.keys())
    if done:
        request = OffsetsDeleted(deletion.group_id, done)
        await ask_group(deletion.group_id, request, type(None), context)
    return [_result(topic_id, failed.get(topic_id), context) for topic_id in deletion.partitions]


def _result(
    topic_id: Uuid, error: KafkaError | None, context: RequestContext
) -> DeleteShareGroupOffsetsResponseTopic:
    topic = context.node.metadata.image.topic_by_id(topic_id)
    result = DeleteShareGroupOffsetsResponseTopic("" if topic is None else topic.name, topic_id)
    if error is not None:
        result.error_code, result.error_message = error.code, str(error)
    return result
