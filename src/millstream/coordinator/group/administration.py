"""ListGroups and DeleteGroups: operations on groups of every kind."""

from __future__ import annotations

from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.offsets.delete import delete_all_offsets
from millstream.coordinator.result import CoordinatorResult
from millstream.errors import KafkaError
from millstream.protocol.generated.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from millstream.protocol.generated.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)


def list_groups(context: GroupContext, request: ListGroupsRequest) -> CoordinatorResult:
    """An empty filter lets everything through; case does not matter."""
    states = {state.lower() for state in request.states_filter}
    types = {group_type.lower() for group_type in request.types_filter}
    listed = [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type_name,
            group_state=group.state_name,
            group_type=group.kind,
        )
        for group in context.groups
        if (not states or group.state_name.lower() in states) and (not types or group.kind in types)
    ]
    return context.reply(ListGroupsResponse(groups=listed))


def delete_groups(context: GroupContext, request: DeleteGroupsRequest) -> CoordinatorResult:
    """Deletes groups. Each group has its own error; a name given twice is deleted once."""
    results = [
        DeletableGroupResult(group_id=group_id, error_code=_delete(context, group_id))
        for group_id in dict.fromkeys(request.groups_names)
    ]
    return context.reply(DeleteGroupsResponse(results=results))


def _delete(context: GroupContext, group_id: str) -> int:
    """Gives the error code.

    Tombstones of the offsets come first: what follows a tombstone of the group would revive it.
    """
    try:
        group = context.groups.get(group_id)
        group.check_may_delete()
    except KafkaError as error:
        return error.code
    delete_all_offsets(context, group_id)
    context.result.records += group.tombstones()
    return 0
