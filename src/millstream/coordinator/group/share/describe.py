"""ShareGroupDescribe: what an administrator sees of share groups."""

from __future__ import annotations

from millstream.coordinator.assignors import simple_share_assignor as share_simple
from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.share.heartbeat import existing_group
from millstream.coordinator.group.share.member import ShareGroupMember
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import GroupIdNotFound
from millstream.protocol.generated.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)


def describe_groups(context: GroupContext, request: ShareGroupDescribeRequest) -> CoordinatorResult:
    described = [_described(context, group_id) for group_id in request.group_ids]
    return context.reply(ShareGroupDescribeResponse(groups=described))


def _described(context: GroupContext, group_id: str) -> DescribedGroup:
    """A group that does not exist is an error, and in no state."""
    try:
        group = existing_group(context.groups, group_id)
    except GroupIdNotFound as error:
        return DescribedGroup(
            error_code=error.code,
            error_message=str(error),
            group_id=group_id,
        )
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=share_simple.NAME,
        members=[_member(context, member) for member in group.members.values()],
    )


def _member(context: GroupContext, member: ShareGroupMember) -> Member:
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        assignment=_assignment(context, member.assigned),
    )


def _assignment(context: GroupContext, partitions: Partitions) -> Assignment:
    """Topics that are gone have no name to be told by."""
    topics = context.image.topics.by_id
    return Assignment(
        [
            TopicPartitions(topic_id, topics[topic_id].name, sorted(numbers))
            for topic_id, numbers in partitions.items()
            if topic_id in topics
        ]
    )
