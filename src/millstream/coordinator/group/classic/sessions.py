"""The timers of classic groups: sessions of members, and how long a rebalance waits for members to join and to sync."""

from __future__ import annotations

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.member import ClassicGroupMember
from millstream.coordinator.group.context import GroupContext, GroupTimer, GroupTimerKind


def start_session(
    context: GroupContext, group: ClassicGroup, member_id: str, timeout_ms: int
) -> None:
    """Starts the session of a member, also of an id that was handed out to a member that has not joined yet."""
    context.start_timer(GroupTimer(GroupTimerKind.SESSION, group.group_id, member_id), timeout_ms)


def restart_session(context: GroupContext, group: ClassicGroup, member: ClassicGroupMember) -> None:
    """The member is known to be alive now."""
    start_session(context, group, member.member_id, member.settings.session_timeout_ms)


def end_session(context: GroupContext, group: ClassicGroup, member_id: str) -> None:
    context.cancel_timer(GroupTimer(GroupTimerKind.SESSION, group.group_id, member_id))


def start_join_timer(context: GroupContext, group: ClassicGroup, delay_ms: int) -> None:
    context.start_timer(GroupTimer(GroupTimerKind.JOIN, group.group_id), delay_ms)


def cancel_join_timer(context: GroupContext, group: ClassicGroup) -> None:
    context.cancel_timer(GroupTimer(GroupTimerKind.JOIN, group.group_id))


def start_sync_timer(context: GroupContext, group: ClassicGroup) -> None:
    context.start_timer(GroupTimer(GroupTimerKind.SYNC, group.group_id), group.rebalance_timeout_ms)


def cancel_sync_timer(context: GroupContext, group: ClassicGroup) -> None:
    context.cancel_timer(GroupTimer(GroupTimerKind.SYNC, group.group_id))
