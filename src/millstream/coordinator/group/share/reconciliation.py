"""The step of one member to its target assignment: it takes a single one, for partitions may be shared for a while.

Pure: what a member is now, and what it is next.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.share.member import ShareGroupMember
from millstream.coordinator.group.share.state_partitions import of_topics
from millstream.model import Uuid


def reconcile(
    member: ShareGroupMember, epoch: int, target: Partitions, subscribed: AbstractSet[Uuid]
) -> ShareGroupMember:
    """Returns the member as it is told to be: the target of `epoch`, without topics that it does not read any more."""
    reconciled = replace(member, assigned=of_topics(target, subscribed))
    if epoch == member.member_epoch:
        return reconciled
    return replace(reconciled, member_epoch=epoch, previous_member_epoch=member.member_epoch)
