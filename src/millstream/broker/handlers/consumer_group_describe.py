"""ConsumerGroupDescribe: epochs, members, and what each owns and is to own, of consumer groups (KIP-848).

Versions 0-1. Each group has its own error; groups of other kinds are GROUP_ID_NOT_FOUND. From version 1 on members tell which protocol they
speak. The operations a client may use can be asked for: without an authorizer, all there are.
"""

from __future__ import annotations

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.coordination.group_protocols import check_consumer_protocol
from millstream.broker.node.services import Metadata
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import InvalidGroupId, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from millstream.security.acl import GROUP_OPERATIONS, Operation, ResourceType

API = ApiSpec(
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    versions=range(2),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
)


async def handle(
    request: ConsumerGroupDescribeRequest,
    context: RequestContext,
    *,
    config: DynamicConfig,
    group_coordinator: GroupCoordination,
    metadata: Metadata,
) -> ConsumerGroupDescribeResponse:
    check_consumer_protocol(config, metadata)
    groups = [
        await _describe(group_id, context, group_coordinator=group_coordinator)
        for group_id in request.group_ids
    ]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return ConsumerGroupDescribeResponse(groups=groups)


def failed(
    request: ConsumerGroupDescribeRequest, _version: int, error: KafkaError
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[
            DescribedGroup(group_id=group_id, error_code=error.code, error_message=str(error))
            for group_id in request.group_ids
        ]
    )


async def _describe(
    group_id: str, context: RequestContext, *, group_coordinator: GroupCoordination
) -> DescribedGroup:
    request = ConsumerGroupDescribeRequest(group_ids=[group_id])
    try:
        if not group_id:
            raise InvalidGroupId
        response = await group_coordinator.ask(
            group_id,
            request,
            ConsumerGroupDescribeResponse,
            context.caller,
        )
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return response.groups[0]
