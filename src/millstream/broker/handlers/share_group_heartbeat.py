"""ShareGroupHeartbeat: join, stay in and leave a share group (KIP-932).

Version 1. Epoch 0 joins, -1 leaves; the member id comes from the client. The coordinator assigns partitions itself
(simple assignor) and tells a member what it has when that changes. Partitions that are read for the first time are
initialised with the share coordinator before the answer leaves, and assigned with one of the next heartbeats. Intervals
and sessions: `group.share.*`, `share.*` of the group.
"""

from __future__ import annotations

from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.broker.share.sessions import check_member_id
from millstream.broker.share.share_groups import ShareGroups
from millstream.coordinator.group.share.heartbeat import HeartbeatOutcome
from millstream.coordinator.group.share.request_check import check_heartbeat
from millstream.errors import TopicAuthorizationFailed, error_for
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.SHARE_GROUP_HEARTBEAT,
    versions=range(1, 2),
    permissions=(
        Permission(Operation.READ, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
    kept_whole="one member says all that it wants, to its shard in a thread",
)


async def handle(
    request: ShareGroupHeartbeatRequest,
    context: RequestContext,
    *,
    access: Access,
    share_group_state: ShareGroupPersistence,
    share_groups: ShareGroups,
) -> ShareGroupHeartbeatResponse:
    """Takes a heartbeat.

    Raises GroupAuthorizationFailed, and TopicAuthorizationFailed for all of it where one topic may not be described.
    """
    share_groups.check_served()
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    check_member_id(request.member_id)
    if await access.denied_of_many(
        context,
        Operation.DESCRIBE,
        ResourceType.TOPIC,
        dict.fromkeys(request.subscribed_topic_names or ()),
        long_work=share_groups.long_work,
    ):
        raise TopicAuthorizationFailed
    check_heartbeat(request)
    outcome = await share_group_state.ask(
        request.group_id, request, HeartbeatOutcome, context.caller
    )
    if outcome.to_initialize is not None:
        errors = await share_group_state.initialize(outcome.to_initialize, context.caller)
        if errors:
            first = next(iter(errors.values()))
            raise error_for(first.code, str(first))
    return outcome.response
