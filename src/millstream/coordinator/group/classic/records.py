"""The records of classic groups, as Kafka 4.3 writes them.

Owns the mapping between group state and record messages. Pure data: what to write and what it says, not when.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.classic.member import ClassicGroupMember, JoinSettings
from millstream.coordinator.record import CoordinatorRecord
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

GROUP_METADATA_VALUE_VERSION: Final = 3


def group_metadata_record(
    group: ClassicGroup, assignments: Mapping[str, bytes]
) -> CoordinatorRecord:
    """Returns the group as it stands, with `assignments` by member id.

    A member without one gets an empty assignment.
    """
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=group.state_timestamp_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.settings.rebalance_timeout_ms,
                session_timeout=member.settings.session_timeout_ms,
                subscription=member.settings.metadata(group.protocol),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in group.members.values()
        ],
    )
    return CoordinatorRecord(
        GroupMetadataKey(group=group.group_id), value, GROUP_METADATA_VALUE_VERSION
    )


def group_from_value(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """Returns a group as the log remembers it: Empty or Stable, no request waiting, no session running yet."""
    group = ClassicGroup(group_id, value.current_state_timestamp)
    for stored in value.members:
        subscription = bytes(stored.subscription)
        settings = JoinSettings(
            session_timeout_ms=stored.session_timeout,
            rebalance_timeout_ms=_rebalance_timeout_ms(stored),
            protocols=((value.protocol or "", subscription),),
        )
        member = ClassicGroupMember(
            stored.member_id,
            stored.group_instance_id,
            stored.client_id,
            stored.client_host,
            settings,
        )
        group.add(member, value.protocol_type)
    group.state = GroupState.STABLE if group.members else GroupState.EMPTY
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol = value.protocol
    group.leader = value.leader
    group.assignments = assignments_of(value)
    return group


def assignments_of(value: GroupMetadataValue) -> Mapping[str, bytes]:
    return {member.member_id: bytes(member.assignment) for member in value.members}


def _rebalance_timeout_ms(stored: MemberMetadata) -> int:
    """Version 0 of the record had none and meant the session timeout."""
    return stored.session_timeout if stored.rebalance_timeout == -1 else stored.rebalance_timeout
