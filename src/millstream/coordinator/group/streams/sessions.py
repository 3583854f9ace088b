"""The timers of a streams group and its members. Owns how long each runs; what happens when one fires is in
`operations`.
"""

from __future__ import annotations

from millstream.coordinator.group.context import GroupContext, GroupTimer, GroupTimerKind
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import StreamsGroupMember, StreamsGroupMemberState


def heartbeat_interval_ms(context: GroupContext, group: StreamsGroup) -> int:
    limits = context.config.streams.heartbeat_interval_ms
    return limits.of_group(context.image, group.group_id)


def restart_session(context: GroupContext, group: StreamsGroup, member: StreamsGroupMember) -> None:
    """The member is known to be alive now."""
    limits = context.config.streams.session_timeout_ms
    timeout_ms = limits.of_group(context.image, group.group_id)
    context.start_timer(_timer(GroupTimerKind.SESSION, group, member), timeout_ms)


def await_revocation(
    context: GroupContext, group: StreamsGroup, member: StreamsGroupMember
) -> None:
    """Waits for a member that has been told to give tasks back, until it says that it did."""
    timer = _timer(GroupTimerKind.REBALANCE, group, member)
    context.start_timer(timer, member.metadata.rebalance_timeout_ms)


def stop_awaiting_revocation(
    context: GroupContext, group: StreamsGroup, member: StreamsGroupMember
) -> None:
    context.cancel_timer(_timer(GroupTimerKind.REBALANCE, group, member))
    _resume_unwritten(context, group, member)


def await_more_members(context: GroupContext, group: StreamsGroup, delay_ms: int) -> None:
    timer = GroupTimer(GroupTimerKind.INITIAL_REBALANCE, group.group_id)
    context.groups.awaiting_members.add(group.group_id)
    context.start_timer(timer, delay_ms)

    def put_back(context: GroupContext) -> None:
        context.groups.awaiting_members.discard(group.group_id)
        context.cancel_timer(timer)

    context.on_append_failure(put_back)


def stop_all(context: GroupContext, group: StreamsGroup, member: StreamsGroupMember) -> None:
    for kind in (GroupTimerKind.SESSION, GroupTimerKind.REBALANCE):
        context.cancel_timer(_timer(kind, group, member))
    _resume_unwritten(context, group, member)


def resume(context: GroupContext, group: StreamsGroup, member: StreamsGroupMember) -> None:
    """The member has a whole session to show itself, and the time to give tasks back begins anew."""
    restart_session(context, group, member)
    if member.current.state is StreamsGroupMemberState.UNREVOKED_TASKS:
        await_revocation(context, group, member)


def _resume_unwritten(
    context: GroupContext, group: StreamsGroup, member: StreamsGroupMember
) -> None:
    """The timers of a member that stays as it was because its records could not be written run on."""
    member_id = member.member_id

    def put_back(context: GroupContext) -> None:
        if member_id in group.members:
            resume(context, group, group.members[member_id])

    context.on_append_failure(put_back)


def _timer(kind: GroupTimerKind, group: StreamsGroup, member: StreamsGroupMember) -> GroupTimer:
    return GroupTimer(kind, group.group_id, member.member_id)
