"""The records of consumer groups, as Kafka 4.3 writes them: keys 3 and 5 to 8, and 16.

Pure data: what to write, not when.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.consumer.member import (
    ClassicMemberMetadata,
    ConsumerGroupMember,
    PartitionEpochs,
)
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.generated.group_records import (
    ClassicMemberMetadata as ClassicMemberMetadataValue,
)
from millstream.protocol.generated.group_records import (
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupCurrentMemberAssignmentValueTopicPartitions,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
)


def member_record(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=None if member.classic is None else _classic(member.classic),
    )
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member.member_id), value)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    value = ConsumerGroupMetadataValue(epoch, metadata_hash)
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id), value)


def target_record(group_id: str, member_id: str, target: Partitions) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMemberValue(
        [TopicPartition(topic_id, sorted(ps)) for topic_id, ps in sorted(target.items())]
    )
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), value)


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id), value)


def current_assignment_record(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state,
        assigned_partitions=_owned(member.assigned),
        partitions_pending_revocation=_owned(member.pending_revocation),
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id)
    return CoordinatorRecord(key, value)


def regex_record(
    group_id: str, regex: str, topics: Iterable[str], version: int, timestamp_ms: int
) -> CoordinatorRecord:
    value = ConsumerGroupRegularExpressionValue(sorted(topics), version, timestamp_ms)
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id, regex), value)


# Tombstones


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id, regex), None)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Returns the tombstone of a record that Kafka 4.0 and older wrote."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id), None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Returns the tombstones of a member, in this order: what a member owns goes before the member."""
    return [
        CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member_id), None),
    ]


def group_tombstones(
    group_id: str, members: Collection[str], regexes: Iterable[str]
) -> list[CoordinatorRecord]:
    """Returns the tombstones of everything of the group, what depends on others first."""
    return [
        *(
            CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id, member), None)
            for member in members
        ),
        *(
            CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id, member), None)
            for member in members
        ),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id), None),
        *(
            CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id, member), None)
            for member in members
        ),
        *(regex_tombstone(group_id, regex) for regex in regexes),
        partition_metadata_tombstone(group_id),
        CoordinatorRecord(ConsumerGroupMetadataKey(group_id), None),
    ]


def _classic(classic: ClassicMemberMetadata) -> ClassicMemberMetadataValue:
    protocols = [ClassicProtocol(name, metadata) for name, metadata in classic.protocols]
    return ClassicMemberMetadataValue(classic.session_timeout_ms, protocols)


def _owned(
    owned: PartitionEpochs,
) -> list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]:
    return [
        ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(
            topic_id, sorted(epochs), [epochs[partition] for partition in sorted(epochs)]
        )
        for topic_id, epochs in sorted(owned.items())
    ]
