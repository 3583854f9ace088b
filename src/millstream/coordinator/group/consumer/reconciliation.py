"""The steps of one member from the partitions it has to the ones it is to have (KIP-848, "reconciliation").

A partition is taken from a member before it is given to another: the member is told to revoke it, says that it has, and
only then moves on to the new epoch and gets what others have released. Pure: what a member is now, and what it is next.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Protocol

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.consumer.member import (
    ConsumerGroupMember,
    ConsumerGroupMemberState,
    PartitionEpochs,
)
from millstream.errors import FencedMemberEpoch
from millstream.model import Uuid
from millstream.protocol.generated.consumer_group_heartbeat import TopicPartitions


class Ownership(Protocol):
    def is_owned(self, topic_id: Uuid, partition: int) -> bool:
        """Tells whether a member has the partition and has not given it up."""
        ...


@dataclass(frozen=True, slots=True)
class TargetPartitions:
    """A member's part of the target assignment of `epoch`, and what of it the member may have."""

    epoch: int
    partitions: Partitions
    subscribed: AbstractSet[Uuid]
    """The topics it subscribes to now, which may be fewer than the target was made for."""
    subscription_changed: bool
    """With this very request."""


def reconcile(
    member: ConsumerGroupMember,
    target: TargetPartitions,
    ownership: Ownership,
    reported: Sequence[TopicPartitions] | None,
) -> ConsumerGroupMember:
    """Returns the member's next state; itself when there is nothing to do yet.

    `reported`: what the member says it owns; None when it does not say. Raises FencedMemberEpoch.
    """
    match member.state:
        case ConsumerGroupMemberState.STABLE:
            if member.member_epoch != target.epoch:
                return _next(member, target, ownership, reported)
        case ConsumerGroupMemberState.UNREVOKED_PARTITIONS:
            if not _owns_any(reported, member.pending_revocation):
                return _next(member, target, ownership, reported)
        case ConsumerGroupMemberState.UNRELEASED_PARTITIONS:
            return _next(member, target, ownership, reported)
        case ConsumerGroupMemberState.UNKNOWN:
            if reported is None or reported:
                raise FencedMemberEpoch(
                    "The consumer group member is in a unknown state. "
                    "The member must abandon all its partitions and rejoin."
                )
            return _next(replace(member, member_epoch=target.epoch), target, ownership, reported)
    return _unsubscribed(member, target, reported) if target.subscription_changed else member


def _next(
    member: ConsumerGroupMember,
    target: TargetPartitions,
    ownership: Ownership,
    reported: Sequence[TopicPartitions] | None,
) -> ConsumerGroupMember:
    wanted = {t: ps for t, ps in target.partitions.items() if t in target.subscribed}
    kept, revoked = _split(member.assigned, wanted)
    if _owns_any(reported, revoked):
        return _revoking(member, kept, revoked)
    free, has_unreleased = _free(member, kept, wanted, ownership)
    for topic_id, partitions in free.items():
        kept[topic_id] = {**kept.get(topic_id, {}), **dict.fromkeys(partitions, target.epoch)}
    return replace(
        member,
        state=ConsumerGroupMemberState.UNRELEASED_PARTITIONS
        if has_unreleased
        else ConsumerGroupMemberState.STABLE,
        member_epoch=target.epoch,
        previous_member_epoch=member.member_epoch,
        assigned=kept,
        pending_revocation={},
    )


def _split(
    assigned: PartitionEpochs, target: Partitions
) -> tuple[dict[Uuid, dict[int, int]], dict[Uuid, dict[int, int]]]:
    """Returns the part of `assigned` that stays, and the part that goes."""
    kept: dict[Uuid, dict[int, int]] = {}
    revoked: dict[Uuid, dict[int, int]] = {}
    for topic_id, epochs in assigned.items():
        wanted = target.get(topic_id, frozenset())
        for partition, epoch in epochs.items():
            part = kept if partition in wanted else revoked
            part.setdefault(topic_id, {})[partition] = epoch
    return kept, revoked


def _free(
    member: ConsumerGroupMember, kept: PartitionEpochs, target: Partitions, ownership: Ownership
) -> tuple[dict[Uuid, list[int]], bool]:
    """Returns the part of the target that can be given now, and whether some of it cannot.

    What the member itself has just given up is free, although the log does not say so yet.
    """
    free: dict[Uuid, list[int]] = {}
    has_unreleased = False
    for topic_id, partitions in target.items():
        for partition in sorted(partitions - kept.get(topic_id, {}).keys()):
            is_its_own = partition in member.pending_revocation.get(topic_id, {})
            if ownership.is_owned(topic_id, partition) and not is_its_own:
                has_unreleased = True
            else:
                free.setdefault(topic_id, []).append(partition)
    return free, has_unreleased


def _unsubscribed(
    member: ConsumerGroupMember,
    target: TargetPartitions,
    reported: Sequence[TopicPartitions] | None,
) -> ConsumerGroupMember:
    """Takes away the topics that it reads no more, without waiting for a new target."""
    kept = {t: epochs for t, epochs in member.assigned.items() if t in target.subscribed}
    gone = {t: epochs for t, epochs in member.assigned.items() if t not in target.subscribed}
    if not gone:
        return member
    revoked = {t: dict(epochs) for t, epochs in member.pending_revocation.items()}
    for topic_id, epochs in gone.items():
        revoked[topic_id] = {**revoked.get(topic_id, {}), **epochs}
    if _owns_any(reported, revoked):
        return _revoking(member, kept, revoked)
    return replace(member, assigned=kept)


def _revoking(
    member: ConsumerGroupMember, kept: PartitionEpochs, revoked: PartitionEpochs
) -> ConsumerGroupMember:
    """It stays in its epoch until it has given up `revoked`."""
    return replace(
        member,
        state=ConsumerGroupMemberState.UNREVOKED_PARTITIONS,
        previous_member_epoch=member.member_epoch,
        assigned=kept,
        pending_revocation=revoked,
    )


def _owns_any(reported: Sequence[TopicPartitions] | None, partitions: PartitionEpochs) -> bool:
    """Whether it may still own any of them; it may when it does not say what it owns."""
    if not partitions:
        return False
    if reported is None:
        return True
    return any(
        partition in partitions.get(owned.topic_id, {})
        for owned in reported
        for partition in owned.partitions
    )
