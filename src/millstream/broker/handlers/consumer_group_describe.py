"""ConsumerGroupDescribe: epochs, members, and what each owns and is to own, of consumer groups (KIP-848).

Versions 0-1. Each group has its own error; groups of other kinds are GROUP_ID_NOT_FOUND. From version 1 on members tell
which protocol they speak. The operations a client may use can be asked for: without an authorizer, all there are.
"""

from __future__ import annotations

from collections.abc import Iterator

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.group_coordination import (
    GroupCoordination,
    check_consumer_protocol,
)
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access, withhold_groups
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import InvalidGroupId, KafkaError, TopicAuthorizationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    versions=range(2),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
    lists=(Lists(("group_ids",), ("groups",)),),
    tells_all=True,
)


async def handle(
    request: ConsumerGroupDescribeRequest,
    context: RequestContext,
    *,
    access: Access,
    config: DynamicConfig,
    group_coordinator: GroupCoordination,
    long_work: LongWork,
    metadata: Metadata,
) -> ConsumerGroupDescribeResponse:
    check_consumer_protocol(config, metadata)
    groups = [
        await _describe(group_id, context, access=access, group_coordinator=group_coordinator)
        for group_id in request.group_ids
    ]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = access.operations(
                    context, ResourceType.GROUP, group.group_id
                )
    return ConsumerGroupDescribeResponse(
        groups=await withhold_groups(
            access, context, groups, _topics, _withheld, long_work=long_work
        )
    )


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
    group_id: str,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
) -> DescribedGroup:
    request = ConsumerGroupDescribeRequest(group_ids=[group_id])
    try:
        access.check(context, Operation.DESCRIBE, ResourceType.GROUP, group_id)
        if not group_id:
            raise InvalidGroupId
        response = await group_coordinator.shards.ask(
            group_id,
            request,
            ConsumerGroupDescribeResponse,
            context.caller,
        )
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return response.groups[0]


def _withheld(group: DescribedGroup) -> DescribedGroup:
    """Returns the answer for a group with a topic that the client may not describe."""
    return DescribedGroup(
        group_id=group.group_id,
        error_code=TopicAuthorizationFailed.code,
        error_message="The group has described topic(s) that the client is not authorized to describe.",
    )


def _topics(group: DescribedGroup) -> Iterator[str]:
    """Yields the topics in the assignments of its members."""
    for member in group.members:
        for assignment in (member.assignment, member.target_assignment):
            for topic in assignment.topic_partitions:
                yield topic.topic_name
