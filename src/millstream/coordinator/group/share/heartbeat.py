"""ShareGroupHeartbeat: join, stay in and leave a share group (KIP-932).

Owns who may, and what a heartbeat sets off: a new group epoch when subscriptions or topics have changed, a new target
assignment, the member's own. Partitions that are read for the first time are to be initialised with the share
coordinator; the edge asks it for what `HeartbeatOutcome` says and brings back the answer (`initialization`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.share import target_assignment
from millstream.coordinator.group.share.group import ShareGroup, topics_read_by
from millstream.coordinator.group.share.initialization import Initialization, begin_initialization
from millstream.coordinator.group.share.member import JOINING_EPOCH, LEAVING_EPOCH, ShareGroupMember
from millstream.coordinator.group.share.reconciliation import reconcile
from millstream.coordinator.group.share.records import (
    current_assignment_record,
    epoch_record,
    member_record,
)
from millstream.coordinator.group.share.removal import remove_member
from millstream.coordinator.group.share.sessions import heartbeat_interval_ms, restart_session
from millstream.coordinator.group.share.state_partitions import of_topics, without
from millstream.coordinator.group.topic_hash import topics_hash
from millstream.coordinator.result import Caller, CoordinatorResult
from millstream.errors import (
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    UnknownMemberId,
)
from millstream.protocol.generated.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)


@dataclass(frozen=True, slots=True)
class HeartbeatOutcome:
    response: ShareGroupHeartbeatResponse
    to_initialize: Initialization | None = None
    """What the share coordinator has to be asked for before the response leaves."""


def heartbeat(context: GroupContext, request: ShareGroupHeartbeatRequest) -> CoordinatorResult:
    """Replies with a HeartbeatOutcome.

    The request has passed `request_check`; raises what its group refuses it with.
    """
    if request.member_epoch == LEAVING_EPOCH:
        outcome = HeartbeatOutcome(_leave(context, request))
    else:
        outcome = _stay(context, request)
    return context.reply(outcome)


def _leave(
    context: GroupContext, request: ShareGroupHeartbeatRequest
) -> ShareGroupHeartbeatResponse:
    group = existing_group(context.groups, request.group_id)
    remove_member(context, group, group.member(request.member_id), "left")
    return ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=LEAVING_EPOCH)


def _stay(context: GroupContext, request: ShareGroupHeartbeatRequest) -> HeartbeatOutcome:
    is_joining = request.member_epoch == JOINING_EPOCH
    group = (
        group_to_change(context.groups, request.group_id)
        if is_joining
        else existing_group(context.groups, request.group_id)
    )
    _check_has_room(context, group, request.member_id)
    member = _member(group, request)
    wanted = _as_asked(member, request, context.caller)
    members = group.members_with(wanted)
    if wanted != group.members.get(wanted.member_id):
        context.result.records.append(member_record(group.group_id, wanted))
    epoch = _group_epoch(context, group, members, wanted.topic_names != member.topic_names)
    updated = _reconciled(context, group, wanted, members, epoch)
    restart_session(context, group, updated)
    must_know = is_joining or request.subscribed_topic_names is not None
    response = ShareGroupHeartbeatResponse(
        member_id=updated.member_id,
        member_epoch=updated.member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms(context, group),
        assignment=_assignment(updated.assigned)
        if must_know or updated.assigned != member.assigned
        else None,
    )
    to_initialize = begin_initialization(context, group, topics_read_by(members), epoch)
    return HeartbeatOutcome(response, to_initialize)


# Who may


def existing_group(groups: Groups, group_id: str) -> ShareGroup:
    """Returns a share group. Raises GroupIdNotFound, also for a group of another kind."""
    group = groups.find(group_id)
    if group is None:
        raise GroupIdNotFound(f"Share group {group_id} not found.")
    if not isinstance(group, ShareGroup):
        raise GroupIdNotFound(f"Group {group_id} is not a share group.")
    return group


def group_to_change(groups: Groups, group_id: str) -> ShareGroup:
    """A group that does not exist yet begins with the first record about it.

    Raises GroupIdNotFound for another kind.
    """
    return (
        ShareGroup(group_id) if groups.find(group_id) is None else existing_group(groups, group_id)
    )


def _check_has_room(context: GroupContext, group: ShareGroup, member_id: str) -> None:
    size_max = context.config.share.max_size
    if len(group.members) >= size_max and member_id not in group.members:
        raise GroupMaxSizeReached(
            f"The share group has reached its maximum capacity of {size_max} members."
        )


def _member(group: ShareGroup, request: ShareGroupHeartbeatRequest) -> ShareGroupMember:
    """As it is now; a new one before it has asked for anything."""
    member = group.members.get(request.member_id)
    if member is None:
        if request.member_epoch != JOINING_EPOCH:
            raise UnknownMemberId(
                f"Member {request.member_id} is not a member of group {group.group_id}."
            )
        return ShareGroupMember(request.member_id)
    _check_epoch(member, request.member_epoch)
    return member


def _check_epoch(member: ShareGroupMember, epoch: int) -> None:
    """A member whose last answer was lost still names its previous epoch. One that has lost everything joins again."""
    if epoch not in (JOINING_EPOCH, member.member_epoch, member.previous_member_epoch):
        order = "larger" if epoch > member.member_epoch else "smaller"
        raise FencedMemberEpoch(
            f"The share group member has a {order} member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin."
        )


# What it sets off


def _as_asked(
    member: ShareGroupMember, request: ShareGroupHeartbeatRequest, caller: Caller
) -> ShareGroupMember:
    names = request.subscribed_topic_names
    return replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=caller.client_id,
        client_host=caller.client_host,
        topic_names=member.topic_names if names is None else frozenset(names),
    )


def _group_epoch(
    context: GroupContext,
    group: ShareGroup,
    members: Mapping[str, ShareGroupMember],
    subscription_changed: bool,
) -> int:
    """A new one when what the group reads has changed since the last assignment was made for it."""
    is_stale = subscription_changed
    if group.epoch <= group.assignment_epoch:
        is_stale = is_stale or _is_assignment_pending(context, group, members)
    if not is_stale and group.soft.checked_version == context.topics_version:
        return group.epoch
    context.replace_soft(group, replace(group.soft, checked_version=context.topics_version))
    metadata_hash = topics_hash(topics_read_by(members), context.image)
    if not is_stale and metadata_hash == group.metadata_hash:
        return group.epoch
    context.result.records.append(epoch_record(group.group_id, group.epoch + 1, metadata_hash))
    return group.epoch + 1


def _is_assignment_pending(
    context: GroupContext, group: ShareGroup, members: Mapping[str, ShareGroupMember]
) -> bool:
    """Partitions have been initialised since that no member has been given."""
    topics = context.image.topics
    read = {topics.by_name[name].topic_id for name in topics_read_by(members) if name in topics}
    return bool(
        without(of_topics(group.state_partitions.initialized, read), group.assigned_to_members())
    )


def _reconciled(
    context: GroupContext,
    group: ShareGroup,
    member: ShareGroupMember,
    members: Mapping[str, ShareGroupMember],
    epoch: int,
) -> ShareGroupMember:
    target_epoch = group.assignment_epoch
    target = group.targets.get(member.member_id, {})
    if epoch > target_epoch and target_assignment.is_due(context, group):
        target = target_assignment.assign(context, group, members, epoch)[member.member_id]
        target_epoch = epoch
    subscribed = target_assignment.subscribed_ids(member, context.image.topics)
    reconciled = reconcile(member, target_epoch, target, subscribed)
    if reconciled != member:
        context.result.records.append(current_assignment_record(group.group_id, reconciled))
    return reconciled


def _assignment(partitions: Partitions) -> Assignment:
    return Assignment(
        [TopicPartitions(topic_id, sorted(numbers)) for topic_id, numbers in partitions.items()]
    )
