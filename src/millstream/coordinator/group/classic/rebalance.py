"""The rebalance of a classic group: gather its members, begin a generation, wait for the leader's assignment.

Owns when a rebalance begins and ends, and who is told. Every request that waits is answered: when the generation
begins, when its assignment is known, or with an error when it will never be.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from millstream.coordinator.group.classic import sessions
from millstream.coordinator.group.classic.group import (
    ClassicGroup,
    InitialDelay,
    can_prepare_rebalance,
)
from millstream.coordinator.group.classic.member import ClassicGroupMember
from millstream.coordinator.group.classic.records import group_metadata_record
from millstream.coordinator.group.classic.removal import remove_member
from millstream.coordinator.group.classic.responses import generation_response
from millstream.coordinator.group.context import GroupContext
from millstream.errors import KafkaError, RebalanceInProgress
from millstream.protocol.enums import GroupState

_LOGGER = logging.getLogger(__name__)


def rebalance_or_complete_join(context: GroupContext, group: ClassicGroup, reason: str) -> None:
    """The membership has changed: begin a rebalance, or see whether the running one can go on."""
    if can_prepare_rebalance(group.state):
        prepare_rebalance(context, group, reason)
    else:
        maybe_complete_join(context, group)


def prepare_rebalance(context: GroupContext, group: ClassicGroup, reason: str) -> None:
    _LOGGER.info("group %s leaves generation %d: %s", group.group_id, group.generation, reason)
    is_first = group.state is GroupState.EMPTY
    fail_waiting_syncs(context, group, RebalanceInProgress())
    sessions.cancel_sync_timer(context, group)
    group.transition_to(GroupState.PREPARING_REBALANCE, context.now.wall_ms)
    if is_first:
        _begin_initial_delay(context, group)
    elif group.everyone_joined:
        complete_join(context, group)
    else:
        sessions.start_join_timer(context, group, group.rebalance_timeout_ms)


def store(context: GroupContext, group: ClassicGroup, assignments: Mapping[str, bytes]) -> None:
    """Writes the group as it stands, with `assignments` by member id.

    What cannot be stored is tried again with the next generation.
    """
    context.result.records.append(group_metadata_record(group, assignments))
    context.on_append_failure(lambda later: begin_again(later, group))


def begin_again(context: GroupContext, group: ClassicGroup) -> None:
    """The records of an operation on the group could not be written: its members are to join again."""
    if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        prepare_rebalance(context, group, "its metadata could not be stored")
    elif group.state is GroupState.PREPARING_REBALANCE:
        sessions.start_join_timer(context, group, group.rebalance_timeout_ms)


def maybe_complete_join(context: GroupContext, group: ClassicGroup) -> None:
    """Goes on when all members have joined.

    A new group waits its delay out all the same: others may be about to come.
    """
    is_waiting = group.state is GroupState.PREPARING_REBALANCE and group.initial_delay is None
    if is_waiting and group.everyone_joined:
        complete_join(context, group)


def expire_join(context: GroupContext, group: ClassicGroup) -> None:
    """The join timer has fired."""
    if group.state is not GroupState.PREPARING_REBALANCE:
        return
    delay = group.initial_delay
    if delay is not None and group.newcomer_during_delay and delay.remaining_ms > 0:
        group.newcomer_during_delay = False
        next_ms = min(context.config.classic.initial_rebalance_delay_ms, delay.remaining_ms)
        group.initial_delay = InitialDelay(next_ms, max(delay.remaining_ms - delay.delay_ms, 0))
        sessions.start_join_timer(context, group, next_ms)
    else:
        complete_join(context, group)


def complete_join(context: GroupContext, group: ClassicGroup) -> None:
    """Begins the next generation with those who have joined. Static members stay although they have not."""
    for absent in [m for m in group.members_not_joined() if not m.is_static]:
        remove_member(context, group, absent)
    sessions.cancel_join_timer(context, group)
    if group.members and not group.elect_joined_leader():
        _LOGGER.info("group %s: only absent static members are left, waiting on", group.group_id)
        sessions.start_join_timer(context, group, group.rebalance_timeout_ms)
        return
    group.begin_generation(context.now.wall_ms)
    if group.state is GroupState.EMPTY:
        _LOGGER.info("group %s: generation %d is empty", group.group_id, group.generation)
        store(context, group, {})
        return
    _LOGGER.info(
        "group %s: generation %d begins, members: %d",
        group.group_id,
        group.generation,
        len(group.members),
    )
    for member in group.members.values():
        _tell_of_generation(context, group, member)
    sessions.start_sync_timer(context, group)


def expire_sync(context: GroupContext, group: ClassicGroup) -> None:
    """The sync timer has fired: who has not asked for an assignment by now is gone."""
    if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return
    silent = sorted(group.pending_sync)
    if not silent:
        return
    for member_id in silent:
        remove_member(context, group, group.members[member_id])
    prepare_rebalance(context, group, f"no SyncGroup from {', '.join(silent)}")


def fail_waiting_syncs(context: GroupContext, group: ClassicGroup, error: KafkaError) -> None:
    for member in group.members.values():
        if member.syncing is not None:
            context.result.fail(member.syncing, error)
            member.syncing = None
            sessions.restart_session(context, group, member)


def _begin_initial_delay(context: GroupContext, group: ClassicGroup) -> None:
    delay_ms = context.config.classic.initial_rebalance_delay_ms
    remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
    group.initial_delay = InitialDelay(delay_ms, remaining_ms)
    group.newcomer_during_delay = False
    sessions.start_join_timer(context, group, delay_ms)


def _tell_of_generation(
    context: GroupContext, group: ClassicGroup, member: ClassicGroupMember
) -> None:
    token = group.take_joining(member)
    if token is not None:
        with_members = group.leader == member.member_id
        response = generation_response(group, member.member_id, with_members=with_members)
        context.result.reply(token, response)
    sessions.restart_session(context, group, member)
    member.is_new = False
    group.pending_sync.add(member.member_id)
