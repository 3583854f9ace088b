"""The operations on classic groups, and their timers: those that fire remove members whose time is up, those of a group
that has been loaded begin anew.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.group.classic import (
    describe,
    heartbeat,
    join,
    leave,
    rebalance,
    replay,
    sync,
)
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.removal import remove_member
from millstream.coordinator.group.classic.sessions import restart_session
from millstream.coordinator.group.context import (
    GroupContext,
    GroupHandlers,
    GroupTimer,
    GroupTimerKind,
)
from millstream.protocol.generated.describe_groups import DescribeGroupsRequest
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.leave_group import LeaveGroupRequest
from millstream.protocol.generated.sync_group import SyncGroupRequest


def resume(context: GroupContext, group: ClassicGroup) -> None:
    """The group has been loaded: each member has a whole session to show itself."""
    for member in group.members.values():
        restart_session(context, group, member)
    if len(group.members) > context.config.classic.max_size:
        rebalance.prepare_rebalance(context, group, "it has more members than are allowed")


def expire(context: GroupContext, group: ClassicGroup, timer: GroupTimer) -> None:
    """Handles a timer of a classic group that has fired."""
    match timer.kind:
        case GroupTimerKind.SESSION:
            _expire_session(context, group, timer.member_id)
        case GroupTimerKind.JOIN:
            rebalance.expire_join(context, group)
        case GroupTimerKind.SYNC:
            rebalance.expire_sync(context, group)
        case GroupTimerKind.DOWNGRADE:
            rebalance.prepare_rebalance(context, group, "it was a consumer group until now")
        case _:
            pass


def _expire_session(context: GroupContext, group: ClassicGroup, member_id: str) -> None:
    """Of a member, or of an id handed out to a member that never joined."""
    member = group.members.get(member_id)
    if member_id in group.pending_members:
        group.expect_no_more(member_id)
        rebalance.maybe_complete_join(context, group)
    elif member is not None and not member.outlives_its_session:
        remove_member(context, group, member)
        rebalance.rebalance_or_complete_join(context, group, f"session of {member_id} expired")


HANDLERS: Final = GroupHandlers(
    group_type=ClassicGroup,
    operations=MappingProxyType(
        {
            JoinGroupRequest: join.join_group,
            SyncGroupRequest: sync.sync_group,
            HeartbeatRequest: heartbeat.heartbeat,
            LeaveGroupRequest: leave.leave_group,
            DescribeGroupsRequest: describe.describe_groups,
        }
    ),
    record_keys=replay.KEYS,
    replay=replay.replay,
    resume=resume,
    expire=expire,
)
