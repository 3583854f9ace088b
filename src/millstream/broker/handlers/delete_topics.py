"""DeleteTopics: by name, or by id (6+).

Versions 1-6. One result per entry; an entry given twice is INVALID_REQUEST, one with both a name and an id too. 5+
answers with messages. With `delete.topic.enable=false` every entry is TOPIC_DELETION_DISABLED (3+; INVALID_REQUEST
before). Answered when the deletion is committed; the files go later, after `file.delete.delay.ms`.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient, Metadata
from millstream.controller.topics.delete_topics import DELETE_TOPICS
from millstream.errors import (
    InvalidRequest,
    KafkaError,
    TopicAuthorizationFailed,
    TopicDeletionDisabled,
)
from millstream.metadata.image import MetadataImage
from millstream.model import ZERO_UUID
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
    is_forwarded=True,
    lists=(
        Lists(("topics",), ("responses",), 20),
        Lists(("topic_names",), ("responses",), 20),
    ),
)

_KNOWS_DELETION_DISABLED: Final = 3


async def handle(
    request: DeleteTopicsRequest,
    context: RequestContext,
    *,
    access: Access,
    controller: ControllerClient,
    metadata: Metadata,
) -> DeleteTopicsResponse:
    refused: list[DeletableTopicResult] = []
    if not access.allows_on_cluster(context, Operation.DELETE, quiet=True):
        request, refused = _allowed(request, context, access, metadata.image)
    response = await controller.ask(DELETE_TOPICS, request, context)
    response.responses += refused
    if context.version < _KNOWS_DELETION_DISABLED:
        for result in response.responses:
            if result.error_code == TopicDeletionDisabled.code:
                result.error_code = InvalidRequest.code
    return response


def _allowed(
    request: DeleteTopicsRequest, context: RequestContext, access: Access, image: MetadataImage
) -> tuple[DeleteTopicsRequest, list[DeletableTopicResult]]:
    """Returns what the client may ask for, and what it is told of the rest: nothing of topics that
    it may not describe.
    """
    entries = [
        *((name, DeleteTopicState(name=name)) for name in request.topic_names),
        *((_name(topic, image), topic) for topic in request.topics),
    ]
    names = dict.fromkeys(name for name, _ in entries if name is not None)
    hidden = access.denied(context, Operation.DESCRIBE, ResourceType.TOPIC, names)
    kept = access.denied(context, Operation.DELETE, ResourceType.TOPIC, names)
    refused = {
        number: _refusal(name, topic, is_hidden=name in hidden)
        for number, (name, topic) in enumerate(entries)
        if name in hidden or (name in kept and image.topic(name or "") is not None)
    }
    count = len(request.topic_names)
    allowed = request.replaced(
        topic_names=[
            name for number, name in enumerate(request.topic_names) if number not in refused
        ],
        topics=[
            topic
            for number, topic in enumerate(request.topics, start=count)
            if number not in refused
        ],
    )
    return allowed, list(refused.values())


def _name(topic: DeleteTopicState, image: MetadataImage) -> str | None:
    """Returns the name of the topic, whether or not there is one; None for an id that is unknown."""
    if topic.name is not None:
        return topic.name
    found = image.topic_by_id(topic.topic_id)
    return None if found is None else found.name


def _refusal(name: str | None, topic: DeleteTopicState, *, is_hidden: bool) -> DeletableTopicResult:
    error = TopicAuthorizationFailed()
    was_named = topic.name is not None
    return DeletableTopicResult(
        name=name if was_named or not is_hidden else None,
        topic_id=ZERO_UUID if was_named else topic.topic_id,
        error_code=error.code,
        error_message=str(error),
    )


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
