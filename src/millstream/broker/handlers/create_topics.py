"""CreateTopics: new topics, placed by the controller or by hand.

Versions 2-7. 4+ takes -1 for the default numbers of partitions and replicas (served in 2-3 too, as Kafka does), 5+ answers with
the topic's configurations and counts, 7 with its id. One result per name; a name given twice is INVALID_REQUEST. With
`validate_only` everything is checked and nothing created. Answered when the topics are committed and this broker leads its
partitions of them. More than 10,000 partitions in one request: POLICY_VIOLATION for all of it.
Not supported: creation policies, controller mutation quotas.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.node.services import ControllerClient
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.controller.apis import CREATE_TOPICS
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.CREATE_TOPICS,
    versions=range(2, 8),
    permissions=(
        Permission(Operation.CREATE, ResourceType.CLUSTER),
        Permission(Operation.CREATE, ResourceType.TOPIC),
        Permission(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC),
    ),
)


def handle(
    request: CreateTopicsRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[CreateTopicsResponse]:
    return controller.ask(CREATE_TOPICS, request, context)


def failed(request: CreateTopicsRequest, _version: int, error: KafkaError) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=error.code, error_message=str(error))
            for topic in request.topics
        ]
    )
