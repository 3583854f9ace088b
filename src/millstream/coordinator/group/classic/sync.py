"""SyncGroup: the leader brings the assignment of its generation, every member is given its own.

Owns the one write of a rebalance. The assignment is in force once the record that holds it has been replayed; no member
hears of it before it is committed.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.coordinator.group.classic import sessions
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.rebalance import store
from millstream.coordinator.group.consumer import classic_member
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import (
    IllegalGeneration,
    InconsistentGroupProtocol,
    InvalidGroupId,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse


def sync_group(context: GroupContext, request: SyncGroupRequest) -> CoordinatorResult:
    """Gives a member its assignment, at once or when the leader has sent it.

    Raises what the request is refused with.
    """
    if not request.group_id:
        raise InvalidGroupId
    match context.groups.find(request.group_id):
        case ClassicGroup() as group:
            _sync(context, group, request)
        case ConsumerGroup() as group:
            classic_member.sync(context, group, request)
        case _:
            raise UnknownMemberId
    return context.result


def _sync(context: GroupContext, group: ClassicGroup, request: SyncGroupRequest) -> None:
    check_may_sync(group, request)
    group.pending_sync.discard(request.member_id)
    if not group.pending_sync:
        sessions.cancel_sync_timer(context, group)
    if group.state is GroupState.STABLE:
        assignment = group.assignments.get(request.member_id, b"")
        sessions.restart_session(context, group, group.members[request.member_id])
        context.reply(_response(group, assignment))
    else:
        _wait_for_assignment(context, group, request)


def check_may_sync(group: ClassicGroup, request: SyncGroupRequest) -> None:
    group.member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGeneration
    if _differs(request.protocol_type, group.protocol_type) or _differs(
        request.protocol_name, group.protocol
    ):
        raise InconsistentGroupProtocol
    if group.state is GroupState.PREPARING_REBALANCE:
        raise RebalanceInProgress


def _differs(said: str | None, actual: str | None) -> bool:
    """Versions before 5 say nothing."""
    return said is not None and said != actual


def _wait_for_assignment(
    context: GroupContext, group: ClassicGroup, request: SyncGroupRequest
) -> None:
    member = group.members[request.member_id]
    if (
        member.syncing is not None
    ):  # the client has given up on it; its connection may still be there
        context.result.fail(member.syncing, RebalanceInProgress())
    member.syncing = context.caller.token
    if group.leader == member.member_id:
        _assign(context, group, {a.member_id: bytes(a.assignment) for a in request.assignments})


def _assign(context: GroupContext, group: ClassicGroup, assignments: Mapping[str, bytes]) -> None:
    store(context, group, assignments)
    for member in group.members.values():
        if member.syncing is not None:
            assignment = assignments.get(member.member_id, b"")
            context.result.reply(member.syncing, _response(group, assignment))
            member.syncing = None
            sessions.restart_session(context, group, member)


def _response(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment
    )
