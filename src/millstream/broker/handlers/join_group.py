"""JoinGroup: become a member of a classic group, or stay one in its next generation.

Versions 0-9. Answered when the generation begins, which may take as long as the rebalance timeout. From
version 4 on a new member first gets its id (MEMBER_ID_REQUIRED, KIP-394); from 5 on members may be static
(KIP-345); from 9 on a restarted leader is told to skip the assignment (KIP-814). Version 0 has no rebalance
timeout and means the session timeout.
"""

from __future__ import annotations

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupResponse
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.JOIN_GROUP,
    versions=range(10),
    permissions=(Permission(Operation.READ, ResourceType.GROUP),),
    kept_whole="one member says all that it wants, to its shard in a thread",
    tells_all=True,
)
_NULL_PROTOCOL_VERSION = 7


async def handle(
    request: JoinGroupRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
) -> JoinGroupResponse:
    access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    if context.version == 0:
        request.rebalance_timeout_ms = request.session_timeout_ms
    try:
        response = await group_coordinator.shards.ask(
            request.group_id,
            request,
            JoinGroupResponse,
            context.caller,
        )
    except KafkaError as error:
        response = JoinGroupResponse(
            error_code=error.code, member_id=request.member_id, protocol_name=None
        )
    if response.protocol_name is None and context.version < _NULL_PROTOCOL_VERSION:
        response.protocol_name = ""
    return response


def failed(_request: JoinGroupRequest, version: int, error: KafkaError) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error.code, protocol_name="" if version < _NULL_PROTOCOL_VERSION else None
    )
