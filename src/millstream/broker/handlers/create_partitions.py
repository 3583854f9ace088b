"""CreatePartitions: topics grow to a new total number of partitions, placed by the controller or by hand.

Versions 0-3, all alike. One result per name; a name given twice is INVALID_REQUEST, a count that is no increase
INVALID_PARTITIONS, a wrong number of assignments INVALID_REPLICA_ASSIGNMENT. With `validate_only` nothing changes.
Answered when the partitions are committed.
Not supported: controller mutation quotas.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.node.services import ControllerClient
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.controller.apis import CREATE_PARTITIONS
from millstream.errors import KafkaError
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
)


def handle(
    request: CreatePartitionsRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[CreatePartitionsResponse]:
    return controller.ask(CREATE_PARTITIONS, request, context)


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
