"""DeleteGroups, OffsetDelete, and the offsets of partitions that are deleted: everything that removes without waiting for age."""

from __future__ import annotations

from collections.abc import Collection

from millstream.coordinator.group.classic.records import offset_commit_tombstone
from millstream.coordinator.group.context import OperationContext
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.offsets.store import OffsetStore
from millstream.errors import GroupSubscribedToTopic, InvalidGroupId, KafkaError
from millstream.protocol.generated.delete_groups import DeletableGroupResult
from millstream.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def delete_groups(
    groups: Groups, offsets: OffsetStore, group_ids: Collection[str], context: OperationContext
) -> list[DeletableGroupResult]:
    """Each group has its own error; a name given twice is deleted once."""
    return [
        DeletableGroupResult(
            group_id=group_id, error_code=_delete(groups, offsets, group_id, context)
        )
        for group_id in dict.fromkeys(group_ids)
    ]


def _delete(groups: Groups, offsets: OffsetStore, group_id: str, context: OperationContext) -> int:
    """Gives the error code. Tombstones of the offsets come first: what follows a tombstone of the group would revive it."""
    try:
        group = groups.get(group_id)
        group.check_may_delete()
    except KafkaError as error:
        return error.code
    places = [(topic, p) for topic, ps in offsets.of_group(group_id).items() for p in ps]
    places += [place for place in offsets.open_in_group(group_id) if place not in set(places)]
    context.result.records += [offset_commit_tombstone(group_id, *place) for place in places]
    context.result.records += group.tombstones()
    return 0


def delete_offsets(
    groups: Groups, offsets: OffsetStore, request: OffsetDeleteRequest, context: OperationContext
) -> OffsetDeleteResponse:
    """Raises what the whole request is refused with. Topics that members read are refused one by one."""
    if not request.group_id:
        raise InvalidGroupId
    group = groups.get(request.group_id)
    group.check_may_delete_offsets()
    in_use = group.subscribed_topics()
    topics = []
    for topic in request.topics:
        places = [(topic.name, each.partition_index) for each in topic.partitions]
        code = GroupSubscribedToTopic.code if topic.name in in_use else 0
        if not code:
            context.result.records += [
                offset_commit_tombstone(request.group_id, *place)
                for place in places
                if offsets.find(request.group_id, *place) is not None
                or offsets.is_unstable(request.group_id, *place)
            ]
        answers = [OffsetDeleteResponsePartition(partition, code) for _, partition in places]
        topics.append(OffsetDeleteResponseTopic(topic.name, answers))
    return OffsetDeleteResponse(topics=topics)


def forget_topics(offsets: OffsetStore, topics: Collection[str], context: OperationContext) -> None:
    """The topics were deleted: offsets in them mean nothing any more."""
    for group_id in offsets.group_ids():
        for topic, partitions in offsets.of_group(group_id).items():
            if topic in topics:
                context.result.records += [
                    offset_commit_tombstone(group_id, topic, partition) for partition in partitions
                ]
