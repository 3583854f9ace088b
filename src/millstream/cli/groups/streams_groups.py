"""A group of stream threads as a group with members that read partitions, which is how verbs show groups. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.clients.admin import (
        GroupDescription,
        StreamsAssignment,
        StreamsGroupDescription,
    )
    from millstream.model import TopicPartition


def source_topics(group: StreamsGroupDescription) -> dict[str, tuple[str, ...]]:
    """Returns the topics that each sub-topology reads, those between sub-topologies among them."""
    return {
        each.subtopology_id: (
            *each.source_topics,
            *(topic.name for topic in each.repartition_source_topics),
        )
        for each in group.subtopologies
    }


def as_group(
    group: StreamsGroupDescription, partition_counts: Mapping[str, int]
) -> GroupDescription:
    """Returns the group with the partitions that the active tasks of its members read.

    `partition_counts` has the topics that exist.
    """
    from millstream.clients.admin import GroupDescription, GroupMemberDescription, GroupType
    from millstream.model import TopicPartition

    topics = source_topics(group)

    def read_by(assignment: StreamsAssignment) -> list[TopicPartition]:
        return [
            TopicPartition(topic, task.partition)
            for task in assignment.active_tasks
            for topic in topics.get(task.subtopology_id, ())
            if task.partition < partition_counts.get(topic, 0)
        ]

    return GroupDescription(
        group_id=group.group_id,
        state=group.state,
        protocol_type="streams",
        assignor="",
        members=[
            GroupMemberDescription(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                assignment=read_by(member.assignment),
                target_assignment=read_by(member.target_assignment),
                member_epoch=member.member_epoch,
                rack_id=member.rack_id,
            )
            for member in group.members
        ],
        type=GroupType.STREAMS,
        coordinator=group.coordinator,
        group_epoch=group.group_epoch,
        target_assignment_epoch=group.target_assignment_epoch,
        authorized_operations=group.authorized_operations,
    )
