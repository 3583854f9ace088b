"""OffsetDelete, and the offsets of topics and groups that are deleted: everything that removes
offsets without waiting for age.

Removes what is held: what is committed, and what open transactions have staged, which would count later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from millstream.coordinator.group.context import (
    GroupContext,
    GroupTimer,
    GroupTimerKind,
    TopicsDeleted,
)
from millstream.coordinator.group.offsets.records import offset_commit_tombstone
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import GroupSubscribedToTopic, InvalidGroupId
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

_RETRY_MS: Final = 1_000
"""Ours: nobody waits for it, and replicas that are missing are back no sooner."""


def start_to_forget(context: GroupContext) -> None:
    """Starts to forget topics that went while nobody was there: in an operation of its own, which may be long."""
    context.start_timer(GroupTimer(GroupTimerKind.MISSING_TOPICS), 0)


def delete_offsets(context: GroupContext, request: OffsetDeleteRequest) -> CoordinatorResult:
    """Deletes committed offsets. Raises what the whole request is refused with.

    Topics that members read are refused one by one.
    """
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
            held = [each for each in partitions if context.offsets.held(request.group_id, *each)]
            _remove(context, request.group_id, held)
        answers = [OffsetDeleteResponsePartition(number, code) for _, number in partitions]
        topics.append(OffsetDeleteResponseTopic(topic.name, answers))
    return context.reply(OffsetDeleteResponse(topics=topics))


def delete_all_offsets(context: GroupContext, group_id: str) -> None:
    """The group is deleted, and with it what open transactions have staged for it."""
    _remove(context, group_id, context.offsets.held_by_group(group_id))


def forget_topics(context: GroupContext, request: TopicsDeleted) -> CoordinatorResult:
    """The topics were deleted: offsets in them mean nothing any more. New topics may have their names by now.

    An offset that does not say of which topic it is was committed before.
    """
    for group_id in context.offsets.group_ids():
        gone = [
            (topic, partition)
            for topic, partition in context.offsets.held_by_group(group_id)
            if topic in request.names
            and not _has_offset_of(context, group_id, (topic, partition), _topic_id(context, topic))
        ]
        _remove(context, group_id, gone)
    return context.reply(None)


def forget_missing_topics(context: GroupContext, timer: GroupTimer) -> None:
    """The coordinator was loaded: topics may have been deleted while no coordinator was there to write it down.

    The image is at least as new as that which made this node the leader, and earlier leaders stored offsets
    of topics of earlier images only: a topic that is not in it is gone. An offset that does not say of which
    topic it is belongs to the one of that name.
    """
    context.on_append_failure(lambda again: again.start_timer(timer, _RETRY_MS))
    for group_id in context.offsets.group_ids():
        gone = []
        for topic, partition in context.offsets.held_by_group(group_id):
            topic_id = _topic_id(context, topic)
            if topic_id is None or not _has_offset_of(
                context, group_id, (topic, partition), topic_id, ZERO_UUID
            ):
                gone.append((topic, partition))
        _remove(context, group_id, gone)


def _topic_id(context: GroupContext, topic: str) -> Uuid | None:
    found = context.image.topic(topic)
    return None if found is None else found.topic_id


def _has_offset_of(
    context: GroupContext, group_id: str, partition: tuple[str, int], *topic_ids: Uuid | None
) -> bool:
    """Whether an offset of the partition, committed or staged, says that it is of one of the topics: a
    tombstone would take it too.
    """
    held = context.offsets.held(group_id, *partition)
    return any(stored.value.topic_id in topic_ids for stored in held)


def _remove(context: GroupContext, group_id: str, partitions: Iterable[tuple[str, int]]) -> None:
    context.result.records += [offset_commit_tombstone(group_id, *each) for each in partitions]
