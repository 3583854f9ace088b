"""DeleteTopics: by name, or by id (6+).

Versions 1-6. One result per entry; an entry given twice is INVALID_REQUEST, one with both a name and an id too. 5+ answers with
messages. With `delete.topic.enable=false` every entry is TOPIC_DELETION_DISABLED (3+; INVALID_REQUEST before).
Answered when the deletion is committed; the files go later, after `file.delete.delay.ms`.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.node.services import ControllerClient
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.controller.apis import DELETE_TOPICS
from millstream.errors import InvalidRequest, KafkaError, TopicDeletionDisabled
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DELETE_TOPICS,
    versions=range(1, 7),
    permissions=(
        Permission(Operation.DELETE, ResourceType.CLUSTER),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
        Permission(Operation.DELETE, ResourceType.TOPIC),
    ),
)

_KNOWS_DELETION_DISABLED: Final = 3


async def handle(
    request: DeleteTopicsRequest, context: RequestContext, *, controller: ControllerClient
) -> DeleteTopicsResponse:
    response = await controller.ask(DELETE_TOPICS, request, context)
    if context.version < _KNOWS_DELETION_DISABLED:
        for result in response.responses:
            if result.error_code == TopicDeletionDisabled.code:
                result.error_code = InvalidRequest.code
    return response


def failed(request: DeleteTopicsRequest, version: int, error: KafkaError) -> DeleteTopicsResponse:
    named = [DeleteTopicState(name=name) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=topic.name,
                topic_id=topic.topic_id,
                error_code=error.code,
                error_message=str(error),
            )
            for topic in (request.topics if version >= 6 else named)
        ]
    )
