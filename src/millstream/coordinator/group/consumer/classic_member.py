"""Members of a consumer group that speak the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup mean the same steps.

Joining is a heartbeat that brings a subscription, and a new generation is a new member epoch. The member that has to take a step is told
REBALANCE_IN_PROGRESS, joins again, and fetches what it owns with SyncGroup; no such member leads or assigns.
"""

from __future__ import annotations

from dataclasses import replace

from millstream.coordinator.group.classic.rebalance import join_error
from millstream.coordinator.group.classic.subscription import CONSUMER_PROTOCOL_TYPE
from millstream.coordinator.group.config import MigrationPolicy
from millstream.coordinator.group.consumer import sessions
from millstream.coordinator.group.consumer.embedded_protocol import (
    owned_by,
    read_subscription,
    write_assignment,
)
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.heartbeat import check_has_room, new_member_id
from millstream.coordinator.group.consumer.member import (
    ClassicTerms,
    ConsumerMember,
    MemberState,
)
from millstream.coordinator.group.consumer.migration import downgrade, may_downgrade
from millstream.coordinator.group.consumer.removal import remove_members
from millstream.coordinator.group.consumer.static_member import (
    check_is_not_fenced,
    replace_static_member,
)
from millstream.coordinator.group.consumer.update import (
    Report,
    change_subscription,
    take_step,
    update_epoch,
    update_member,
)
from millstream.coordinator.group.context import OperationContext
from millstream.coordinator.result import Caller
from millstream.errors import (
    IllegalGeneration,
    InconsistentGroupProtocol,
    KafkaError,
    MemberIdRequired,
    ProtocolError,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.generated.consumer_protocol import ConsumerProtocolSubscription
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.protocol.generated.join_group import JoinGroupRequest, JoinGroupResponse
from millstream.protocol.generated.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from millstream.protocol.generated.sync_group import SyncGroupRequest, SyncGroupResponse

_FIRST_VERSION_THAT_LEARNS_ITS_ID = 4

# JoinGroup


def join(
    group: ConsumerGroup, request: JoinGroupRequest, caller: Caller, context: OperationContext
) -> None:
    """Raises what the request is refused with."""
    _check_may_speak_classic(group, request, context)
    member_id = request.member_id or new_member_id(context)
    check_has_room(group, member_id, context)
    is_dynamic = request.group_instance_id is None
    if (
        is_dynamic
        and not request.member_id
        and caller.api_version >= _FIRST_VERSION_THAT_LEARNS_ITS_ID
    ):
        context.result.reply(caller.token, join_error(member_id, MemberIdRequired()))
        return
    subscription = _subscription(request)
    holder = group.static_member(request.group_instance_id)
    member = _member(group, holder, member_id, request, context)
    wanted = _as_asked(member, request, subscription, caller)
    owned = owned_by(subscription, context.image.topics)
    if holder is not None and may_downgrade(group.members_with(wanted), context):
        updated = _join_last(group, member, wanted, Report(owned), context)
    else:
        updated = update_member(group, member, wanted, Report(owned), context)
        sessions.restart_session(group.group_id, updated, context)
        sessions.await_sync(group.group_id, updated, context)
    context.result.reply(caller.token, _joined(updated))


def _check_may_speak_classic(
    group: ConsumerGroup, request: JoinGroupRequest, context: OperationContext
) -> None:
    """Raises InconsistentGroupProtocol."""
    if context.config.consumer.migration_policy is MigrationPolicy.DISABLED:
        raise InconsistentGroupProtocol(
            f"Cannot join the consumer group {group.group_id} with the classic protocol "
            "because the group migration is disabled."
        )
    names = {protocol.name for protocol in request.protocols}
    spoken = [m.classic.names() for m in group.members.values() if m.classic is not None]
    if request.protocol_type != CONSUMER_PROTOCOL_TYPE or not names.intersection(*spoken):
        raise InconsistentGroupProtocol(
            f"Member {request.member_id}'s protocols are not supported."
        )


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    """Of the protocol it likes best. Raises InconsistentGroupProtocol when it cannot be read."""
    try:
        return read_subscription(bytes(request.protocols[0].metadata))
    except ProtocolError as error:
        raise InconsistentGroupProtocol(f"the subscription cannot be read: {error}") from None


def _member(
    group: ConsumerGroup,
    holder: ConsumerMember | None,
    member_id: str,
    request: JoinGroupRequest,
    context: OperationContext,
) -> ConsumerMember:
    """`holder`: who has the place of the instance id."""
    if request.group_instance_id is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    if not request.member_id:
        if holder is None:
            return ConsumerMember(member_id)
        return replace_static_member(group, holder, member_id, context)
    if holder is None:
        raise UnknownMemberId(f"Instance id {request.group_instance_id} is unknown.")
    check_is_not_fenced(holder, member_id)
    return holder


def _as_asked(
    member: ConsumerMember,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
    caller: Caller,
) -> ConsumerMember:
    return replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topic_names=frozenset(subscription.topics),
        topic_regex="",
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=ClassicTerms(
            request.session_timeout_ms,
            tuple((each.name, bytes(each.metadata)) for each in request.protocols),
        ),
    )


