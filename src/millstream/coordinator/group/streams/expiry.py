"""Timers of streams groups: removes members whose time is up, and starts the timers of a group that has been loaded."""

from __future__ import annotations

from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.streams import sessions
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import StreamsGroupMemberState
from millstream.coordinator.group.streams.removal import remove_member
from millstream.coordinator.group.timers import GroupTimer, GroupTimerKind


def resume(context: GroupContext, group: StreamsGroup) -> None:
    """The group has been loaded: each member has a whole session to show itself, and the time to
    give tasks back begins anew.
    """
    for member in group.members.values():
        sessions.resume(context, group, member)


def expire(context: GroupContext, group: StreamsGroup, timer: GroupTimer) -> None:
    """Handles a timer of the group that has fired."""
    member = group.members.get(timer.member_id)
    if member is None:
        return
    match timer.kind:
        case GroupTimerKind.SESSION:
            remove_member(context, group, member, "session expired")
        case GroupTimerKind.REBALANCE if (
            member.current.state is StreamsGroupMemberState.UNREVOKED_TASKS
        ):
            remove_member(context, group, member, "did not give its tasks back in time")
        case _:
            pass
