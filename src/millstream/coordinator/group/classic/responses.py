"""The answers to JoinGroup, which several operations give: to members that join, and to
those that wait for a generation.
"""

from __future__ import annotations

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.errors import KafkaError
from millstream.protocol.generated.join_group import JoinGroupResponse, JoinGroupResponseMember


def generation_response(
    group: ClassicGroup, member_id: str, *, with_members: bool
) -> JoinGroupResponse:
    """Returns the current generation as one member is told of it. Only its leader needs to know the members."""
    return JoinGroupResponse(
        member_id=member_id,
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader or "",
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.settings.metadata(group.protocol),
            )
            for member in group.members.values()
        ]
        if with_members
        else [],
    )


def join_error(member_id: str, error: KafkaError) -> JoinGroupResponse:
    """Returns an answer to JoinGroup that says no. `member_id`: the one to use from now on, or empty."""
    return JoinGroupResponse(error_code=error.code, member_id=member_id, protocol_name=None)
