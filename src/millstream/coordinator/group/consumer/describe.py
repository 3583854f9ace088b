"""ConsumerGroupDescribe: what an administrator sees of a consumer group and its members (KIP-848)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.member import ConsumerGroupMember
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import GroupIdNotFound
from millstream.metadata.image import TopicsImage
from millstream.model import Uuid
from millstream.protocol.generated.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    TopicPartitions,
)
from millstream.protocol.generated.consumer_group_describe import Member as DescribedMember

_CLASSIC, _CONSUMER = 0, 1
_FIRST_VERSION_WITH_MEMBER_TYPE: Final = 1


def describe_groups(
    context: GroupContext, request: ConsumerGroupDescribeRequest
) -> CoordinatorResult:
    described = [_described(context, group_id) for group_id in request.group_ids]
    return context.reply(ConsumerGroupDescribeResponse(groups=described))


def _described(context: GroupContext, group_id: str) -> DescribedGroup:
    group = context.groups.find(group_id)
    if not isinstance(group, ConsumerGroup):
        why = "not found" if group is None else "is not a consumer group"
        return DescribedGroup(
            group_id=group_id,
            error_code=GroupIdNotFound.code,
            error_message=str(GroupIdNotFound(f"Group {group_id} {why}.")),
        )
    members, version = group.members.values(), context.caller.api_version
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor_wanted_by(members) or context.config.consumer.assignors[0],
        members=[_member(group, member, version, context.image.topics) for member in members],
    )


def _member(
    group: ConsumerGroup, member: ConsumerGroupMember, version: int, topics: TopicsImage
) -> DescribedMember:
    described = DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(member.owned(), topics),
        target_assignment=_assignment(group.targets.get(member.member_id, {}), topics),
    )
    if version >= _FIRST_VERSION_WITH_MEMBER_TYPE:
        described.member_type = _CLASSIC if member.is_classic else _CONSUMER
    return described


def _assignment(partitions: Mapping[Uuid, Iterable[int]], topics: TopicsImage) -> Assignment:
    """Topics that are gone are left out."""
    return Assignment(
        [
            TopicPartitions(topic_id, topics.by_id[topic_id].name, sorted(ps))
            for topic_id, ps in partitions.items()
            if topic_id in topics.by_id
        ]
    )
