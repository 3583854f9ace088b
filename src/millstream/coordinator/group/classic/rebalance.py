"""The rebalance of a classic group: gather its members, begin a generation, wait for the leader's assignment.

Owns when a rebalance begins and ends, and who is told. Everybody that waits is answered: when the generation begins, when
its assignment is known, or with an error when it will never be.
"""

from __future__ import annotations

import logging

from millstream.coordinator.group.classic.group import ClassicGroup, InitialDelay
from millstream.coordinator.group.classic.member import Member
from millstream.coordinator.group.classic.records import group_metadata_record
from millstream.coordinator.group.classic.state import GroupState, can_prepare_rebalance
from millstream.coordinator.group.context import OperationContext
from millstream.errors import KafkaError, RebalanceInProgress, UnknownMemberId
from millstream.protocol.generated.join_group import JoinGroupResponse, JoinGroupResponseMember

_LOG = logging.getLogger(__name__)


def rebalance_or_complete_join(group: ClassicGroup, context: OperationContext, reason: str) -> None:
    """The membership has changed: begin a rebalance, or see whether the running one can go on."""
    if can_prepare_rebalance(group.state):
        prepare_rebalance(group, context, reason)
    else:
        maybe_complete_join(group, context)


def prepare_rebalance(group: ClassicGroup, context: OperationContext, reason: str) -> None:
    _LOG.info("group %s leaves generation %d: %s", group.group_id, group.generation, reason)
    is_first = group.state is GroupState.EMPTY
    fail_waiting_syncs(group, context, RebalanceInProgress())
    context.cancel_sync_timer(group)
    context.transition(group, GroupState.PREPARING_REBALANCE)
    if is_first:
        _begin_initial_delay(group, context)
    elif group.everyone_joined:
        complete_join(group, context)
    else:
        context.start_join_timer(group, group.rebalance_timeout_ms)


def maybe_complete_join(group: ClassicGroup, context: OperationContext) -> None:
    """Goes on when everyone is here. A new group waits its delay out all the same: others may be about to come."""
    is_waiting = group.state is GroupState.PREPARING_REBALANCE and group.initial_delay is None
    if is_waiting and group.everyone_joined:
        complete_join(group, context)


def expire_join(group: ClassicGroup, context: OperationContext) -> None:
    """The join timer has fired."""
    if group.state is not GroupState.PREPARING_REBALANCE:
        return
    delay = group.initial_delay
    if delay is not None and group.newcomer_during_delay and delay.remaining_ms > 0:
        group.newcomer_during_delay = False
        next_ms = min(context.config.group_initial_rebalance_delay_ms, delay.remaining_ms)
        group.initial_delay = InitialDelay(next_ms, max(delay.remaining_ms - delay.delay_ms, 0))
        context.start_join_timer(group, next_ms)
    else:
        complete_join(group, context)


def complete_join(group: ClassicGroup, context: OperationContext) -> None:
    """Begins the next generation with those who have joined. Static members stay although they have not."""
    for absent in [m for m in group.members_not_joined() if not m.is_static]:
        remove_member(group, absent, context)
    context.cancel_join_timer(group)
    if group.members and not group.elect_joined_leader():
        _LOG.info("group %s: only absent static members are left, waiting on", group.group_id)
        context.start_join_timer(group, group.rebalance_timeout_ms)
        return
    group.begin_generation(context.now.wall_ms)
    if group.state is GroupState.EMPTY:
        _LOG.info("group %s: generation %d is empty", group.group_id, group.generation)
        context.result.records.append(group_metadata_record(group, {}))
        return
    _LOG.info(
        "group %s: generation %d begins, members: %d",
        group.group_id,
        group.generation,
        len(group.members),
    )
    for member in group.members.values():
        _tell_of_generation(group, member, context)
    context.start_sync_timer(group)


def expire_sync(group: ClassicGroup, context: OperationContext) -> None:
    """The sync timer has fired: who has not asked for an assignment by now is gone."""
    if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return
    silent = sorted(group.pending_sync)
    if not silent:
        return
    for member_id in silent:
        remove_member(group, group.members[member_id], context)
    prepare_rebalance(group, context, f"no SyncGroup from {', '.join(silent)}")


def remove_member(group: ClassicGroup, member: Member, context: OperationContext) -> None:
    """Answers whatever the member waits for with UNKNOWN_MEMBER_ID, so that a process that is still there joins anew."""
    joining = group.take_joining(member)
    if joining is not None:
        context.result.reply(joining, join_error("", UnknownMemberId()))
    if member.syncing is not None:
        context.result.fail(member.syncing, UnknownMemberId())
        member.syncing = None
    context.end_session(group, member.member_id)
    group.remove(member.member_id)


def fail_waiting_syncs(group: ClassicGroup, context: OperationContext, error: KafkaError) -> None:
    for member in group.members.values():
        if member.syncing is not None:
            context.result.fail(member.syncing, error)
            member.syncing = None
            context.restart_session(group, member)


def generation_response(
    group: ClassicGroup, member_id: str, *, with_members: bool
) -> JoinGroupResponse:
    """The current generation as one member is told of it. Only its leader needs to know the members."""
    return JoinGroupResponse(
        member_id=member_id,
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader or "",
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.terms.metadata(group.protocol),
            )
            for member in group.members.values()
        ]
        if with_members
        else [],
    )


def join_error(member_id: str, error: KafkaError) -> JoinGroupResponse:
    """An answer to JoinGroup that says no. `member_id`: the one to use from now on, or empty."""
    return JoinGroupResponse(error_code=error.code, member_id=member_id, protocol_name=None)


def _begin_initial_delay(group: ClassicGroup, context: OperationContext) -> None:
    delay_ms = context.config.group_initial_rebalance_delay_ms
    remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
    group.initial_delay = InitialDelay(delay_ms, remaining_ms)
    group.newcomer_during_delay = False
    context.start_join_timer(group, delay_ms)


def _tell_of_generation(group: ClassicGroup, member: Member, context: OperationContext) -> None:
    token = group.take_joining(member)
    if token is not None:
        with_members = group.leader == member.member_id
        response = generation_response(group, member.member_id, with_members=with_members)
        context.result.reply(token, response)
    context.restart_session(group, member)
    member.is_new = False
    group.pending_sync.add(member.member_id)
