"""The operations on streams groups, and their timers: those that fire remove members whose time is up, those of a group
that has been loaded begin anew.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.group.context import (
    GroupContext,
    GroupHandlers,
    GroupTimer,
    GroupTimerKind,
)
from millstream.coordinator.group.streams import describe, heartbeat, replay, sessions
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import StreamsGroupMemberState
from millstream.coordinator.group.streams.removal import remove_member
from millstream.protocol.generated.streams_group_describe import StreamsGroupDescribeRequest
from millstream.protocol.generated.streams_group_heartbeat import StreamsGroupHeartbeatRequest


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


HANDLERS: Final = GroupHandlers(
    group_type=StreamsGroup,
    operations=MappingProxyType(
        {
            StreamsGroupHeartbeatRequest: heartbeat.heartbeat,
            StreamsGroupDescribeRequest: describe.describe_groups,
        }
    ),
    record_keys=replay.KEYS,
    replay=replay.replay,
    resume=resume,
    expire=expire,
)
