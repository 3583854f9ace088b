"""A static member comes back without knowing its member id: the process behind its instance id was restarted (KIP-345).

It takes its own old place under a new id, and a process that still uses the old one is fenced. If nothing else changes
in a stable group, no rebalance is needed: that is what static membership is for.
"""

from __future__ import annotations

from typing import Final

from millstream.coordinator.group.classic import sessions
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.member import ClassicGroupMember, JoinSettings
from millstream.coordinator.group.classic.rebalance import (
    maybe_complete_join,
    prepare_rebalance,
    store,
)
from millstream.coordinator.group.classic.responses import generation_response, join_error
from millstream.coordinator.group.context import GroupContext
from millstream.errors import FencedInstanceId
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.join_group import JoinGroupResponse

_FIRST_VERSION_THAT_CAN_SKIP_ASSIGNMENT: Final = 9


def replace_static_member(
    context: GroupContext,
    group: ClassicGroup,
    member: ClassicGroupMember,
    settings: JoinSettings,
    *,
    new_member_id: str,
) -> None:
    old_member_id, old_leader = member.member_id, group.leader
    _fence(context, group, member)
    group.rename_static(member, new_member_id)
    group.update(member, settings)
    sessions.end_session(context, group, old_member_id)
    sessions.restart_session(context, group, member)
    if group.state is GroupState.STABLE and group.select_protocol() == group.protocol:
        _store_new_id(context, group, member, old_member_id)
        response = _generation_as_it_was(
            group, member, old_leader or "", context.caller.api_version
        )
        context.reply(response)
        return
    group.wait_for_join(member, context.caller.token)
    if group.state is GroupState.PREPARING_REBALANCE:
        maybe_complete_join(context, group)
    else:
        # In CompletingRebalance the leader may be assigning partitions to the old id, which would leave the new one without.
        prepare_rebalance(context, group, f"static member {member.group_instance_id} was restarted")


def _fence(context: GroupContext, group: ClassicGroup, member: ClassicGroupMember) -> None:
    """Requests of the old process that still wait."""
    joining = group.take_joining(member)
    if joining is not None:
        context.result.reply(joining, join_error(member.member_id, FencedInstanceId()))
    if member.syncing is not None:
        context.result.fail(member.syncing, FencedInstanceId())
        member.syncing = None


def _store_new_id(
    context: GroupContext, group: ClassicGroup, member: ClassicGroupMember, old_member_id: str
) -> None:
    """The assignment moves to the new id; other members do not notice."""
    assignments = dict(group.assignments)
    assignments[member.member_id] = assignments.pop(old_member_id, b"")
    store(context, group, assignments)


def _generation_as_it_was(
    group: ClassicGroup, member: ClassicGroupMember, old_leader: str, version: int
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
