"""How members leave a streams group: because they say so, or because nobody hears of them in time."""

from __future__ import annotations

from millstream.coordinator.group.context import OperationContext
from millstream.coordinator.group.groups import Groups
from millstream.coordinator.group.streams import records
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import MemberState
from millstream.coordinator.group.streams.sessions import stop_all
from millstream.errors import GroupIdNotFound
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)


def handle_leave(
    groups: Groups, request: StreamsGroupHeartbeatRequest, context: OperationContext
) -> StreamsGroupHeartbeatResponse:
    """Raises GroupIdNotFound, UnknownMemberId."""
    group = groups.find(request.group_id)
    if group is None:
        raise GroupIdNotFound(f"Group {request.group_id} not found.")
    if not isinstance(group, StreamsGroup):
        raise GroupIdNotFound(f"Group {request.group_id} is not a streams group.")
    group.member(request.member_id)
    if request.shutdown_application:
        group.request_shutdown(request.member_id)
    remove_member(group, request.member_id, context)
    return StreamsGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=request.member_epoch
    )


def expire_session(group: StreamsGroup, member_id: str, context: OperationContext) -> None:
    """Nothing has been heard of the member for a whole session."""
    if member_id in group.members:
        remove_member(group, member_id, context)


def expire_rebalance(group: StreamsGroup, member_id: str, context: OperationContext) -> None:
    """The member was told to give tasks back and has not done so in time."""
    member = group.members.get(member_id)
    if member is not None and member.current.state is MemberState.UNREVOKED_TASKS:
        remove_member(group, member_id, context)


def remove_member(group: StreamsGroup, member_id: str, context: OperationContext) -> None:
    """Its tasks are free at once: should it still work on them, transactions and epochs keep its writes out."""
    context.result.records += records.member_tombstones(group.group_id, member_id)
    context.result.records.append(
        records.group_metadata_record(
            group.group_id,
            group.epoch + 1,
            group.metadata_hash,
            group.validated_topology_epoch,
            group.last_assignment_configs,
        )
    )
    stop_all(group.group_id, member_id, context)
