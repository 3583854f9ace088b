"""Replay of the records of streams groups: the only place where their hard state changes, live and at load."""

from __future__ import annotations

from typing import Final, TypeAlias, get_args

from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.streams import records
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import NOTHING_ASSIGNED, StreamsGroupMember
from millstream.coordinator.group.streams.topology import StreamsTopology
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.generated.group_records import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)

StreamsGroupKey: TypeAlias = (
    StreamsGroupMetadataKey
    | StreamsGroupTopologyKey
    | StreamsGroupMemberMetadataKey
    | StreamsGroupTargetAssignmentMetadataKey
    | StreamsGroupTargetAssignmentMemberKey
    | StreamsGroupCurrentMemberAssignmentKey
)

KEYS: Final = get_args(StreamsGroupKey)
_NO_EPOCH = -1


def replay(groups: Groups, record: CoordinatorRecord) -> None:
    """A value makes the group if need be: an empty group of another kind gives way to it.

    A tombstone of what is not there is passed over: compaction may have taken what it deletes.
    """
    key = record.key
    match key:
        case StreamsGroupMetadataKey():
            _replay_metadata(groups, key, record.value)
        case StreamsGroupTopologyKey():
            _replay_topology(groups, key, record.value)
        case StreamsGroupMemberMetadataKey():
            _replay_member(groups, key, record.value)
        case StreamsGroupTargetAssignmentMetadataKey():
            _replay_target_metadata(groups, key, record.value)
        case StreamsGroupTargetAssignmentMemberKey():
            _replay_target(groups, key, record.value)
        case StreamsGroupCurrentMemberAssignmentKey():
            _replay_current(groups, key, record.value)
        case _:
            raise AssertionError("a record of another kind of group")


def _existing(groups: Groups, group_id: str) -> StreamsGroup | None:
    group = groups.find(group_id)
    return group if isinstance(group, StreamsGroup) else None


def _ensured(groups: Groups, group_id: str) -> StreamsGroup:
    group = _existing(groups, group_id)
    if group is None:
        group = StreamsGroup(group_id)
        groups.put(group)
    return group


def _replay_metadata(groups: Groups, key: StreamsGroupMetadataKey, value: object) -> None:
    if isinstance(value, StreamsGroupMetadataValue):
        group = _ensured(groups, key.group_id)
        group.epoch = value.epoch
        group.metadata_hash = value.metadata_hash
        group.validated_topology_epoch = value.validated_topology_epoch
        configs = value.last_assignment_configs or ()
        group.last_assignment_configs = {config.key: config.value for config in configs}
    else:
        groups.remove_as(StreamsGroup, key.group_id)


def _replay_topology(groups: Groups, key: StreamsGroupTopologyKey, value: object) -> None:
    if isinstance(value, StreamsGroupTopologyValue):
        _ensured(groups, key.group_id).topology = StreamsTopology.from_value(value)
    elif (existing := _existing(groups, key.group_id)) is not None:
        existing.topology = None


def _replay_member(groups: Groups, key: StreamsGroupMemberMetadataKey, value: object) -> None:
    if isinstance(value, StreamsGroupMemberMetadataValue):
        group = _ensured(groups, key.group_id)
        member = _member(group, key.member_id)
        group.put_member(member.with_metadata(records.metadata_of(value)))
    elif (existing := _existing(groups, key.group_id)) is not None:
        existing.remove_member(key.member_id)


def _replay_target_metadata(
    groups: Groups, key: StreamsGroupTargetAssignmentMetadataKey, value: object
) -> None:
    if isinstance(value, StreamsGroupTargetAssignmentMetadataValue):
        group = _ensured(groups, key.group_id)
        group.assignment_epoch = value.assignment_epoch
        group.assignment_timestamp_ms = value.assignment_timestamp
    elif (existing := _existing(groups, key.group_id)) is not None:
        existing.assignment_epoch = _NO_EPOCH
        existing.assignment_timestamp_ms = 0


def _replay_target(
    groups: Groups, key: StreamsGroupTargetAssignmentMemberKey, value: object
) -> None:
    if isinstance(value, StreamsGroupTargetAssignmentMemberValue):
        group = _ensured(groups, key.group_id)
        group.target_assignment[key.member_id] = records.target_assignment_of(value)
    elif (existing := _existing(groups, key.group_id)) is not None:
        existing.target_assignment.pop(key.member_id, None)


def _replay_current(
    groups: Groups, key: StreamsGroupCurrentMemberAssignmentKey, value: object
) -> None:
    if isinstance(value, StreamsGroupCurrentMemberAssignmentValue):
        group = _ensured(groups, key.group_id)
        member = _member(group, key.member_id)
        group.put_member(member.with_current(records.current_assignment_of(value)))
        return
    existing = _existing(groups, key.group_id)
    if existing is not None and key.member_id in existing.members:
        member = existing.members[key.member_id]
        existing.put_member(member.with_current(NOTHING_ASSIGNED))


def _member(group: StreamsGroup, member_id: str) -> StreamsGroupMember:
    """The two records of a member come in either order."""
    return group.members.get(member_id) or StreamsGroupMember(member_id, current=NOTHING_ASSIGNED)
