"""AlterConfigs: replaces all configurations of a resource at once. Clients since 2.3 use IncrementalAlterConfigs instead.

Versions 0-2. What a request does not name goes back to its default, so that two administrators can undo each other's changes:
KIP-339 came because of that. Topics, brokers (the empty name stands for all of them), groups and client metrics; a resource or a
key given twice and a null value are INVALID_REQUEST. With `validate_only` nothing changes.
Not supported: policies; broker loggers are INVALID_REQUEST as in Kafka.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.node.services import ControllerClient
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.controller.apis import ALTER_CONFIGS
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.ALTER_CONFIGS,
    versions=range(3),
    permissions=(
        Permission(Operation.ALTER_CONFIGS, ResourceType.CLUSTER),
        Permission(Operation.ALTER_CONFIGS, ResourceType.TOPIC),
        Permission(Operation.ALTER_CONFIGS, ResourceType.GROUP),
    ),
)


def handle(
    request: AlterConfigsRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[AlterConfigsResponse]:
    return controller.ask(ALTER_CONFIGS, request, context)


def failed(request: AlterConfigsRequest, _version: int, error: KafkaError) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=str(error),
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )
