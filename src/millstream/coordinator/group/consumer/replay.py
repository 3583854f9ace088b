"""Replay of the records of consumer groups: the only place where their hard state changes, live and at load.

A compacted log may begin in the middle of a group's story, so a tombstone of what is not there is nothing, and what a
later record says counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeAlias, get_args

from millstream.coordinator.group.consumer.group import (
    FIRST_EPOCH,
    ConsumerGroup,
    ResolvedRegex,
)
from millstream.coordinator.group.consumer.member import (
    ClassicMemberMetadata,
    ConsumerGroupMember,
    ConsumerGroupMemberState,
    PartitionEpochs,
)
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.generated.group_records import (
    ClassicMemberMetadata as ClassicMemberMetadataValue,
)
from millstream.protocol.generated.group_records import (
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
)

ConsumerGroupKey: TypeAlias = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)

KEYS: Final = get_args(ConsumerGroupKey)
_STATES: Final = {int(state): state for state in ConsumerGroupMemberState}


def replay(groups: Groups, record: CoordinatorRecord) -> None:
    key = record.key
    assert isinstance(key, ConsumerGroupKey), "a record of another kind of group"
    group = groups.find(key.group_id)
    if not isinstance(group, ConsumerGroup):
        if record.value is None:
            return
        # Offsets may have been replayed first, which made it a group that only stores offsets.
        group = ConsumerGroup(key.group_id)
        groups.put(group)
    if isinstance(key, ConsumerGroupMetadataKey) and record.value is None:
        groups.remove_as(ConsumerGroup, key.group_id)
    else:
        apply(group, record)


def apply(group: ConsumerGroup, record: CoordinatorRecord) -> None:
    match record.key, record.value:
        case ConsumerGroupMetadataKey(), ConsumerGroupMetadataValue() as value:
            group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
        case ConsumerGroupPartitionMetadataKey(), value:
            group.has_partition_metadata = value is not None
        case ConsumerGroupMemberMetadataKey() as key, None:
            group.remove_member(key.member_id)
        case ConsumerGroupMemberMetadataKey() as key, ConsumerGroupMemberMetadataValue() as value:
            group.put_member(_subscribed(_member(group, key.member_id), value))
        case ConsumerGroupTargetAssignmentMetadataKey(), None:
            group.assignment_epoch, group.assignment_timestamp_ms = FIRST_EPOCH, 0
        case _, ConsumerGroupTargetAssignmentMetadataValue() as value:
            group.assignment_epoch = value.assignment_epoch
            group.assignment_timestamp_ms = value.assignment_timestamp
        case ConsumerGroupTargetAssignmentMemberKey() as key, None:
            group.targets.pop(key.member_id, None)
        case (
            ConsumerGroupTargetAssignmentMemberKey() as key,
            ConsumerGroupTargetAssignmentMemberValue() as value,
        ):
            group.targets[key.member_id] = {
                each.topic_id: frozenset(each.partitions) for each in value.topic_partitions
            }
        case ConsumerGroupCurrentMemberAssignmentKey() as key, None:
            group.clear_assignment(key.member_id)
        case (
            ConsumerGroupCurrentMemberAssignmentKey() as key,
            ConsumerGroupCurrentMemberAssignmentValue() as value,
        ):
            group.put_member(_assigned(_member(group, key.member_id), value))
        case ConsumerGroupRegularExpressionKey() as key, None:
            group.regexes.pop(key.regular_expression, None)
        case (
            ConsumerGroupRegularExpressionKey() as key,
            ConsumerGroupRegularExpressionValue() as value,
        ):
            topics = frozenset(value.topics)
            resolved = ResolvedRegex(topics, value.version, value.timestamp)
            group.regexes[key.regular_expression] = resolved
        case _:
            raise AssertionError("a record of another kind of group")


def _member(group: ConsumerGroup, member_id: str) -> ConsumerGroupMember:
    return group.members.get(member_id) or ConsumerGroupMember(member_id)


def _subscribed(
    member: ConsumerGroupMember, value: ConsumerGroupMemberMetadataValue
) -> ConsumerGroupMember:
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topic_names=frozenset(value.subscribed_topic_names),
        topic_regex=value.subscribed_topic_regex or "",
        server_assignor=value.server_assignor,
        classic=_classic(value.classic_member_metadata),
    )


def _classic(metadata: ClassicMemberMetadataValue | None) -> ClassicMemberMetadata | None:
    if metadata is None:
        return None
    protocols = tuple((each.name, bytes(each.metadata)) for each in metadata.supported_protocols)
    return ClassicMemberMetadata(metadata.session_timeout_ms, protocols)


def _assigned(
    member: ConsumerGroupMember, value: ConsumerGroupCurrentMemberAssignmentValue
) -> ConsumerGroupMember:
    return replace(
        member,
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=_STATES.get(value.state, ConsumerGroupMemberState.UNKNOWN),
        assigned=_owned(value.assigned_partitions, value.member_epoch),
        pending_revocation=_owned(value.partitions_pending_revocation, value.member_epoch),
    )


def _owned(
    topics: Iterable[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], member_epoch: int
) -> PartitionEpochs:
    """Without epochs of their own the partitions count as given in the member's."""
    return {
        each.topic_id: dict(
            zip(
                each.partitions,
                each.assignment_epochs or [member_epoch] * len(each.partitions),
                strict=True,
            )
        )
        for each in topics
        if each.partitions
    }
