"""OffsetDelete, and the offsets of topics that are deleted: everything that removes offsets without waiting for age."""

from __future__ import annotations

from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.offsets.records import offset_commit_tombstone
from millstream.coordinator.group.requests import TopicsDeleted
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import GroupSubscribedToTopic, InvalidGroupId
from millstream.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def delete_offsets(context: GroupContext, request: OffsetDeleteRequest) -> CoordinatorResult:
    """Deletes committed offsets. Raises what the whole request is refused with. Topics that members read are refused one by one."""
    if not request.group_id:
        raise InvalidGroupId
    group = context.groups.get(request.group_id)
    group.check_may_delete_offsets()
    in_use = group.subscribed_topics()
    topics = []
    for topic in request.topics:
        partitions = [(topic.name, each.partition_index) for each in topic.partitions]
        code = GroupSubscribedToTopic.code if topic.name in in_use else 0
        if not code:
            context.result.records += [
                offset_commit_tombstone(request.group_id, *partition)
                for partition in partitions
                if context.offsets.find(request.group_id, *partition) is not None
                or context.offsets.is_unstable(request.group_id, *partition)
            ]
        answers = [OffsetDeleteResponsePartition(number, code) for _, number in partitions]
        topics.append(OffsetDeleteResponseTopic(topic.name, answers))
    return context.reply(OffsetDeleteResponse(topics=topics))


def forget_topics(context: GroupContext, request: TopicsDeleted) -> CoordinatorResult:
    """The topics were deleted: offsets in them mean nothing any more."""
    for group_id in context.offsets.group_ids():
        for topic, partitions in context.offsets.of_group(group_id).items():
            if topic in request.names:
                context.result.records += [
                    offset_commit_tombstone(group_id, topic, partition) for partition in partitions
                ]
    return context.reply(None)
