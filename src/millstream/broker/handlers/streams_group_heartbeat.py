"""StreamsGroupHeartbeat: join a streams group, stay in it, be given tasks, leave it (KIP-1071).

Version 0. Joining brings the topology; the first member's is the group's. Missing internal topics are created with the number
of partitions that the topology needs; until they are there the member is told so in the status, which also says that source
topics are missing or do not fit together, that another topology epoch is in force, that an assignment is delayed, and that a
member asks the application to shut down. Served while `streams.version` is finalized at 1.
Not supported, as in Kafka 4.3: static members, source topics by regular expression, warm-up tasks, changing a topology.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.coordination.group_protocols import check_streams_protocol
from millstream.broker.coordination.streams_internal_topics import StreamsInternalTopics
from millstream.broker.node.services import Metadata
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.storage.disk_pool import DiskPool
from millstream.coordinator.group.streams.heartbeat import StreamsHeartbeat
from millstream.coordinator.group.streams.request_check import check_heartbeat
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    versions=range(1),
    permissions=(
        Permission(Operation.READ, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
        Permission(Operation.CREATE, ResourceType.CLUSTER),
        Permission(Operation.CREATE, ResourceType.TOPIC),
    ),
)
_FAILURES_TOLD_MAX: Final = 3
_HEARTBEATS_BETWEEN_ATTEMPTS: Final = 2


async def handle(
    request: StreamsGroupHeartbeatRequest,
    context: RequestContext,
    *,
    config: DynamicConfig,
    disk_pool: DiskPool,
    group_coordinator: GroupCoordination,
    metadata: Metadata,
    streams_internal_topics: StreamsInternalTopics,
) -> StreamsGroupHeartbeatResponse:
    try:
        check_streams_protocol(config, metadata)
        if context.is_long:
            await disk_pool.plan(partial(check_heartbeat, request))
        else:
            check_heartbeat(request)
        beat = await group_coordinator.ask(
            request.group_id,
            request,
            StreamsHeartbeat,
            context.caller,
        )
    except KafkaError as error:
        return StreamsGroupHeartbeatResponse(error_code=error.code, error_message=str(error))
    if beat.missing_topics:
        _create_missing_topics(beat, streams_internal_topics)
    return beat.response


def _create_missing_topics(beat: StreamsHeartbeat, topics: StreamsInternalTopics) -> None:
    """Not awaited: the next heartbeats tell how it went."""
    response = beat.response
    topics.create(
        beat.missing_topics, response.heartbeat_interval_ms * _HEARTBEATS_BETWEEN_ATTEMPTS
    )
    failures = topics.failures(beat.missing_topics.keys())
    if not failures:
        return
    told = ", ".join(f"{name} ({why})" for name, why in list(failures.items())[:_FAILURES_TOLD_MAX])
    more = len(failures) - _FAILURES_TOLD_MAX
    for status in response.status or ():
        if status.status_code == StreamsGroupStatus.MISSING_INTERNAL_TOPICS:
            rest = f" and {more} more" if more > 0 else ""
            status.status_detail += f"; Creation failed: {told}{rest}."
