"""The target assignment of a share group, and how a member comes to it: at once, for partitions may be shared for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millstream.coordinator.assignors import simple_share_assignor as share_simple
from millstream.coordinator.assignors.partition_assignor import (
    AssignableGroup,
    AssignableMember,
    Partitions,
)
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.share.member import ShareMember
from millstream.coordinator.group.share.records import (
    current_assignment_record,
    target_epoch_record,
    target_record,
)
from millstream.coordinator.group.share.state_partitions import of_topics
from millstream.metadata.image import TopicsImage
from millstream.model import Uuid


def is_due(context: GroupContext, group: ShareGroup) -> bool:
    """Assignments of one group keep their distance, so that members that come together share one."""
    interval_ms = context.config.share.assignment_interval_ms.of_group(
        context.image, group.group_id, "share.assignment.interval.ms"
    )
    last_ms = group.assignment_timestamp_ms
    return not last_ms or not interval_ms or context.now.wall_ms >= last_ms + interval_ms


def assign(
    context: GroupContext, group: ShareGroup, members: Mapping[str, ShareMember], epoch: int
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


def brought_to(
    context: GroupContext,
    group: ShareGroup,
    member: ShareMember,
    target: Partitions,
    epoch: int,
) -> ShareMember:
    """The member as it is told to be: the target of `epoch`, without topics that it does not read any more."""
    reconciled = replace(
        member, assigned=of_topics(target, subscribed_ids(member, context.image.topics))
    )
    if epoch != member.member_epoch:
        reconciled = replace(
            reconciled, member_epoch=epoch, previous_member_epoch=member.member_epoch
        )
    if reconciled != member:
        context.result.records.append(current_assignment_record(group.group_id, reconciled))
    return reconciled


def subscribed_ids(member: ShareMember, topics: TopicsImage) -> frozenset[Uuid]:
    """Those of its topics that exist."""
    return frozenset(topics.by_name[name].topic_id for name in member.topic_names if name in topics)
