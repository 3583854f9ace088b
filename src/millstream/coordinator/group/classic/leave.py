"""LeaveGroup: members that go by their own will, or static ones that an administrator removes by instance id."""

from __future__ import annotations

from millstream.coordinator.group.classic import sessions
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.rebalance import rebalance_or_complete_join
from millstream.coordinator.group.classic.removal import remove_member
from millstream.coordinator.group.consumer import classic_member
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import InvalidGroupId, KafkaError, UnknownMemberId
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)


def leave_group(context: GroupContext, request: LeaveGroupRequest) -> CoordinatorResult:
    """Removes members. Each has its own error. Raises what the request as a whole is refused with.

    Versions before 3 name one member outside the list: the handler puts it there.
    """
    if not request.group_id:
        raise InvalidGroupId
    match context.groups.find(request.group_id):
        case ClassicGroup() as group:
            _leave_classic(context, group, request)
        case ConsumerGroup() as group:
            classic_member.leave(context, group, request)
        case _:
            _leave_classic(context, None, request)
    return context.result


def _leave_classic(
    context: GroupContext, group: ClassicGroup | None, request: LeaveGroupRequest
) -> None:
    answers = [_leave(context, group, identity) for identity in request.members]
    context.reply(LeaveGroupResponse(members=answers))
    gone = [answer for answer in answers if answer.error_code == 0]
    if group is not None and gone and group.state is not GroupState.EMPTY:
        names = ", ".join(answer.member_id or str(answer.group_instance_id) for answer in gone)
        rebalance_or_complete_join(context, group, f"{names} left")


def _leave(
    context: GroupContext, group: ClassicGroup | None, identity: MemberIdentity
) -> MemberResponse:
    error_code = 0
    try:
        if group is None:
            raise UnknownMemberId
        _remove(context, group, identity)
    except KafkaError as error:
        error_code = error.code
    return MemberResponse(
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        error_code=error_code,
    )


def _remove(context: GroupContext, group: ClassicGroup, identity: MemberIdentity) -> None:
    """Raises UnknownMemberId or FencedInstanceId."""
    member_id = identity.member_id
    if not member_id and identity.group_instance_id is not None:
        member_id = group.static_member_id(identity.group_instance_id) or ""
    if member_id in group.pending_members:
        group.expect_no_more(member_id)
        sessions.end_session(context, group, member_id)
    else:
        remove_member(context, group, group.member(member_id, identity.group_instance_id))
