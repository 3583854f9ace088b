"""The operations on streams groups."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.group.context import GroupHandlers
from millstream.coordinator.group.streams import describe, expiry, heartbeat, replay
from millstream.coordinator.group.streams.group import StreamsGroup
from millstream.protocol.generated.streams_group_describe import StreamsGroupDescribeRequest
from millstream.protocol.generated.streams_group_heartbeat import StreamsGroupHeartbeatRequest

HANDLERS: Final = GroupHandlers(
    group_type=StreamsGroup,
    operations=MappingProxyType(
        {
            StreamsGroupHeartbeatRequest: heartbeat.heartbeat,
            StreamsGroupDescribeRequest: describe.describe_groups,
        }
    ),
    record_keys=replay.KEYS,
    replay=replay.replay,
    resume=expiry.resume,
    expire=expiry.expire,
)
