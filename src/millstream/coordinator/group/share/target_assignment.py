"""The target assignment of a share group: its partitions shared out, and the records that say so."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.coordinator.assignors import simple_share_assignor as share_simple
from millstream.coordinator.assignors.partition_assignor import (
    AssignableGroup,
    AssignableMember,
    Partitions,
)
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.share.member import ShareGroupMember
from millstream.coordinator.group.share.records import (
    target_epoch_record,
    target_record,
)
from millstream.metadata.image import TopicsImage
from millstream.model import Uuid


def is_due(context: GroupContext, group: ShareGroup) -> bool:
    """Tells whether an assignment is due.

    Assignments of one group keep their distance, so that members that come together share one.
    """
    interval_ms = context.config.share.assignment_interval_ms.of_group(
        context.image, group.group_id
    )
    last_ms = group.assignment_timestamp_ms
    return not last_ms or not interval_ms or context.now.wall_ms >= last_ms + interval_ms


def assign(
    context: GroupContext, group: ShareGroup, members: Mapping[str, ShareGroupMember], epoch: int
) -> Mapping[str, Partitions]:
    """Writes the targets that change, and gives those of all `members`, which are the group's as they will be."""
    topics = context.image.topics
    assigned = share_simple.assign(
        AssignableGroup(
            {
                member_id: AssignableMember(
                    subscribed_ids(member, topics), group.targets.get(member_id, {})
                )
                for member_id, member in members.items()
            }
        ),
        group.state_partitions.initialized,
    )
    targets = {member_id: assigned.get(member_id, {}) for member_id in members}
    context.result.records += [
        target_record(group.group_id, member_id, target)
        for member_id, target in targets.items()
        if group.targets.get(member_id) != target
    ]
    context.result.records.append(target_epoch_record(group.group_id, epoch, context.now.wall_ms))
    return targets


def subscribed_ids(member: ShareGroupMember, topics: TopicsImage) -> frozenset[Uuid]:
    """Returns the ids of the subscribed topics that exist."""
    return frozenset(topics.by_name[name].topic_id for name in member.topic_names if name in topics)
