"""LeaveGroup: members go now instead of being missed later.

Versions 0-5. Up to version 2 one member, whose error is that of the response; from 3 on several,
each with its own error. From version 3 on a static member can be removed by its instance id alone.
The reason given from 5 on is not kept.
"""

from __future__ import annotations

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.LEAVE_GROUP,
    versions=range(6),
    permissions=(Permission(Operation.READ, ResourceType.GROUP),),
    kept_whole="members that leave together cause one rebalance, planned in a thread",
)
_SEVERAL_MEMBERS_VERSION = 3


async def handle(
    request: LeaveGroupRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
) -> LeaveGroupResponse:
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    has_list = context.version >= _SEVERAL_MEMBERS_VERSION
    if not has_list:
        request.members = [MemberIdentity(member_id=request.member_id)]
    response = await group_coordinator.shards.ask(
        request.group_id, request, LeaveGroupResponse, context.caller
    )
    if not has_list:
        return LeaveGroupResponse(error_code=response.members[0].error_code)
    return response
