"""CreateAcls: access control rules are stored in the metadata log.

Versions 1-3, all alike. One result for each rule; one that exists already is fine. Without `authorizer.class.name`
every rule is SECURITY_DISABLED, as in Kafka. What cannot be a rule (UNKNOWN or ANY in it, no name, a principal without
a type) is INVALID_REQUEST. Rules hold as soon as a node has applied them: where the controller is when the answer
leaves, elsewhere a moment later.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.security.acls import CREATE_ACLS
from millstream.errors import KafkaError, SecurityDisabled
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.CREATE_ACLS,
    versions=range(1, 4),
    permissions=(cluster_permission(Operation.ALTER),),
    is_forwarded=True,
    lists=(Lists(("creations",), ("results",), records=lambda _each: 1),),
)


def handle(
    request: CreateAclsRequest,
    context: RequestContext,
    *,
    config: DynamicConfig,
    controller: ControllerClient,
) -> Awaitable[CreateAclsResponse]:
    """Stores rules. Raises SecurityDisabled on a broker without an authorizer."""
    if not config.current.authorizer_class_name:
        raise SecurityDisabled("No Authorizer is configured.")
    return controller.ask(CREATE_ACLS, request, context)


def failed(request: CreateAclsRequest, _version: int, error: KafkaError) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[AclCreationResult(error.code, str(error)) for _ in request.creations]
    )
