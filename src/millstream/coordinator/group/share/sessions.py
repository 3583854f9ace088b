"""The timers of the members of a share group. Owns how long each runs; `operations` has what happens when one fires."""

from __future__ import annotations

from millstream.coordinator.group.context import GroupContext, GroupTimer, GroupTimerKind
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.share.member import ShareGroupMember


def heartbeat_interval_ms(context: GroupContext, group: ShareGroup) -> int:
    limits = context.config.share.heartbeat_interval_ms
    return limits.of_group(context.image, group.group_id)


def restart_session(context: GroupContext, group: ShareGroup, member: ShareGroupMember) -> None:
    """The member is known to be alive now."""
    limits = context.config.share.session_timeout_ms
    timeout_ms = limits.of_group(context.image, group.group_id)
    context.start_timer(_timer(group, member), timeout_ms)


def stop_all(context: GroupContext, group: ShareGroup, member: ShareGroupMember) -> None:
    """The timers run on if the records of the operation, which remove the member, cannot be written."""
    context.cancel_timer(_timer(group, member))
    context.on_append_failure(lambda later: resume(later, group, member))


def resume(context: GroupContext, group: ShareGroup, member: ShareGroupMember) -> None:
    """The member has a whole session to show itself."""
    restart_session(context, group, member)


def _timer(group: ShareGroup, member: ShareGroupMember) -> GroupTimer:
    return GroupTimer(GroupTimerKind.SESSION, group.group_id, member.member_id)
