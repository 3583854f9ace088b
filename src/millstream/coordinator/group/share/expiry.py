"""Timers of share groups: removes members whose time is up, and starts the timers of a group that has been loaded."""

from __future__ import annotations

from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.share import sessions
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.share.removal import remove_member
from millstream.coordinator.group.timers import GroupTimer, GroupTimerKind


def resume(context: GroupContext, group: ShareGroup) -> None:
    """The group has been loaded: each member has a whole session to show itself."""
    for member in group.members.values():
        sessions.resume(context, group, member)


def expire(context: GroupContext, group: ShareGroup, timer: GroupTimer) -> None:
    """Handles a timer of the group that has fired."""
    member = group.members.get(timer.member_id)
    if timer.kind is GroupTimerKind.SESSION and member is not None:
        remove_member(context, group, member, "session expired")
