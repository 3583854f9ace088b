"""Brings a consumer group up to date with a member's request, whichever protocol the member speaks (KIP-848).

Up to three things, each with its records: the member is created or changed, which may begin a new group epoch; a target
assignment is made for the epoch; the member takes its next step towards its target. A static member is created in the
place of the one that had its instance id: that is one place in the group, whichever member holds it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.consumer import target_assignment
from millstream.coordinator.group.consumer.group import (
    ConsumerGroup,
    ConsumerSoftState,
    topics_read_by,
)
from millstream.coordinator.group.consumer.member import (
    JOINING_EPOCH,
    ConsumerGroupMember,
    ConsumerGroupMemberState,
)
from millstream.coordinator.group.consumer.reconciliation import TargetPartitions, reconcile
from millstream.coordinator.group.consumer.records import (
    current_assignment_record,
    epoch_record,
    member_record,
    member_tombstones,
    partition_metadata_tombstone,
    target_record,
)
from millstream.coordinator.group.consumer.regex import RegexChange, change_regex
from millstream.coordinator.group.consumer.sessions import (
    await_revocation,
    stop_awaiting_revocation,
)
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.topic_hash import topics_hash
from millstream.errors import FencedInstanceId
from millstream.protocol.generated.consumer_group_heartbeat import TopicPartitions

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SubscriptionChange:
    """The change that a request makes to the subscription of its member."""

    of_names: bool
    of_regex: RegexChange

    @property
    def is_any(self) -> bool:
        return self.of_names or self.of_regex is not RegexChange.NONE

    @property
    def calls_for_assignment(self) -> bool:
        """Whether a new assignment is needed.

        Not while a regular expression has still to be matched: that will call for one.
        """
        return self.of_names or self.of_regex is RegexChange.RESOLVED


def update_member(
    context: GroupContext,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    wanted: ConsumerGroupMember,
    owned: Sequence[TopicPartitions] | None,
) -> ConsumerGroupMember:
    """Returns the member as it will be. Raises what the request is refused with.

    `member`: as it is. `wanted`: with what it asks for. `owned`: what it says it owns; None when it does not say.
    """
    change = change_subscription(context, group, member, wanted)
    epoch = update_epoch(context, group, wanted, must_change=change.calls_for_assignment)
    if epoch > group.assignment_epoch and target_assignment.is_due(context, group):
        members = group.members_with(wanted)
        target = target_assignment.assign(context, group, members, epoch)[wanted.member_id]
    else:
        epoch, target = group.assignment_epoch, group.target_of(wanted)
    return reconcile_member(context, group, wanted, (epoch, target), owned, changed=change.is_any)


def change_subscription(
    context: GroupContext,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    wanted: ConsumerGroupMember,
) -> SubscriptionChange:
    if wanted != member:
        context.result.records.append(member_record(group.group_id, wanted))
    of_names = wanted.topic_names != member.topic_names
    return SubscriptionChange(of_names, change_regex(context, group, member, wanted))


def update_epoch(
    context: GroupContext, group: ConsumerGroup, wanted: ConsumerGroupMember, *, must_change: bool
) -> int:
    """Returns the group's epoch: a new one when what its members subscribe to has changed,
    or the topics themselves have.
    """
    if not must_change and group.soft.checked_version == context.topics_version:
        return group.epoch
    members = group.members_with(wanted)
    new_hash = topics_hash(topics_read_by(members.values(), group.regexes), context.image)
    context.replace_soft(group, ConsumerSoftState(context.topics_version))
    if group.has_partition_metadata:
        context.result.records.append(partition_metadata_tombstone(group.group_id))
    if not must_change and new_hash == group.metadata_hash:
        return group.epoch
    epoch = group.epoch + 1
    _LOGGER.info("group %s: epoch %d begins, members: %d", group.group_id, epoch, len(members))
    context.result.records.append(epoch_record(group.group_id, epoch, new_hash))
    return epoch


def reconcile_member(
    context: GroupContext,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    target: tuple[int, Partitions],
    owned: Sequence[TopicPartitions] | None,
    *,
    changed: bool,
) -> ConsumerGroupMember:
    """Returns the member as it is after its next step to `target`: an epoch, and its part of the
    assignment of that epoch.
    """
    epoch, partitions = target
    if not changed and member.is_reconciled_to(epoch):
        return member
    subscribed = target_assignment.subscribed_ids(member, group.regexes, context.image.topics)
    updated = reconcile(
        member, TargetPartitions(epoch, partitions, subscribed, changed), group, owned
    )
    if updated == member:
        return member
    context.result.records.append(current_assignment_record(group.group_id, updated))
    if updated.state is ConsumerGroupMemberState.UNREVOKED_PARTITIONS and not updated.is_classic:
        await_revocation(context, group, updated)
    else:
        stop_awaiting_revocation(context, group, updated)
    return updated


def check_is_not_fenced(holder: ConsumerGroupMember, member_id: str) -> None:
    """Raises FencedInstanceId when another than `member_id` holds the place."""
    if holder.member_id != member_id:
        raise FencedInstanceId(
            f"Static member {member_id} with instance id {holder.instance_id} "
            f"was fenced by member {holder.member_id}."
        )


def replace_static_member(
    context: GroupContext, group: ConsumerGroup, holder: ConsumerGroupMember, member_id: str
) -> ConsumerGroupMember:
    """The process behind the place was restarted: the new one has what the old one had, and begins in no epoch.

    The timers of the old member find no member when they fire.
    """
    newcomer = replace(
        holder,
        member_id=member_id,
        member_epoch=JOINING_EPOCH,
        previous_member_epoch=JOINING_EPOCH,
    )
    context.result.records += [
        *member_tombstones(group.group_id, holder.member_id),
        member_record(group.group_id, newcomer),
        target_record(group.group_id, member_id, group.target_of(holder)),
        current_assignment_record(group.group_id, newcomer),
    ]
    return newcomer
