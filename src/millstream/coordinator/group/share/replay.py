"""Replay of the records of share groups: the only place where their hard state changes, live and at load."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeAlias, get_args

from millstream.coordinator.assignors.partition_assignor import Partitions
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.share.group import FIRST_EPOCH, ShareGroup
from millstream.coordinator.group.share.member import ShareGroupMember
from millstream.coordinator.group.share.state_partitions import StatePartitions
from millstream.coordinator.record import CoordinatorRecord
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
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitionsInfo,
)

ShareGroupKey: TypeAlias = (
    ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
    | ShareGroupStatePartitionMetadataKey
)


KEYS: Final = get_args(ShareGroupKey)


def replay(groups: Groups, record: CoordinatorRecord) -> None:
    """A record about a group that is gone, or is of another kind by now, is one that its tombstones have made void."""
    key = record.key
    assert isinstance(key, ShareGroupKey), "a record of another kind of group"
    group = groups.find(key.group_id)
    if isinstance(group, ShareGroup):
        _replay(groups, group, record)
    elif group is None and record.value is not None:
        created = ShareGroup(key.group_id)
        groups.put(created)
        _replay(groups, created, record)


def _replay(groups: Groups, group: ShareGroup, record: CoordinatorRecord) -> None:
    match record.key, record.value:
        case ShareGroupMetadataKey(), None:
            groups.remove_as(ShareGroup, group.group_id)
        case ShareGroupMetadataKey(), ShareGroupMetadataValue() as value:
            group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
        case ShareGroupMemberMetadataKey() as key, None:
            group.members.pop(key.member_id, None)
        case ShareGroupMemberMetadataKey() as key, ShareGroupMemberMetadataValue() as value:
            group.members[key.member_id] = _subscribed(_member(group, key.member_id), value)
        case ShareGroupTargetAssignmentMetadataKey(), None:
            group.assignment_epoch, group.assignment_timestamp_ms = FIRST_EPOCH, 0
        case (
            ShareGroupTargetAssignmentMetadataKey(),
            ShareGroupTargetAssignmentMetadataValue() as value,
        ):
            group.assignment_epoch = value.assignment_epoch
            group.assignment_timestamp_ms = value.assignment_timestamp
        case _:
            _replay_partitions(group, record)


def _replay_partitions(group: ShareGroup, record: CoordinatorRecord) -> None:
    match record.key, record.value:
        case ShareGroupTargetAssignmentMemberKey() as key, None:
            group.targets.pop(key.member_id, None)
        case (
            ShareGroupTargetAssignmentMemberKey() as key,
            ShareGroupTargetAssignmentMemberValue() as value,
        ):
            group.targets[key.member_id] = _partitions(value.topic_partitions)
        case ShareGroupCurrentMemberAssignmentKey() as key, None:
            if key.member_id in group.members:
                group.members[key.member_id] = _unassigned(group.members[key.member_id])
        case (
            ShareGroupCurrentMemberAssignmentKey() as key,
            ShareGroupCurrentMemberAssignmentValue() as value,
        ):
            group.members[key.member_id] = _assigned(_member(group, key.member_id), value)
        case ShareGroupStatePartitionMetadataKey(), None:
            group.state_partitions = StatePartitions()
        case (
            ShareGroupStatePartitionMetadataKey(),
            ShareGroupStatePartitionMetadataValue() as value,
        ):
            group.state_partitions = StatePartitions(
                _partitions(value.initializing_topics),
                _partitions(value.initialized_topics),
                frozenset(topic.topic_id for topic in value.deleting_topics),
            )
        case _:
            raise AssertionError("a record of another kind of group")


def _member(group: ShareGroup, member_id: str) -> ShareGroupMember:
    return group.members.get(member_id) or ShareGroupMember(member_id)


def _subscribed(member: ShareGroupMember, value: ShareGroupMemberMetadataValue) -> ShareGroupMember:
    return replace(
        member,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topic_names=frozenset(value.subscribed_topic_names),
    )


def _assigned(
    member: ShareGroupMember, value: ShareGroupCurrentMemberAssignmentValue
) -> ShareGroupMember:
    return replace(
        member,
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        assigned=_partitions(value.assigned_partitions),
    )


def _unassigned(member: ShareGroupMember) -> ShareGroupMember:
    return replace(member, member_epoch=-1, previous_member_epoch=-1, assigned={})


def _partitions(
    topics: Iterable[
        TopicPartition | TopicPartitionsInfo | ShareGroupCurrentMemberAssignmentValueTopicPartitions
    ],
) -> Partitions:
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics if topic.partitions}
