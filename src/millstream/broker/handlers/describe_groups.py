"""DescribeGroups: state, members and assignments of classic groups.

Versions 0-6. Each group has its own error. A group that does not exist is Dead; version 6 on it is GROUP_ID_NOT_FOUND too.
From version 3 on the operations a client may use can be asked for: without an authorizer, all there are.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.request_context import RequestContext
from millstream.coordinator.group.shard import GroupShard
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

API = ApiSpec(ApiKey.DESCRIBE_GROUPS, versions=range(7))
_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS = 3, 6, 8, 10, 11
GROUP_OPERATIONS: Final = sum(
    1 << operation for operation in (_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)
)
"""One bit for each ACL operation that means something for a group."""


async def handle(request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    groups = [await _describe(group_id, context) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
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


async def _describe(group_id: str, context: RequestContext) -> DescribedGroup:
    request = DescribeGroupsRequest(groups=[group_id])
    try:
        response = await context.node.group_coordinator.ask(
            group_id,
            GroupShard.handle,
            request,
            DescribeGroupsResponse,
            context.caller,
        )
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return response.groups[0]
