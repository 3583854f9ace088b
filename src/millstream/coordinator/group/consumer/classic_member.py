"""Members of a consumer group that speak the classic protocol: JoinGroup, SyncGroup, Heartbeat and
LeaveGroup mean the same steps.

Joining is a heartbeat that brings a subscription, and a new generation is a new member epoch. The member that
has to take a step is told REBALANCE_IN_PROGRESS, joins again, and fetches what it owns with SyncGroup; no
such member leads or assigns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millstream.coordinator.group.classic.member import CONSUMER_PROTOCOL_TYPE
from millstream.coordinator.group.classic.responses import join_error
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
    ClassicMemberMetadata,
    ConsumerGroupMember,
    ConsumerGroupMemberState,
)
from millstream.coordinator.group.consumer.migration import downgrade, may_downgrade
from millstream.coordinator.group.consumer.removal import remove_members
from millstream.coordinator.group.consumer.update import (
    change_subscription,
    check_is_not_fenced,
    reconcile_member,
    replace_static_member,
    update_epoch,
    update_member,
)
from millstream.coordinator.group.context import GroupContext
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
from millstream.protocol.generated.consumer_group_heartbeat import TopicPartitions
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


def join(context: GroupContext, group: ConsumerGroup, request: JoinGroupRequest) -> None:
    """Lets a member of the classic protocol join. Raises what the request is refused with."""
    _check_may_speak_classic(context, group, request)
    member_id = request.member_id or new_member_id(context)
    check_has_room(context, group, member_id)
    is_dynamic = request.group_instance_id is None
    if (
        is_dynamic
        and not request.member_id
        and context.caller.api_version >= _FIRST_VERSION_THAT_LEARNS_ITS_ID
    ):
        context.reply(join_error(member_id, MemberIdRequired()))
        return
    subscription = _subscription(request)
    holder = group.static_member(request.group_instance_id)
    member = _member(context, group, holder, member_id, request)
    wanted = _as_asked(member, request, subscription, context.caller)
    owned = owned_by(subscription, context.image.topics)
    if holder is not None and may_downgrade(context, group.members_with(wanted)):
        updated = _join_last(context, group, member, wanted, owned)
    else:
        updated = update_member(context, group, member, wanted, owned)
        sessions.restart_session(context, group, updated)
        sessions.await_sync(context, group, updated)
    context.reply(_joined(updated))


def _check_may_speak_classic(
    context: GroupContext, group: ConsumerGroup, request: JoinGroupRequest
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
    context: GroupContext,
    group: ConsumerGroup,
    holder: ConsumerGroupMember | None,
    member_id: str,
    request: JoinGroupRequest,
) -> ConsumerGroupMember:
    """`holder`: who has the place of the instance id."""
    if request.group_instance_id is None:
        return group.members.get(member_id) or ConsumerGroupMember(member_id)
    if not request.member_id:
        if holder is None:
            return ConsumerGroupMember(member_id)
        return replace_static_member(context, group, holder, member_id)
    if holder is None:
        raise UnknownMemberId(f"Instance id {request.group_instance_id} is unknown.")
    check_is_not_fenced(holder, member_id)
    return holder


def _as_asked(
    member: ConsumerGroupMember,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
    caller: Caller,
) -> ConsumerGroupMember:
    return replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topic_names=frozenset(subscription.topics),
        topic_regex="",
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=ClassicMemberMetadata(
            request.session_timeout_ms,
            tuple((each.name, bytes(each.metadata)) for each in request.protocols),
        ),
    )


def _join_last(
    context: GroupContext,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    wanted: ConsumerGroupMember,
    owned: Sequence[TopicPartitions],
) -> ConsumerGroupMember:
    """With it the last member that spoke the consumer protocol is replaced, and the group becomes classic."""
    change = change_subscription(context, group, member, wanted)
    update_epoch(context, group, wanted, must_change=change.is_any)
    if not change.is_any:
        target = (group.assignment_epoch, group.target_of(wanted))
        wanted = reconcile_member(context, group, wanted, target, owned, changed=False)
    downgrade(context, group, group.members_with(wanted), must_rebalance=change.is_any)
    return wanted


def _joined(member: ConsumerGroupMember) -> JoinGroupResponse:
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.member_epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=_classic_metadata(member).protocols[0][0],
    )


# SyncGroup, Heartbeat


def sync(context: GroupContext, group: ConsumerGroup, request: SyncGroupRequest) -> None:
    """Gives a member of the classic protocol its assignment. Raises what the request is refused with."""
    member = _known(group, request.member_id, request.group_instance_id, request.generation_id)
    name, metadata = _classic_metadata(member).protocols[0]
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE):
        raise InconsistentGroupProtocol
    if request.protocol_name not in (None, name):
        raise InconsistentGroupProtocol
    has_rejoined = member.state is ConsumerGroupMemberState.UNREVOKED_PARTITIONS
    if group.assignment_epoch > member.member_epoch and not has_rejoined:
        sessions.await_join(context, group, member)
        context.fail(RebalanceInProgress())
        return
    sessions.stop_awaiting_sync(context, group, member)
    sessions.restart_session(context, group, member)
    response = SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=write_assignment(member.assigned, context.image.topics, metadata),
    )
    context.reply(response)


def heartbeat(context: GroupContext, group: ConsumerGroup, request: HeartbeatRequest) -> None:
    """Answers a heartbeat of the classic protocol and prolongs the session.

    Raises what the request is refused with. RebalanceInProgress is a refusal that keeps the session alive.
    """
    member = _known(group, request.member_id, request.group_instance_id, request.generation_id)
    sessions.restart_session(context, group, member)
    if _has_to_rejoin(group, member):
        sessions.await_join(context, group, member)
        context.fail(RebalanceInProgress())
    else:
        context.reply(HeartbeatResponse())


def _has_to_rejoin(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """There is a newer assignment, partitions are to be revoked, or those that it waits for are free now."""
    match member.state:
        case ConsumerGroupMemberState.UNREVOKED_PARTITIONS:
            return True
        case ConsumerGroupMemberState.UNRELEASED_PARTITIONS if not group.waits_for_others(member):
            return True
        case _:
            return member.member_epoch < group.assignment_epoch


def _known(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> ConsumerGroupMember:
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


def _classic_metadata(member: ConsumerGroupMember) -> ClassicMemberMetadata:
    assert member.classic is not None, "a member that joined with JoinGroup has said what it speaks"
    return member.classic


# LeaveGroup


def leave(context: GroupContext, group: ConsumerGroup, request: LeaveGroupRequest) -> None:
    """Removes members. Also members of the consumer protocol can be removed like this, by an administrator.

    Each has its own error.
    """
    leaving: dict[str, ConsumerGroupMember] = {}
    answers = [_leaving(group, identity, leaving) for identity in request.members]
    remove_members(context, group, leaving.values(), "left")
    context.reply(LeaveGroupResponse(members=answers))


def _leaving(
    group: ConsumerGroup, identity: MemberIdentity, leaving: dict[str, ConsumerGroupMember]
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


def _identified(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerGroupMember:
    """By instance id alone is enough for an administrator. Raises UnknownMemberId, FencedInstanceId."""
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    holder = group.static_member(identity.group_instance_id)
    if holder is None:
        raise UnknownMemberId
    if identity.member_id:
        check_is_not_fenced(holder, identity.member_id)
    return holder
