"""Members that leave a streams group, or are removed from it."""

from __future__ import annotations

import logging

from millstream.coordinator.group.context import GroupContext
from millstream.coordinator.group.streams import records
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.coordinator.group.streams.member import StreamsGroupMember
from millstream.coordinator.group.streams.sessions import stop_all
from millstream.errors import GroupIdNotFound
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

_LOGGER = logging.getLogger(__name__)


def leave(
    context: GroupContext, request: StreamsGroupHeartbeatRequest
) -> StreamsGroupHeartbeatResponse:
    """Lets a member leave. Raises GroupIdNotFound, UnknownMemberId."""
    group = context.groups.find(request.group_id)
    if group is None:
        raise GroupIdNotFound(f"Group {request.group_id} not found.")
    if not isinstance(group, StreamsGroup):
        raise GroupIdNotFound(f"Group {request.group_id} is not a streams group.")
    member = group.member(request.member_id)
    if request.shutdown_application:
        group.request_shutdown(request.member_id)
    remove_member(context, group, member, "left")
    return StreamsGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=request.member_epoch
    )


def remove_member(
    context: GroupContext, group: StreamsGroup, member: StreamsGroupMember, reason: str
) -> None:
    """Removes a member.

    Its tasks are free at once: should it still work on them, transactions and epochs keep its writes out.
    """
    _LOGGER.info("group %s: %s: %s", group.group_id, member.member_id, reason)
    context.result.records += records.member_tombstones(group.group_id, member.member_id)
    context.result.records.append(
        records.group_metadata_record(
            group.group_id,
            group.epoch + 1,
            group.metadata_hash,
            group.validated_topology_epoch,
            group.last_assignment_configs,
        )
    )
    stop_all(context, group, member)
