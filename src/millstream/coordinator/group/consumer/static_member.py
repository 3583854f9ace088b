"""Static members of consumer groups: an instance id is one place in the group, whichever member holds it."""

from __future__ import annotations

from dataclasses import replace

from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.member import JOINING_EPOCH, ConsumerGroupMember
from millstream.coordinator.group.consumer.records import (
    current_assignment_record,
    member_record,
    member_tombstones,
    target_record,
)
from millstream.coordinator.group.context import GroupContext
from millstream.errors import FencedInstanceId


def check_is_not_fenced(holder: ConsumerGroupMember, member_id: str) -> None:
    """Raises FencedInstanceId when another than `member_id` holds the place."""
    if holder.member_id != member_id:
        raise FencedInstanceId(
            f"Static member {member_id} with instance id {holder.instance_id} "
            f"was fenced by member {holder.member_id}."
        )


def replace_static_member(
    context: GroupContext, group: ConsumerGroup, holder: ConsumerGroupMember, member_id: str
) -> ConsumerGroupMember:
    """The process behind the place was restarted: the new one has what the old one had, and begins in no epoch.

    The timers of the old member find no member when they fire.
    """
    newcomer = replace(
        holder,
        member_id=member_id,
        member_epoch=JOINING_EPOCH,
        previous_member_epoch=JOINING_EPOCH,
    )
    context.result.records += [
        *member_tombstones(group.group_id, holder.member_id),
        member_record(group.group_id, newcomer),
        target_record(group.group_id, member_id, group.target_of(holder)),
        current_assignment_record(group.group_id, newcomer),
    ]
    return newcomer
