"""Members that leave a consumer group, or are removed from it."""

from __future__ import annotations

import logging
from collections.abc import Collection

from millstream.coordinator.group.consumer.group import ConsumerGroup, topics_read_by
from millstream.coordinator.group.consumer.member import (
    STATIC_LEAVING_EPOCH,
    ConsumerMember,
    MemberState,
)
from millstream.coordinator.group.consumer.migration import downgrade, may_downgrade
from millstream.coordinator.group.consumer.records import epoch_record, member_tombstones
from millstream.coordinator.group.consumer.regex import forget_regexes, refresh
from millstream.coordinator.group.consumer.sessions import (
    await_revocation,
    restart_session,
    stop_all,
)
from millstream.coordinator.group.context import GroupTimer, OperationContext, TimerKind
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.topic_hash import topics_hash
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.generated.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMetadataKey,
)

_LOG = logging.getLogger(__name__)


def remove_members(
    group: ConsumerGroup, gone: Collection[ConsumerMember], context: OperationContext, reason: str
) -> None:
    """What they owned is free at once. A group whose last speaker of the consumer protocol goes becomes a classic one."""
    if not gone:
        return
    names = ", ".join(sorted(member.member_id for member in gone))
    _LOG.info("group %s: %s: %s", group.group_id, names, reason)
    for member in gone:
        stop_all(group, member, context)
    staying = group.members_without(gone)
    if may_downgrade(staying, context):
        downgrade(group, staying, context, leaving=gone)
        return
    for member in gone:
        context.result.records += member_tombstones(group.group_id, member.member_id)
    regexes = forget_regexes(group, gone, context)
    new_hash = topics_hash(topics_read_by(staying.values(), regexes), context.image)
    context.result.records.append(epoch_record(group.group_id, group.epoch + 1, new_hash))


def resume(group: ConsumerGroup, context: OperationContext) -> None:
    """The group has been loaded: each member has a whole session to show itself, and the time to revoke begins anew."""
    for member in group.members.values():
        restart_session(group.group_id, member, context)
        if _still_owes(member) and not member.is_classic:
            await_revocation(group.group_id, member, context)


def resume_unstored(groups: Groups, record: CoordinatorRecord, context: OperationContext) -> None:
    """`record` was not written: topics are to be looked at again, and a member that was to go is still there."""
    match record.key:
        case ConsumerGroupMetadataKey(group_id=group_id):
            group = groups.find(group_id)
            if isinstance(group, ConsumerGroup):
                group.checked_version = None
        case ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id):
            group = groups.find(group_id)
            if isinstance(group, ConsumerGroup) and member_id in group.members:
                restart_session(group_id, group.members[member_id], context)
        case _:
            pass


def expire(group: ConsumerGroup, timer: GroupTimer, context: OperationContext) -> None:
    """One of the timers of the group has fired."""
    if timer.kind is TimerKind.REGEX:
        refresh(group, context)
        return
    member = group.members.get(timer.member_id)
    if member is None:
        return
    match timer.kind:
        case TimerKind.SESSION:
            remove_members(group, [member], context, "session expired")
        case TimerKind.REBALANCE if _still_owes(member):
            remove_members(group, [member], context, "did not revoke its partitions in time")
        case TimerKind.JOIN:
            remove_members(group, [member], context, "did not rejoin in time")
        case TimerKind.SYNC:
            remove_members(group, [member], context, "did not sync in time")
        case _:
            pass


def _still_owes(member: ConsumerMember) -> bool:
    """A static member that has left for a while owes nothing."""
    return (
        member.state is MemberState.UNREVOKED_PARTITIONS
        and member.member_epoch != STATIC_LEAVING_EPOCH
    )
