"""ShareGroupDescribe: epochs, members and assignments of share groups (KIP-932).

Version 1. Each group has its own error; one that does not exist is GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from collections.abc import Iterator

from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access, withhold_groups
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.share.group_persistence import ShareGroupPersistence
from millstream.broker.share.share_groups import ShareGroups
from millstream.errors import InvalidGroupId, KafkaError, TopicAuthorizationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.SHARE_GROUP_DESCRIBE,
    versions=range(1, 2),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
    lists=(Lists(("group_ids",), ("groups",)),),
    tells_all=True,
)


async def handle(
    request: ShareGroupDescribeRequest,
    context: RequestContext,
    *,
    access: Access,
    long_work: LongWork,
    share_group_state: ShareGroupPersistence,
    share_groups: ShareGroups,
) -> ShareGroupDescribeResponse:
    share_groups.check_served()
    groups = [
        await _describe(group_id, context, access=access, share_group_state=share_group_state)
        for group_id in request.group_ids
    ]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = access.operations(
                    context, ResourceType.GROUP, group.group_id
                )
    return ShareGroupDescribeResponse(
        groups=await withhold_groups(
            access, context, groups, _topics, _withheld, long_work=long_work
        )
    )


def failed(
    request: ShareGroupDescribeRequest, _version: int, error: KafkaError
) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
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
    share_group_state: ShareGroupPersistence,
) -> DescribedGroup:
    try:
        access.check(context, Operation.DESCRIBE, ResourceType.GROUP, group_id)
        if not group_id:
            raise InvalidGroupId
        one = ShareGroupDescribeRequest(group_ids=[group_id])
        answer = await share_group_state.ask(
            group_id, one, ShareGroupDescribeResponse, context.caller
        )
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.detail)
    return answer.groups[0]


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
        for assignment in (member.assignment,):
            for topic in assignment.topic_partitions:
                yield topic.topic_name