def _join_last(
    group: ConsumerGroup,
    member: ConsumerMember,
    wanted: ConsumerMember,
    report: Report,
    context: OperationContext,
) -> ConsumerMember:
    """With it the last member that spoke the consumer protocol is replaced, and the group becomes classic."""
    change = change_subscription(group, member, wanted, context)
    update_epoch(group, wanted, context, must_change=change.is_any)
    if not change.is_any:
        goal = (group.assignment_epoch, group.target_of(wanted))
        wanted = take_step(group, wanted, goal, report, context, changed=False)
    downgrade(group, group.members_with(wanted), context, must_rebalance=change.is_any)
    return wanted


def _joined(member: ConsumerMember) -> JoinGroupResponse:
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.member_epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=_terms(member).protocols[0][0],
    )


# SyncGroup, Heartbeat


def sync(
    group: ConsumerGroup, request: SyncGroupRequest, caller: Caller, context: OperationContext
) -> None:
    """Raises what the request is refused with."""
    member = _known(group, request.member_id, request.group_instance_id, request.generation_id)
    name, metadata = _terms(member).protocols[0]
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
        raise InconsistentGroupProtocol
    if request.protocol_name not in (None, name):
        raise InconsistentGroupProtocol
    has_rejoined = member.state is MemberState.UNREVOKED_PARTITIONS
    if group.assignment_epoch > member.member_epoch and not has_rejoined:
        sessions.await_join(group.group_id, member, context)
        context.result.fail(caller.token, RebalanceInProgress())
        return
    sessions.stop_awaiting_sync(group.group_id, member, context)
    sessions.restart_session(group.group_id, member, context)
    response = SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=write_assignment(member.assigned, context.image.topics, metadata),
    )
    context.result.reply(caller.token, response)


def heartbeat(
    group: ConsumerGroup, request: HeartbeatRequest, caller: Caller, context: OperationContext
) -> None:
    """Raises what the request is refused with. RebalanceInProgress is a refusal that keeps the session alive."""
    member = _known(group, request.member_id, request.group_instance_id, request.generation_id)
    sessions.restart_session(group.group_id, member, context)
    if _has_to_rejoin(group, member):
        sessions.await_join(group.group_id, member, context)
        context.result.fail(caller.token, RebalanceInProgress())
    else:
        context.result.reply(caller.token, HeartbeatResponse())


def _has_to_rejoin(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """There is a newer assignment, partitions are to be revoked, or those that it waits for are free now."""
    match member.state:
        case MemberState.UNREVOKED_PARTITIONS:
            return True
        case MemberState.UNRELEASED_PARTITIONS if not group.waits_for_others(member):
            return True
        case _:
            return member.member_epoch < group.assignment_epoch


def _known(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> ConsumerMember:
    """Raises UnknownMemberId, FencedInstanceId, IllegalGeneration."""
    if instance_id is None:
        member = group.member(member_id)
    else:
        holder = group.static_member(instance_id)
        if holder is None:
            raise UnknownMemberId
        check_is_not_fenced(holder, member_id)
        member = holder
    if not member.is_classic:
        raise UnknownMemberId(f"Member {member_id} does not use the classic protocol.")
    if generation != member.member_epoch:
        raise IllegalGeneration
    return member


def _terms(member: ConsumerMember) -> ClassicTerms:
    assert member.classic is not None, "a member that joined with JoinGroup has said what it speaks"
    return member.classic


# LeaveGroup


def leave(
    group: ConsumerGroup, request: LeaveGroupRequest, caller: Caller, context: OperationContext
) -> None:
    """Also members of the consumer protocol can be removed like this, by an administrator. Each has its own error."""
    leaving: dict[str, ConsumerMember] = {}
    answers = [_leaving(group, identity, leaving) for identity in request.members]
    remove_members(group, leaving.values(), context, "left")
    context.result.reply(caller.token, LeaveGroupResponse(members=answers))


def _leaving(
    group: ConsumerGroup, identity: MemberIdentity, leaving: dict[str, ConsumerMember]
) -> MemberResponse:
    error_code = 0
    try:
        member = _identified(group, identity)
        leaving[member.member_id] = member
    except KafkaError as error:
        error_code = error.code
    return MemberResponse(
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        error_code=error_code,
    )


def _identified(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    """By instance id alone is enough for an administrator. Raises UnknownMemberId, FencedInstanceId."""
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    holder = group.static_member(identity.group_instance_id)
    if holder is None:
        raise UnknownMemberId
    if identity.member_id:
        check_is_not_fenced(holder, identity.member_id)
    return holder
