"""The target assignment of a consumer group: what its assignor gives each member, and the records that say so."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from millstream.coordinator.assignors.partition_assignor import (
    AssignableGroup,
    AssignableMember,
    PartitionAssignor,
    Partitions,
)
from millstream.coordinator.assignors.range_assignor import RangeAssignor
from millstream.coordinator.assignors.uniform_assignor import UniformAssignor
from millstream.coordinator.group.consumer.group import (
    ConsumerGroup,
    ResolvedRegex,
    topics_read_by,
)
from millstream.coordinator.group.consumer.member import ConsumerGroupMember
from millstream.coordinator.group.consumer.records import target_epoch_record, target_record
from millstream.coordinator.group.context import GroupContext
from millstream.metadata.image import TopicsImage
from millstream.model import Uuid

ASSIGNORS: Final[Mapping[str, PartitionAssignor]] = MappingProxyType(
    {assignor.name: assignor for assignor in (UniformAssignor(), RangeAssignor())}
)


def is_due(context: GroupContext, group: ConsumerGroup) -> bool:
    """Tells whether an assignment is due.

    Assignments of one group keep their distance, so that members that come together share one.
    """
    interval_ms = context.config.consumer.assignment_interval_ms.of_group(
        context.image, group.group_id
    )
    last_ms = group.assignment_timestamp_ms
    return not last_ms or not interval_ms or context.now.wall_ms >= last_ms + interval_ms


def assign(
    context: GroupContext,
    group: ConsumerGroup,
    members: Mapping[str, ConsumerGroupMember],
    epoch: int,
) -> Mapping[str, Partitions]:
    """Writes the targets that change, and gives those of all `members`, which are the group's as they will be."""
    topics = context.image.topics
    assignor = _assignor(context, group, members)
    assigned = assignor.assign(
        AssignableGroup(
            {
                member_id: AssignableMember(
                    subscribed_ids(member, group.regexes, topics),
                    group.target_of(member),
                    member.instance_id,
                )
                for member_id, member in members.items()
            },
            {topic.topic_id: len(topic.partitions) for topic in topics},
        )
    )
    targets = {member_id: assigned.get(member_id, {}) for member_id in members}
    context.result.records += [
        target_record(group.group_id, member_id, target)
        for member_id, target in targets.items()
        if group.targets.get(member_id) != target
    ]
    context.result.records.append(target_epoch_record(group.group_id, epoch, context.now.wall_ms))
    return targets


def _assignor(
    context: GroupContext, group: ConsumerGroup, members: Mapping[str, ConsumerGroupMember]
) -> PartitionAssignor:
    name = group.assignor_wanted_by(members.values()) or context.config.consumer.assignors[0]
    return ASSIGNORS[name]


def subscribed_ids(
    member: ConsumerGroupMember, regexes: Mapping[str, ResolvedRegex], topics: TopicsImage
) -> frozenset[Uuid]:
    """Returns the ids of the subscribed topics that exist.

    A regular expression that is not resolved yet matches nothing.
    """
    names = topics_read_by([member], regexes)
    return frozenset(topics.by_name[name].topic_id for name in names if name in topics)
