"""Heartbeat: a member of a classic group shows that it is alive, and learns of a rebalance."""

from __future__ import annotations

from millstream.coordinator.group.classic import sessions
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.consumer import classic_member
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import (
    IllegalGeneration,
    InvalidGroupId,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse


def heartbeat(context: GroupContext, request: HeartbeatRequest) -> CoordinatorResult:
    """Answers a heartbeat and prolongs the session.

    Raises what the request is refused with. RebalanceInProgress is a refusal that keeps the session alive.
    """
    if not request.group_id:
        raise InvalidGroupId
    match context.groups.find(request.group_id):
        case ClassicGroup() as group:
            _heartbeat(context, group, request)
        case ConsumerGroup() as group:
            classic_member.heartbeat(context, group, request)
        case _:
            raise UnknownMemberId
    return context.result


def _heartbeat(context: GroupContext, group: ClassicGroup, request: HeartbeatRequest) -> None:
    member = group.member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGeneration
    sessions.restart_session(context, group, member)
    if group.state is GroupState.PREPARING_REBALANCE:
        context.fail(RebalanceInProgress())
    else:
        context.reply(HeartbeatResponse())
