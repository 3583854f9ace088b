"""JoinGroup: who may join a classic group, under which member id, and what joining sets off.

Owns admission. A dynamic member learns its id first and joins with it (KIP-394, version 4 on); a static
member is known by its instance id and takes its own old place (KIP-345). Waiting for the generation to begin
is the business of `rebalance`.
"""

from __future__ import annotations

from typing import Final

from millstream.coordinator.group.classic import sessions
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.member import (
    ClassicGroupMember,
    JoinSettings,
    new_member_id,
)
from millstream.coordinator.group.classic.rebalance import (
    maybe_complete_join,
    prepare_rebalance,
    rebalance_or_complete_join,
)
from millstream.coordinator.group.classic.records import group_metadata_record
from millstream.coordinator.group.classic.removal import remove_member
from millstream.coordinator.group.classic.responses import generation_response, join_error
from millstream.coordinator.group.classic.static_member import replace_static_member
from millstream.coordinator.group.consumer import classic_member
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.group import Group, GroupKind
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import (
    CoordinatorNotAvailable,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidGroupId,
    InvalidSessionTimeout,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.join_group import JoinGroupRequest

UNKNOWN_MEMBER_ID: Final = ""
_FIRST_VERSION_THAT_LEARNS_ITS_ID: Final = 4
_KINDS_THAT_GIVE_WAY: Final = (GroupKind.CONSUMER, GroupKind.STREAMS)
"""While they have no members."""


def join_group(context: GroupContext, request: JoinGroupRequest) -> CoordinatorResult:
    """Lets a member join.

    Raises what the request as a whole is refused with; the response then carries the member id of the request.
    """
    check_request(context, request)
    group = context.groups.find(request.group_id)
    if isinstance(group, ClassicGroup):
        _join(context, group, request)
    elif isinstance(group, ConsumerGroup) and group.members:
        classic_member.join(context, group, request)
    elif group is None or (group.is_unused and group.kind in _KINDS_THAT_GIVE_WAY):
        _join_new_group(context, group, request)
    else:
        context.reply(join_error(UNKNOWN_MEMBER_ID, InconsistentGroupProtocol()))
    return context.result


def _join_new_group(
    context: GroupContext, replaced: Group | None, request: JoinGroupRequest
) -> None:
    """The group exists from here on, also in the log; its members are stored with their first assignment."""
    if request.member_id != UNKNOWN_MEMBER_ID:
        raise UnknownMemberId
    group = ClassicGroup(request.group_id, context.now.wall_ms)
    _join(context, group, request)
    context.groups.put(group)
    context.on_append_failure(lambda later: _abandon_group(later, group, replaced))
    if replaced is not None:
        context.result.records += replaced.tombstones()
    empty = ClassicGroup(group.group_id, group.state_timestamp_ms)
    context.result.records.append(group_metadata_record(empty, {}))


def _abandon_group(context: GroupContext, group: ClassicGroup, replaced: Group | None) -> None:
    """The new group could not be stored, so it does not exist. Members that wait in it are to ask again."""
    sessions.cancel_join_timer(context, group)
    for member_id in (*group.members, *group.pending_members):
        sessions.end_session(context, group, member_id)
    for member in group.members.values():
        token = group.take_joining(member)
        if token is not None:
            context.result.reply(token, join_error(UNKNOWN_MEMBER_ID, CoordinatorNotAvailable()))
    context.groups.remove_as(ClassicGroup, group.group_id)
    if replaced is not None:
        context.groups.put(replaced)


def _join(context: GroupContext, group: ClassicGroup, request: JoinGroupRequest) -> None:
    if not _has_room(group, request.member_id, context.config.classic.max_size):
        _turn_away(context, group, request.member_id)
        return
    names = [protocol.name for protocol in request.protocols]
    if not group.supports(request.protocol_type, names):
        raise InconsistentGroupProtocol
    if request.member_id == UNKNOWN_MEMBER_ID:
        prefix = request.group_instance_id or context.caller.client_id
        member_id = new_member_id(context.random, prefix)
        _join_as_new(context, group, member_id, request)
    else:
        _join_as_known(context, group, request)


def check_request(context: GroupContext, request: JoinGroupRequest) -> None:
    if not request.group_id:
        raise InvalidGroupId
    lowest_ms = context.config.classic.min_session_timeout_ms
    highest_ms = context.config.classic.max_session_timeout_ms
    if not lowest_ms <= request.session_timeout_ms <= highest_ms:
        raise InvalidSessionTimeout(
            f"session.timeout.ms is {request.session_timeout_ms}; "
            f"this broker takes {lowest_ms} to {highest_ms}"
        )


def _has_room(group: ClassicGroup, member_id: str, size_max: int) -> bool:
    """Members are never turned away, but in a rebalance only who has rejoined counts: the rest may be gone."""
    member = group.members.get(member_id)
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            return (member is not None and member.joining is not None) or (
                group.joining_count < size_max
            )
        case GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
            return member is not None or len(group.members) < size_max
        case _:
            return True


def _turn_away(context: GroupContext, group: ClassicGroup, member_id: str) -> None:
    """The group is full. A member of the last generation that comes too late is one no more."""
    member = group.members.get(member_id)
    if member is not None:
        remove_member(context, group, member)
    group.expect_no_more(member_id)
    refusal = GroupMaxSizeReached(f"group {group.group_id} is full")
    context.reply(join_error(UNKNOWN_MEMBER_ID, refusal))
    maybe_complete_join(context, group)


def _join_as_new(
    context: GroupContext, group: ClassicGroup, member_id: str, request: JoinGroupRequest
) -> None:
    instance_id = request.group_instance_id
    if instance_id is not None:
        old_member_id = group.static_member_id(instance_id)
        if old_member_id is None:
            _admit(context, group, member_id, request)
        else:
            member = group.members[old_member_id]
            replace_static_member(
                context, group, member, settings_of(request), new_member_id=member_id
            )
    elif context.caller.api_version >= _FIRST_VERSION_THAT_LEARNS_ITS_ID:
        group.expect(member_id)
        sessions.start_session(context, group, member_id, request.session_timeout_ms)
        context.reply(join_error(member_id, MemberIdRequired()))
    else:
        _admit(context, group, member_id, request)


def _join_as_known(context: GroupContext, group: ClassicGroup, request: JoinGroupRequest) -> None:
    if request.member_id in group.pending_members:
        if request.group_instance_id is not None:
            raise UnknownMemberId("this member id was given to a member without group.instance.id")
        _admit(context, group, request.member_id, request)
        return
    member = group.member(request.member_id, request.group_instance_id)
    settings = settings_of(request)
    if _needs_rebalance(group, member, settings):
        _rejoin(context, group, member, settings)
        return
    is_leader = group.leader == member.member_id
    with_members = is_leader and group.state is GroupState.COMPLETING_REBALANCE
    response = generation_response(group, member.member_id, with_members=with_members)
    context.reply(response)


def _needs_rebalance(
    group: ClassicGroup, member: ClassicGroupMember, settings: JoinSettings
) -> bool:
    """Unchanged members are told of the current generation: they may only have missed the answer.

    The leader of a stable group always gets a rebalance: that is how it reacts to changes only it sees, such as
    new partitions.
    """
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            return True
        case GroupState.STABLE if group.leader == member.member_id:
            return True
        case _:
            return member.settings.protocols != settings.protocols


def _admit(
    context: GroupContext, group: ClassicGroup, member_id: str, request: JoinGroupRequest
) -> None:
    if group.initial_delay is not None:
        group.newcomer_during_delay = True
    member = ClassicGroupMember(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=context.caller.client_id,
        client_host=context.caller.client_host,
        settings=settings_of(request),
        is_new=True,
    )
    group.add(member, request.protocol_type)
    group.wait_for_join(member, context.caller.token)
    # It cannot send heartbeats before it knows its id, and a closed connection is not noticed while the request waits.
    sessions.start_session(
        context, group, member_id, context.config.classic.new_member_join_timeout_ms
    )
    rebalance_or_complete_join(context, group, f"member {member_id} joins")


def _rejoin(
    context: GroupContext, group: ClassicGroup, member: ClassicGroupMember, settings: JoinSettings
) -> None:
    group.update(member, settings)
    superseded = group.wait_for_join(member, context.caller.token)
    if superseded is not None:  # the client has given up on it; its connection may still be there
        context.result.fail(superseded, RebalanceInProgress())
    if group.state is GroupState.PREPARING_REBALANCE:
        maybe_complete_join(context, group)
    else:
        prepare_rebalance(context, group, f"member {member.member_id} rejoins")


def settings_of(request: JoinGroupRequest) -> JoinSettings:
    return JoinSettings(
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=tuple((p.name, bytes(p.metadata)) for p in request.protocols),
    )
