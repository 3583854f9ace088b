"""The operations on consumer groups."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.group.consumer import describe, expiry, heartbeat, regex, replay
from millstream.coordinator.group.consumer.group import ConsumerGroup
from millstream.coordinator.group.context import GroupHandlers
from millstream.protocol.generated.consumer_group_describe import ConsumerGroupDescribeRequest
from millstream.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

HANDLERS: Final = GroupHandlers(
    group_type=ConsumerGroup,
    operations=MappingProxyType(
        {
            ConsumerGroupHeartbeatRequest: heartbeat.heartbeat,
            ConsumerGroupDescribeRequest: describe.describe_groups,
            regex.TopicsMatched: regex.take_matches,
        }
    ),
    record_keys=replay.KEYS,
    replay=replay.replay,
    resume=expiry.resume,
    expire=expiry.expire,
)
