"""DescribeGroups: what an administrator sees of classic groups."""

from __future__ import annotations

from typing import Final

from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import GroupIdNotFound
from millstream.protocol.enums import GroupState
from millstream.protocol.generated.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

_FIRST_VERSION_THAT_KNOWS_GROUP_ID_NOT_FOUND: Final = 6


def describe_groups(context: GroupContext, request: DescribeGroupsRequest) -> CoordinatorResult:
    version = context.caller.api_version
    described = [_described(context.groups, group_id, version) for group_id in request.groups]
    return context.reply(DescribeGroupsResponse(groups=described))


def _described(groups: Groups, group_id: str, version: int) -> DescribedGroup:
    """A group that does not exist is Dead; version 6 on it is an error too."""
    group = groups.find(group_id)
    if not isinstance(group, ClassicGroup):
        described = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD)
        if version >= _FIRST_VERSION_THAT_KNOWS_GROUP_ID_NOT_FOUND:
            described.error_code = GroupIdNotFound.code
            why = "not found" if group is None else "is not a classic group"
            described.error_message = str(GroupIdNotFound(f"Group {group_id} {why}."))
        return described
    is_stable = group.state is GroupState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if is_stable else "",
        members=_members(group, with_metadata=is_stable),
    )


def _members(group: ClassicGroup, *, with_metadata: bool) -> list[DescribedGroupMember]:
    """Metadata means something only while a generation is in force; assignments are those of the last one."""
    return [
        DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.settings.metadata(group.protocol) if with_metadata else b"",
            member_assignment=group.assignments.get(member.member_id, b""),
        )
        for member in group.members.values()
    ]
