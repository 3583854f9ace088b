"""DescribeAcls: the stored access control rules that a filter finds, by resource.

Versions 1-3, all alike. A pattern type of MATCH finds every rule that speaks of the named resource, ANY those under
this very name. Without `authorizer.class.name`: SECURITY_DISABLED. UNKNOWN in the filter finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import SecurityDisabled
from millstream.metadata.stored_security import AccessControlEntry
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from millstream.security.acl import Operation, PatternType, PermissionType, ResourceType
from millstream.security.acl_filter import AclFilter

API = ApiSpec(
    ApiKey.DESCRIBE_ACLS,
    versions=range(1, 4),
    permissions=(cluster_permission(Operation.DESCRIBE),),
    tells_all=True,
)


def handle(
    request: DescribeAclsRequest,
    _context: RequestContext,
    *,
    config: DynamicConfig,
    metadata: Metadata,
) -> DescribeAclsResponse:
    """Describes the rules that match the filter. Raises SecurityDisabled on a broker without an authorizer."""
    if not config.current.authorizer_class_name:
        raise SecurityDisabled("No Authorizer is configured on the broker")
    asked = AclFilter(
        resource_type=ResourceType(request.resource_type_filter),
        resource_name=request.resource_name_filter,
        pattern_type=PatternType(request.pattern_type_filter),
        principal=request.principal_filter,
        host=request.host_filter,
        operation=Operation(request.operation),
        permission_type=PermissionType(request.permission_type),
    )
    entries = metadata.image.acls.values()
    found = (entry for entry in entries if asked.matches(entry))
    return DescribeAclsResponse(resources=_by_resource(found))


def _by_resource(entries: Iterable[AccessControlEntry]) -> list[DescribeAclsResource]:
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for entry in entries:
        key = (entry.resource_type, entry.resource_name, entry.pattern_type)
        resource = resources.setdefault(key, DescribeAclsResource(*key))
        resource.acls.append(
            AclDescription(
                principal=entry.principal,
                host=entry.host,
                operation=entry.operation,
                permission_type=entry.permission_type,
            )
        )
    return list(resources.values())
