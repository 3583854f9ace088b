"""DeleteAcls: access control rules that filters find are removed from the metadata log.

Versions 1-3, all alike. One result for each filter, with the rules it found; a rule that several filters find
is in each of their results. Without `authorizer.class.name` every filter is SECURITY_DISABLED, one with
UNKNOWN in it INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.security.acls import DELETE_ACLS
from millstream.errors import KafkaError, SecurityDisabled
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.DELETE_ACLS,
    versions=range(1, 4),
    permissions=(cluster_permission(Operation.ALTER),),
    is_forwarded=True,
    lists=(Lists(("filters",), ("filter_results",)),),
)


def handle(
    request: DeleteAclsRequest,
    context: RequestContext,
    *,
    config: DynamicConfig,
    controller: ControllerClient,
) -> Awaitable[DeleteAclsResponse]:
    """Deletes the rules that match the filters. Raises SecurityDisabled on a broker without an authorizer."""
    if not config.current.authorizer_class_name:
        raise SecurityDisabled("No Authorizer is configured.")
    return controller.ask(DELETE_ACLS, request, context)


def failed(request: DeleteAclsRequest, _version: int, error: KafkaError) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[DeleteAclsFilterResult(error.code, str(error)) for _ in request.filters]
    )
