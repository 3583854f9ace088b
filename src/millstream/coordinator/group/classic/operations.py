"""The operations on classic groups."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from millstream.coordinator.group.classic import (
    describe,
    expiry,
    heartbeat,
    join,
    leave,
    replay,
    sync,
)
from millstream.coordinator.group.classic.group import ClassicGroup
from millstream.coordinator.group.context import GroupHandlers
from millstream.protocol.generated.describe_groups import DescribeGroupsRequest
from millstream.protocol.generated.heartbeat import HeartbeatRequest
from millstream.protocol.generated.join_group import JoinGroupRequest
from millstream.protocol.generated.leave_group import LeaveGroupRequest
from millstream.protocol.generated.sync_group import SyncGroupRequest

HANDLERS: Final = GroupHandlers(
    group_type=ClassicGroup,
    operations=MappingProxyType(
        {
            JoinGroupRequest: join.join_group,
            SyncGroupRequest: sync.sync_group,
            HeartbeatRequest: heartbeat.heartbeat,
            LeaveGroupRequest: leave.leave_group,
            DescribeGroupsRequest: describe.describe_groups,
        }
    ),
    record_keys=replay.KEYS,
    replay=replay.replay,
    resume=expiry.resume,
    expire=expiry.expire,
)
