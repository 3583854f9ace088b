"""The operations on consumer groups, and their timers: those that fire remove members whose time is up, those of a
group that has been loaded begin anew.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.group.consumer import describe, heartbeat, regex, replay, sessions
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.member import ConsumerGroupMember
from millstream.coordinator.group.consumer.removal import remove_members
from millstream.coordinator.group.context import (
    GroupContext,
    GroupHandlers,
    GroupTimer,
    GroupTimerKind,
)
from millstream.protocol.generated.consumer_group_describe import ConsumerGroupDescribeRequest
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def resume(context: GroupContext, group: ConsumerGroup) -> None:
    """The group has been loaded: each member has a whole session to show itself, and the time to revoke begins anew."""
    for member in group.members.values():
        sessions.resume(context, group, member)


def expire(context: GroupContext, group: ConsumerGroup, timer: GroupTimer) -> None:
    """Handles a timer of the group that has fired."""
    if timer.kind is GroupTimerKind.REGEX:
        assert timer.asked_by is not None, "expressions are matched for a client"
        regex.refresh(context, group, timer.asked_by)
        return
    member = group.members.get(timer.member_id)
    if member is None:
        return
    match timer.kind:
        case GroupTimerKind.SESSION:
            remove_members(context, group, [member], "session expired")
        case GroupTimerKind.REBALANCE if sessions.has_to_revoke(member):
            remove_members(context, group, [member], "did not revoke its partitions in time")
        case GroupTimerKind.JOIN:
            _await_again(context, timer, member)
            remove_members(context, group, [member], "did not rejoin in time")
        case GroupTimerKind.SYNC:
            _await_again(context, timer, member)
            remove_members(context, group, [member], "did not sync in time")
        case _:
            pass


def _await_again(context: GroupContext, timer: GroupTimer, member: ConsumerGroupMember) -> None:
    """If the member cannot be removed now."""
    timeout_ms = member.rebalance_timeout_ms
    context.on_append_failure(lambda later: later.start_timer(timer, timeout_ms))


HANDLERS: Final = GroupHandlers(
    group_type=ConsumerGroup,
    operations=MappingProxyType(
        {
            ConsumerGroupHeartbeatRequest: heartbeat.heartbeat,
            ConsumerGroupDescribeRequest: describe.describe_groups,
            regex.TopicsMatched: regex.take_matches,
        }
    ),
    record_keys=replay.KEYS,
    replay=replay.replay,
    resume=resume,
    expire=expire,
)
