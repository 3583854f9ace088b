"""Replay of the records of classic groups.

At load the record is the group. Live, the group is ahead of its record in everything but the assignment: who is a
member, and who waits, is soft state, which a new coordinator learns from the members.
"""

from __future__ import annotations

from typing import Final

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.records import assignments_of, group_from_value
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.group_records import GroupMetadataKey, GroupMetadataValue

KEYS: Final = (GroupMetadataKey,)


def replay(groups: Groups, record: CoordinatorRecord) -> None:
    match record.key, record.value:
        case GroupMetadataKey() as key, None:
            groups.remove_as(ClassicGroup, key.group)
        case GroupMetadataKey() as key, GroupMetadataValue() as value:
            _replay_group(groups, key.group, value)
        case _:
            raise AssertionError("a record of another kind of group")


def _replay_group(groups: Groups, group_id: str, value: GroupMetadataValue) -> None:
    group = groups.find(group_id)
    if not isinstance(group, ClassicGroup) or not groups.is_loaded:
        groups.put(group_from_value(group_id, value))
        return
    group.assignments = assignments_of(value)
    if value.members and group.state is GroupState.COMPLETING_REBALANCE:
        assert value.generation == group.generation, "an assignment of another generation"
        group.transition_to(GroupState.STABLE, group.state_timestamp_ms)
