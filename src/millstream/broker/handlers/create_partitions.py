"""CreatePartitions: topics grow to a new total number of partitions, placed by the controller or by hand.

Versions 0-3, all alike. One result per name; a name given twice is INVALID_REQUEST, a count that is no increase
INVALID_PARTITIONS, a wrong number of assignments INVALID_REPLICA_ASSIGNMENT. With `validate_only` nothing changes.
Answered when the partitions are committed. Above the quota of changes a topic is THROTTLING_QUOTA_EXCEEDED from version
3 on, and before it grows and is waited for (KIP-599).
"""

from __future__ import annotations

from collections import Counter

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.topics.create_partitions import CREATE_PARTITIONS
from millstream.errors import KafkaError, TopicAuthorizationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.CREATE_PARTITIONS,
    versions=range(4),
    permissions=(Permission(Operation.ALTER, ResourceType.TOPIC),),
    is_forwarded=True,
    lists=(Lists(("topics",), ("results",), 20),),
)


async def handle(
    request: CreatePartitionsRequest,
    context: RequestContext,
    *,
    access: Access,
    controller: ControllerClient,
) -> CreatePartitionsResponse:
    if access.is_open:
        return await controller.ask(CREATE_PARTITIONS, request, context)
    counts = Counter(topic.name for topic in request.topics)
    denied = access.denied(
        context,
        Operation.ALTER,
        ResourceType.TOPIC,
        (name for name, count in counts.items() if count == 1),
    )
    allowed = [topic for topic in request.topics if topic.name not in denied]
    response = await controller.ask(CREATE_PARTITIONS, request.replaced(topics=allowed), context)
    response.results += [
        CreatePartitionsTopicResult(name=name, error_code=TopicAuthorizationFailed.code)
        for name in counts
        if name in denied
    ]
    return response


def failed(
    request: CreatePartitionsRequest, _version: int, error: KafkaError
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=topic.name, error_code=error.code, error_message=str(error)
            )
            for topic in request.topics
        ]
    )
