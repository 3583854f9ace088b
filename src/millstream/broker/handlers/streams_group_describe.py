"""StreamsGroupDescribe: state, topology, members and tasks of streams groups (KIP-1071).

Version 0. Each group has its own error: GROUP_ID_NOT_FOUND also for a group of another kind. The topology has the derived
numbers of partitions once it can run. The operations a client may use can be asked for: without an authorizer, all there are.
"""

from __future__ import annotations

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.coordination.group_protocols import check_streams_protocol
from millstream.broker.node.services import Metadata
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import InvalidGroupId, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from millstream.security.acl import GROUP_OPERATIONS, Operation, ResourceType

API = ApiSpec(
    ApiKey.STREAMS_GROUP_DESCRIBE,
    versions=range(1),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
)


async def handle(
    request: StreamsGroupDescribeRequest,
    context: RequestContext,
    *,
    config: DynamicConfig,
    group_coordinator: GroupCoordination,
    metadata: Metadata,
) -> StreamsGroupDescribeResponse:
    check_streams_protocol(config, metadata)
    groups = [
        await _describe(group_id, context, group_coordinator=group_coordinator)
        for group_id in request.group_ids
    ]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return StreamsGroupDescribeResponse(groups=groups)


def failed(
    request: StreamsGroupDescribeRequest, _version: int, error: KafkaError
) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(
        groups=[
            DescribedGroup(error_code=error.code, group_id=group) for group in request.group_ids
        ]
    )


async def _describe(
    group_id: str, context: RequestContext, *, group_coordinator: GroupCoordination
) -> DescribedGroup:
    request = StreamsGroupDescribeRequest(group_ids=[group_id])
    try:
        if not group_id:
            raise InvalidGroupId
        response = await group_coordinator.ask(
            group_id,
            request,
            StreamsGroupDescribeResponse,
            context.caller,
        )
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return response.groups[0]
