"""Heartbeat: a member of a classic group is alive; the answer says whether it has to join again.

Versions 0-4. From version 3 on with the instance id of a static member. While the coordinator loads, every heartbeat is
welcome: whether the member is known cannot be told yet.
"""

from __future__ import annotations

from dataclasses import replace

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import CoordinatorLoadInProgress
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.HEARTBEAT,
    versions=range(5),
    permissions=(Permission(Operation.READ, ResourceType.GROUP),),
)


async def handle(
    request: HeartbeatRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
) -> HeartbeatResponse:
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    try:
        return await group_coordinator.shards.ask(
            request.group_id,
            request,
            HeartbeatResponse,
            # As Kafka: it tells nothing of what is written, and a member must not be taken for lost, by itself or by its client, for as long
            # as the high watermark waits for a replica that has fallen silent.
            replace(context.caller, sees_uncommitted=True),
        )
    except CoordinatorLoadInProgress:
        return HeartbeatResponse()
