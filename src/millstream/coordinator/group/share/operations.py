"""The operations on share groups."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.group.context import GroupHandlers
from millstream.coordinator.group.requests import TopicsChanged
from millstream.coordinator.group.share import (
    describe,
    expiry,
    heartbeat,
    initialization,
    offsets,
    replay,
    requests,
)
from millstream.coordinator.group.share.group import ShareGroup
from millstream.protocol.generated.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from millstream.protocol.generated.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from millstream.protocol.generated.share_group_describe import ShareGroupDescribeRequest
from millstream.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest

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
    resume=expiry.resume,
    expire=expiry.expire,
)
