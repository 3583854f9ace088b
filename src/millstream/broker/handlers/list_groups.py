"""ListGroups: the groups this node coordinates.

Versions 0-5. From version 4 on filtered by state, from 5 on by type; an unknown state or type matches nothing. While a
partition of `__consumer_offsets` loads, the answer holds the other groups and COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

from functools import partial

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.list_groups import ListGroupsRequest, ListGroupsResponse
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.LIST_GROUPS,
    versions=range(6),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.CLUSTER),
        Permission(Operation.DESCRIBE, ResourceType.GROUP),
    ),
    kept_whole="filters, made sets",
    tells_all=True,
)


async def handle(
    request: ListGroupsRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
    long_work: LongWork,
) -> ListGroupsResponse:
    answers, failure = await group_coordinator.shards.ask_all(
        request, ListGroupsResponse, context.caller
    )
    groups = [group for answer in answers for group in answer.groups]
    if not access.allows_on_cluster(context, Operation.DESCRIBE, quiet=True):
        may = partial(access.allows, context, Operation.DESCRIBE, ResourceType.GROUP, quiet=True)
        groups = [group async for group in long_work.in_turns(groups) if may(group.group_id)]
    return ListGroupsResponse(error_code=0 if failure is None else failure.code, groups=groups)
