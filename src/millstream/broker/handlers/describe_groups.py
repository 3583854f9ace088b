"""DescribeGroups: state, members and assignments of classic groups.

Versions 0-6. Each group has its own error. A group that does not exist is Dead; version 6 on it is GROUP_ID_NOT_FOUND
too. From version 3 on the operations a client may use can be asked for: without an authorizer, all there are.
"""

from __future__ import annotations

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DESCRIBE_GROUPS,
    versions=range(7),
    permissions=(Permission(Operation.DESCRIBE, ResourceType.GROUP),),
    lists=(Lists(("groups",), ("groups",)),),
    tells_all=True,
)


async def handle(
    request: DescribeGroupsRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
) -> DescribeGroupsResponse:
    groups = [
        await _describe(group_id, context, access=access, group_coordinator=group_coordinator)
        for group_id in request.groups
    ]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = access.operations(
                    context, ResourceType.GROUP, group.group_id
                )
    return DescribeGroupsResponse(groups=groups)


def failed(
    request: DescribeGroupsRequest, version: int, error: KafkaError
) -> DescribeGroupsResponse:
    message = str(error) if version >= 6 else None
    return DescribeGroupsResponse(
        groups=[
            DescribedGroup(error_code=error.code, error_message=message, group_id=group)
            for group in request.groups
        ]
    )


async def _describe(
    group_id: str,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
) -> DescribedGroup:
    request = DescribeGroupsRequest(groups=[group_id])
    try:
        access.check(context, Operation.DESCRIBE, ResourceType.GROUP, group_id)
        response = await group_coordinator.shards.ask(
            group_id,
            request,
            DescribeGroupsResponse,
            context.caller,
        )
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return response.groups[0]
