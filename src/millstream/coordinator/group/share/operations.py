"""The operations on share groups, and their timers: those that fire remove members whose time is up, those of a group
that has been loaded begin anew.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.group.context import (
    GroupContext,
    GroupHandlers,
    GroupTimer,
    GroupTimerKind,
    TopicsChanged,
)
from millstream.coordinator.group.share import (
    describe,
    heartbeat,
    initialization,
    offsets,
    replay,
    requests,
    sessions,
)
from millstream.coordinator.group.share.group import ShareGroup
from millstream.coordinator.group.share.removal import remove_member
from millstream.protocol.generated.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from millstream.protocol.generated.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from millstream.protocol.generated.share_group_describe import ShareGroupDescribeRequest
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest


def resume(context: GroupContext, group: ShareGroup) -> None:
    """The group has been loaded: each member has a whole session to show itself."""
    for member in group.members.values():
        sessions.resume(context, group, member)


def expire(context: GroupContext, group: ShareGroup, timer: GroupTimer) -> None:
    """Handles a timer of the group that has fired."""
    member = group.members.get(timer.member_id)
    if timer.kind is GroupTimerKind.SESSION and member is not None:
        remove_member(context, group, member, "session expired")


HANDLERS: Final = GroupHandlers(
    group_type=ShareGroup,
    operations=MappingProxyType(
        {
            ShareGroupHeartbeatRequest: heartbeat.heartbeat,
            ShareGroupDescribeRequest: describe.describe_groups,
            AlterShareGroupOffsetsRequest: offsets.alter_offsets,
            DeleteShareGroupOffsetsRequest: offsets.begin_deletion_of_offsets,
            requests.OffsetsDeleted: offsets.finish_deletion_of_offsets,
            requests.DeleteGroupState: offsets.begin_deletion_of_group,
            requests.PartitionsInitialized: initialization.finish_initialization,
            requests.PartitionsNotInitialized: initialization.abandon_initialization,
            requests.InitializedPartitions: initialization.list_initialized,
            TopicsChanged: initialization.forget_deleted_topics,
        }
    ),
    record_keys=replay.KEYS,
    replay=replay.replay,
    resume=resume,
    expire=expire,
)
