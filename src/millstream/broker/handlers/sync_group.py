"""SyncGroup: the leader of a generation brings its assignment, every member is given its own.

Versions 0-5. Waits for the leader, and for the assignment to be committed. From version 5 on the request must say which
protocol it is about; it is refused with INCONSISTENT_GROUP_PROTOCOL when it does not.
"""

from __future__ import annotations

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import InconsistentGroupProtocol
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.SYNC_GROUP,
    versions=range(6),
    permissions=(Permission(Operation.READ, ResourceType.GROUP),),
    kept_whole="one generation's assignment, taken in a thread",
)
_PROTOCOL_VERSION = 5


async def handle(
    request: SyncGroupRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
) -> SyncGroupResponse:
    says_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.version >= _PROTOCOL_VERSION and not says_protocol:
        raise InconsistentGroupProtocol
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    return await group_coordinator.shards.ask(
        request.group_id, request, SyncGroupResponse, context.caller
    )
