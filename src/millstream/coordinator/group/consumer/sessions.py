"""The timers of the members of a consumer group. Owns how long each runs; what happens when one fires is in
`operations`.
"""

from __future__ import annotations

from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.member import (
    STATIC_LEAVING_EPOCH,
    ConsumerGroupMember,
    ConsumerGroupMemberState,
)
from millstream.coordinator.group.context import GroupContext, GroupTimer, GroupTimerKind


def heartbeat_interval_ms(context: GroupContext, group: ConsumerGroup) -> int:
    limits = context.config.consumer.heartbeat_interval_ms
    return limits.of_group(context.image, group.group_id)


def restart_session(
    context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember
) -> None:
    """The member is known to be alive now. A classic member has said itself how long it may be silent."""
    limits = context.config.consumer.session_timeout_ms
    timeout_ms = (
        limits.of_group(context.image, group.group_id)
        if member.classic is None
        else member.classic.session_timeout_ms
    )
    context.start_timer(_timer(GroupTimerKind.SESSION, group, member), timeout_ms)


def await_revocation(
    context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember
) -> None:
    """Waits for a member that has been told to revoke partitions.

    Each step that it takes on the way gives it the whole time again.
    """
    context.start_timer(
        _timer(GroupTimerKind.REBALANCE, group, member), member.rebalance_timeout_ms
    )


def stop_awaiting_revocation(
    context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember
) -> None:
    context.cancel_timer(_timer(GroupTimerKind.REBALANCE, group, member))
    _resume_unwritten(context, group, member)


def await_join(context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
    """A classic member has been told to rejoin; being told again gives it no more time."""
    timer = _timer(GroupTimerKind.JOIN, group, member)
    context.start_timer(timer, member.rebalance_timeout_ms, unless_running=True)


def await_sync(context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
    """A classic member has joined: now it is to fetch its assignment."""
    context.cancel_timer(_timer(GroupTimerKind.JOIN, group, member))
    context.start_timer(_timer(GroupTimerKind.SYNC, group, member), member.rebalance_timeout_ms)


def stop_awaiting_sync(
    context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember
) -> None:
    context.cancel_timer(_timer(GroupTimerKind.SYNC, group, member))


def stop_all(context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
    for kind in (
        GroupTimerKind.SESSION,
        GroupTimerKind.REBALANCE,
        GroupTimerKind.JOIN,
        GroupTimerKind.SYNC,
    ):
        context.cancel_timer(_timer(kind, group, member))
    _resume_unwritten(context, group, member)


def resume(context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
    """The member has a whole session to show itself, and the time to revoke begins anew."""
    restart_session(context, group, member)
    if has_to_revoke(member) and not member.is_classic:
        await_revocation(context, group, member)


def has_to_revoke(member: ConsumerGroupMember) -> bool:
    """A static member that has left for a while owes nothing."""
    return (
        member.state is ConsumerGroupMemberState.UNREVOKED_PARTITIONS
        and member.member_epoch != STATIC_LEAVING_EPOCH
    )


def _resume_unwritten(
    context: GroupContext, group: ConsumerGroup, member: ConsumerGroupMember
) -> None:
    """The timers of a member that stays as it was because its records could not be written run on."""
    member_id = member.member_id

    def put_back(context: GroupContext) -> None:
        if member_id in group.members:
            resume(context, group, group.members[member_id])

    context.on_append_failure(put_back)


def _timer(kind: GroupTimerKind, group: ConsumerGroup, member: ConsumerGroupMember) -> GroupTimer:
    return GroupTimer(kind, group.group_id, member.member_id)
