"""ConsumerGroupHeartbeat: join, stay in and leave a consumer group (KIP-848).

Owns who may: which member a request means, in which epoch. What the heartbeat of a member sets off is `update`; what
its leaving does is `removal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.consumer.member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
    ConsumerGroupMember,
    PartitionEpochs,
    has_all,
    partitions_of,
    with_epoch,
)
from millstream.coordinator.group.consumer.migration import group_to_join, release_waiting
from millstream.coordinator.group.consumer.records import current_assignment_record
from millstream.coordinator.group.consumer.removal import remove_members
from millstream.coordinator.group.consumer.sessions import heartbeat_interval_ms, restart_session
from millstream.coordinator.group.consumer.update import (
    check_is_not_fenced,
    replace_static_member,
    update_member,
)
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.result import Caller, CoordinatorResult
from millstream.errors import (
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    UnknownMemberId,
    UnreleasedInstanceId,
)
from millstream.model import uuid_from_random, uuid_text
from millstream.protocol.generated.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_NOT_SAID = -1


def heartbeat(context: GroupContext, request: ConsumerGroupHeartbeatRequest) -> CoordinatorResult:
    """Lets a member join, go on or leave. Raises what the request is refused with. Its fields have been checked."""
    if request.member_epoch in (LEAVING_EPOCH, STATIC_LEAVING_EPOCH):
        response = _leave(context, request)
    else:
        response = _stay(context, request)
    return context.reply(response)


def _stay(
    context: GroupContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    if request.member_epoch == JOINING_EPOCH:
        group = group_to_join(context, request.group_id)
    else:
        group = _existing(
            context.groups, request.group_id, f"Consumer group {request.group_id} not found."
        )
    check_has_room(context, group, request.member_id)
    member_id = request.member_id or new_member_id(context)
    member = _member(context, group, member_id, request)
    wanted = _as_asked(member, request, context.caller)
    updated = update_member(context, group, member, wanted, request.topic_partitions)
    restart_session(context, group, updated)
    replaced = context.groups.find(group.group_id)
    if isinstance(replaced, ClassicGroup):
        release_waiting(context, replaced)
    says_all = (
        request.rebalance_timeout_ms != _NOT_SAID
        and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
        and request.topic_partitions is not None
    )
    must_know = request.member_epoch == JOINING_EPOCH or says_all
    return ConsumerGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=updated.member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms(context, group),
        assignment=_assignment(updated.assigned)
        if must_know or partitions_of(updated.assigned) != partitions_of(member.assigned)
        else None,
    )


def new_member_id(context: GroupContext) -> str:
    return uuid_text(uuid_from_random(context.random.randbytes(16)))


def check_has_room(context: GroupContext, group: ConsumerGroup, member_id: str) -> None:
    """Raises GroupMaxSizeReached. Members are never turned away."""
    size_max = context.config.consumer.max_size
    if len(group.members) >= size_max and member_id not in group.members:
        raise GroupMaxSizeReached(
            f"The consumer group has reached its maximum capacity of {size_max} members."
        )


def _member(
    context: GroupContext,
    group: ConsumerGroup,
    member_id: str,
    request: ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupMember:
    """The member that sends the request as it is now, a new one before it has asked for anything."""
    if request.instance_id is not None:
        return _static_member(context, group, member_id, request.instance_id, request)
    member = group.members.get(member_id)
    if member is None:
        if request.member_epoch != JOINING_EPOCH:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {group.group_id}.")
        return ConsumerGroupMember(member_id)
    check_epoch(member, request.member_epoch, request.topic_partitions)
    return member


def _static_member(
    context: GroupContext,
    group: ConsumerGroup,
    member_id: str,
    instance_id: str,
    request: ConsumerGroupHeartbeatRequest,
) -> ConsumerGroupMember:
    existing = group.static_member(instance_id)
    if request.member_epoch == JOINING_EPOCH:
        if existing is None:  # who is in the group already stays who it is, in another place
            return group.members.get(member_id) or ConsumerGroupMember(member_id)
        if not existing.is_classic and existing.member_epoch != STATIC_LEAVING_EPOCH:
            raise UnreleasedInstanceId(
                f"Static member {member_id} with instance id {instance_id} cannot join the group "
                f"because the instance id is owned by {existing.member_id} member."
            )
        return replace_static_member(context, group, existing, member_id)
    if existing is None:
        raise UnknownMemberId(f"Instance id {instance_id} is unknown.")
    check_is_not_fenced(existing, member_id)
    check_epoch(existing, request.member_epoch, request.topic_partitions)
    return existing


def check_epoch(
    member: ConsumerGroupMember, epoch: int, reported: Sequence[TopicPartitions] | None
) -> None:
    """Raises FencedMemberEpoch.

    A member may come with its previous epoch if it owns nothing but what it has been given: the answer that told it of
    the new one may have been lost. And it may begin anew at any time.
    """
    if epoch in (JOINING_EPOCH, member.member_epoch):
        return
    if epoch == member.previous_member_epoch and reported is not None:
        owned = ((each.topic_id, each.partitions) for each in reported)
        if epoch < member.member_epoch and has_all(partitions_of(member.assigned), owned):
            return
    relation = "greater" if epoch > member.member_epoch else "smaller"
    raise FencedMemberEpoch(
        f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin."
    )


def _as_asked(
    member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest, caller: Caller
) -> ConsumerGroupMember:
    """Returns the member as the request asks. What the request leaves out stays as it was."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=_or(request.instance_id, member.instance_id),
        rack_id=_or(request.rack_id, member.rack_id),
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == _NOT_SAID else timeout_ms,
        server_assignor=_or(request.server_assignor, member.server_assignor),
        topic_names=member.topic_names if names is None else frozenset(names),
        topic_regex=member.topic_regex if regex is None else regex,
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=None,
    )


def _or(said: str | None, known: str | None) -> str | None:
    return known if said is None else said


def _assignment(assigned: PartitionEpochs) -> Assignment:
    return Assignment(
        [TopicPartitions(topic_id, sorted(partitions)) for topic_id, partitions in assigned.items()]
    )


# Leaving


def _leave(
    context: GroupContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    group = _existing(context.groups, request.group_id, f"Group {request.group_id} not found.")
    if request.instance_id is None:
        member = group.member(request.member_id)
    else:
        existing = group.static_member(request.instance_id)
        if existing is None:
            raise UnknownMemberId(f"Instance id {request.instance_id} is unknown.")
        check_is_not_fenced(existing, request.member_id)
        member = existing
    if request.member_epoch == STATIC_LEAVING_EPOCH:
        gone = replace(
            member,
            member_epoch=STATIC_LEAVING_EPOCH,
            assigned=with_epoch(partitions_of(member.assigned), JOINING_EPOCH),
            pending_revocation={},
        )
        context.result.records.append(current_assignment_record(group.group_id, gone))
    else:
        remove_members(context, group, [member], "left")
    return ConsumerGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=request.member_epoch
    )


def _existing(groups: Groups, group_id: str, if_missing: str) -> ConsumerGroup:
    """Raises GroupIdNotFound."""
    group = groups.find(group_id)
    if group is None:
        raise GroupIdNotFound(if_missing)
    if not isinstance(group, ConsumerGroup):
        raise GroupIdNotFound(f"Group {group_id} is not a consumer group.")
    return group
