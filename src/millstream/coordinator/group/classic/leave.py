"""LeaveGroup: members that go by their own will, or static ones that an administrator removes by instance id."""

from __future__ import annotations

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.rebalance import rebalance_or_complete_join, remove_member
from millstream.coordinator.group.classic.state import GroupState
from millstream.coordinator.group.consumer import classic_member
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.context import OperationContext
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.result import Caller
from millstream.errors import InvalidGroupId, KafkaError, UnknownMemberId
from millstream.protocol.generated.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)


def leave_group(
    groups: Groups, request: LeaveGroupRequest, caller: Caller, context: OperationContext
) -> None:
    """Each member has its own error. Raises what the request as a whole is refused with.

    Versions before 3 name one member outside the list: the handler puts it there.
    """
    if not request.group_id:
        raise InvalidGroupId
    match groups.find(request.group_id):
        case ClassicGroup() as group:
            _leave_classic(group, request, caller, context)
        case ConsumerGroup() as group:
            classic_member.leave(group, request, caller, context)
        case _:
            _leave_classic(None, request, caller, context)


def _leave_classic(
    group: ClassicGroup | None,
    request: LeaveGroupRequest,
    caller: Caller,
    context: OperationContext,
) -> None:
    answers = [_leave(group, identity, context) for identity in request.members]
    context.result.reply(caller.token, LeaveGroupResponse(members=answers))
    gone = [answer for answer in answers if answer.error_code == 0]
    if group is not None and gone and group.state is not GroupState.EMPTY:
        names = ", ".join(answer.member_id or str(answer.group_instance_id) for answer in gone)
        rebalance_or_complete_join(group, context, f"{names} left")


def _leave(
    group: ClassicGroup | None, identity: MemberIdentity, context: OperationContext
) -> MemberResponse:
    error_code = 0
    try:
        if group is None:
            raise UnknownMemberId
        _remove(group, identity, context)
    except KafkaError as error:
        error_code = error.code
    return MemberResponse(
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        error_code=error_code,
    )


def _remove(group: ClassicGroup, identity: MemberIdentity, context: OperationContext) -> None:
    """Raises UnknownMemberId or FencedInstanceId."""
    member_id = identity.member_id
    if not member_id and identity.group_instance_id is not None:
        member_id = group.static_member_id(identity.group_instance_id) or ""
    if member_id in group.pending_members:
        group.pending_members.remove(member_id)
        context.end_session(group, member_id)
    else:
        remove_member(group, group.member(member_id, identity.group_instance_id), context)
