"""Puts soft state right when records could not be written."""

from __future__ import annotations

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.rebalance import prepare_rebalance
from millstream.coordinator.group.classic.state import GroupState
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.sessions import restart_session
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.generated.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
)


def put_right(context: GroupContext, record: CoordinatorRecord) -> None:
    """A generation whose assignment or membership could not be stored is tried again with the next one."""
    match record.key:
        case GroupMetadataKey(group=group_id):
            classic = context.groups.find(group_id)
            if isinstance(classic, ClassicGroup) and classic.state in (
                GroupState.COMPLETING_REBALANCE,
                GroupState.STABLE,
            ):
                prepare_rebalance(context, classic, "its metadata could not be stored")
        case ConsumerGroupMetadataKey(group_id=group_id):
            group = context.groups.find(group_id)
            if isinstance(group, ConsumerGroup):
                group.checked_version = None
        case ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id):
            group = context.groups.find(group_id)
            if isinstance(group, ConsumerGroup) and member_id in group.members:
                restart_session(context, group, group.members[member_id])
        case _:
            pass
