"""The records of share groups, as Kafka 4.3 writes them: keys 10 to 15. Pure data: what to write, not when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.share.member import ShareGroupMember
from millstream.coordinator.group.share.state_partitions import StatePartitions
from millstream.coordinator.record import CoordinatorRecord
from millstream.metadata.image import TopicImage
from millstream.model import Uuid
from millstream.protocol.generated.group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupCurrentMemberAssignmentValueTopicPartitions,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupStatePartitionMetadataValueTopicInfo,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitionsInfo,
)


def member_record(group_id: str, member: ShareGroupMember) -> CoordinatorRecord:
    value = ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
    )
    return CoordinatorRecord(ShareGroupMemberMetadataKey(group_id, member.member_id), value)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = ShareGroupMetadataValue(epoch, metadata_hash)
    return CoordinatorRecord(ShareGroupMetadataKey(group_id), value)


def target_record(group_id: str, member_id: str, target: Partitions) -> CoordinatorRecord:
    value = ShareGroupTargetAssignmentMemberValue(
        [TopicPartition(topic_id, sorted(ps)) for topic_id, ps in sorted(target.items())]
    )
    return CoordinatorRecord(ShareGroupTargetAssignmentMemberKey(group_id, member_id), value)


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = ShareGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
    return CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id), value)


def current_assignment_record(group_id: str, member: ShareGroupMember) -> CoordinatorRecord:
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        assigned_partitions=[
            ShareGroupCurrentMemberAssignmentValueTopicPartitions(topic_id, sorted(partitions))
            for topic_id, partitions in sorted(member.assigned.items())
        ],
    )
    key = ShareGroupCurrentMemberAssignmentKey(group_id, member.member_id)
    return CoordinatorRecord(key, value)


def state_partitions_record(
    group_id: str, state: StatePartitions, topics: Mapping[Uuid, TopicImage]
) -> CoordinatorRecord:
    """Returns the record of state partitions. Topics that do not exist any more are left out."""
    value = ShareGroupStatePartitionMetadataValue(
        initializing_topics=_with_names(state.initializing, topics),
        initialized_topics=_with_names(state.initialized, topics),
        deleting_topics=[
            ShareGroupStatePartitionMetadataValueTopicInfo(topic_id, topics[topic_id].name)
            for topic_id in sorted(state.deleting)
            if topic_id in topics
        ],
    )
    return CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id), value)


def _with_names(
    partitions: Partitions, topics: Mapping[Uuid, TopicImage]
) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(topic_id, topics[topic_id].name, sorted(numbers))
        for topic_id, numbers in sorted(partitions.items())
        if topic_id in topics
    ]


# Tombstones


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Returns the tombstones of a member, in this order: what a member owns goes before the member."""
    return [
        CoordinatorRecord(ShareGroupCurrentMemberAssignmentKey(group_id, member_id), None),
        CoordinatorRecord(ShareGroupTargetAssignmentMemberKey(group_id, member_id), None),
        CoordinatorRecord(ShareGroupMemberMetadataKey(group_id, member_id), None),
    ]


def group_tombstones(group_id: str, member_ids: Iterable[str]) -> list[CoordinatorRecord]:
    """Returns the tombstones of everything of the group, what depends on others first."""
    return [
        *(record for member_id in member_ids for record in member_tombstones(group_id, member_id)),
        CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id), None),
        CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id), None),
        CoordinatorRecord(ShareGroupMetadataKey(group_id), None),
    ]
