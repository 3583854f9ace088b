"""DeleteGroups: groups without members are removed with all their offsets, share groups with their share state.

Versions 0-2. Each group has its own error: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND. A name given twice is answered once.
"""

from __future__ import annotations

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DELETE_GROUPS,
    versions=range(3),
    permissions=(Permission(Operation.DELETE, ResourceType.GROUP),),
    lists=(Lists(("groups_names",), ("results",)),),
)


async def handle(
    request: DeleteGroupsRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
    share_group_state: ShareGroupPersistence,
) -> DeleteGroupsResponse:
    names = dict.fromkeys(request.groups_names)
    return DeleteGroupsResponse(
        results=[
            await _delete(
                name,
                context,
                access=access,
                group_coordinator=group_coordinator,
                share_group_state=share_group_state,
            )
            for name in names
        ]
    )


def failed(request: DeleteGroupsRequest, _version: int, error: KafkaError) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group, error_code=error.code)
            for group in request.groups_names
        ]
    )


async def _delete(
    group_id: str,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
    share_group_state: ShareGroupPersistence,
) -> DeletableGroupResult:
    request = DeleteGroupsRequest(groups_names=[group_id])
    try:
        access.check(context, Operation.DELETE, ResourceType.GROUP, group_id)
        await share_group_state.delete_group(group_id, context.caller)
        response = await group_coordinator.shards.ask(
            group_id, request, DeleteGroupsResponse, context.caller
        )
    except KafkaError as error:
        return DeletableGroupResult(group_id=group_id, error_code=error.code)
    return response.results[0]
