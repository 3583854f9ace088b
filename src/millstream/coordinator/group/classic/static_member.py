"""A static member comes back without knowing its member id: the process behind its instance id was restarted (KIP-345).

It takes its own old place under a new id, and whoever still uses the old one is fenced. If nothing else changes in a
stable group, no rebalance is needed: that is what static membership is for.
"""

from __future__ import annotations

from typing import Final

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.member import Member, Terms
from millstream.coordinator.group.classic.rebalance import (
    generation_response,
    join_error,
    maybe_complete_join,
    prepare_rebalance,
)
from millstream.coordinator.group.classic.records import group_metadata_record
from millstream.coordinator.group.classic.state import GroupState
from millstream.coordinator.group.context import OperationContext
from millstream.coordinator.result import Caller
from millstream.errors import FencedInstanceId
from millstream.protocol.generated.join_group import JoinGroupResponse

_FIRST_VERSION_THAT_CAN_SKIP_ASSIGNMENT: Final = 9


def replace_static_member(
    group: ClassicGroup,
    member: Member,
    terms: Terms,
    caller: Caller,
    context: OperationContext,
    *,
    new_member_id: str,
) -> None:
    old_member_id, old_leader = member.member_id, group.leader
    _fence(group, member, context)
    group.rename_static(member, new_member_id)
    group.update(member, terms)
    context.end_session(group, old_member_id)
    context.restart_session(group, member)
    if group.state is GroupState.STABLE and group.select_protocol() == group.protocol:
        _store_new_id(group, member, old_member_id, context)
        response = _generation_as_it_was(group, member, old_leader or "", caller.api_version)
        context.result.reply(caller.token, response)
        return
    group.wait_for_join(member, caller.token)
    if group.state is GroupState.PREPARING_REBALANCE:
        maybe_complete_join(group, context)
    else:
        # In CompletingRebalance the leader may be assigning partitions to the old id, which would leave the new one without.
        prepare_rebalance(group, context, f"static member {member.group_instance_id} was restarted")


def _fence(group: ClassicGroup, member: Member, context: OperationContext) -> None:
    """Requests of the old process that still wait."""
    joining = group.take_joining(member)
    if joining is not None:
        context.result.reply(joining, join_error(member.member_id, FencedInstanceId()))
    if member.syncing is not None:
        context.result.fail(member.syncing, FencedInstanceId())
        member.syncing = None


def _store_new_id(
    group: ClassicGroup, member: Member, old_member_id: str, context: OperationContext
) -> None:
    """The assignment moves to the new id; nobody else notices."""
    assignments = dict(group.assignments)
    assignments[member.member_id] = assignments.pop(old_member_id, b"")
    context.result.records.append(group_metadata_record(group, assignments))


def _generation_as_it_was(
    group: ClassicGroup, member: Member, old_leader: str, version: int
) -> JoinGroupResponse:
    """A restarted leader must not compute a new assignment, which would not be distributed.

    From version 9 on it can be told so. Before, it is kept from noticing that it leads: it is shown its old member id.
    """
    is_leader = group.leader == member.member_id
    if version >= _FIRST_VERSION_THAT_CAN_SKIP_ASSIGNMENT:
        response = generation_response(group, member.member_id, with_members=is_leader)
        response.skip_assignment = is_leader
    else:
        response = generation_response(group, member.member_id, with_members=False)
        response.leader = old_leader
    return response
