"""Heartbeat, and what happens when it stays away: the session of a member of a classic group."""

from __future__ import annotations

from millstream.coordinator.group.classic import rebalance
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.state import GroupState
from millstream.coordinator.group.consumer import classic_member
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.context import GroupTimer, OperationContext, TimerKind
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.result import Caller
from millstream.errors import (
    IllegalGeneration,
    InvalidGroupId,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(
    groups: Groups, request: HeartbeatRequest, caller: Caller, context: OperationContext
) -> None:
    """Raises what the request is refused with. RebalanceInProgress is a refusal that keeps the session alive."""
    if not request.group_id:
        raise InvalidGroupId
    match groups.find(request.group_id):
        case ClassicGroup() as group:
            _heartbeat(group, request, caller, context)
        case ConsumerGroup() as group:
            classic_member.heartbeat(group, request, caller, context)
        case _:
            raise UnknownMemberId


def _heartbeat(
    group: ClassicGroup, request: HeartbeatRequest, caller: Caller, context: OperationContext
) -> None:
    member = group.member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGeneration
    context.restart_session(group, member)
    if group.state is GroupState.PREPARING_REBALANCE:
        context.result.fail(caller.token, RebalanceInProgress())
    else:
        context.result.reply(caller.token, HeartbeatResponse())


def expire(group: ClassicGroup, timer: GroupTimer, context: OperationContext) -> None:
    """One of the timers of a classic group has fired."""
    match timer.kind:
        case TimerKind.SESSION:
            _expire_session(group, timer.member_id, context)
        case TimerKind.JOIN:
            rebalance.expire_join(group, context)
        case TimerKind.SYNC:
            rebalance.expire_sync(group, context)
        case TimerKind.DOWNGRADE:
            rebalance.prepare_rebalance(group, context, "it was a consumer group until now")
        case _:
            pass


def _expire_session(group: ClassicGroup, member_id: str, context: OperationContext) -> None:
    """Of a member, or of an id handed out to a member that never joined."""
    member = group.members.get(member_id)
    if member_id in group.pending_members:
        group.pending_members.remove(member_id)
        rebalance.maybe_complete_join(group, context)
    elif member is not None and not member.outlives_its_session:
        rebalance.remove_member(group, member, context)
        rebalance.rebalance_or_complete_join(group, context, f"session of {member_id} expired")
