"""StreamsGroupHeartbeat: join a streams group, stay in it, be given tasks, leave it (KIP-1071).

Version 0. Joining brings the topology; the first member's is the group's. Missing internal topics are created with the
number of partitions that the topology needs; until they are there the member is told so in the status, which also says
that source topics are missing or do not fit together, that another topology epoch is in force, that an assignment is
delayed, and that a member asks the application to shut down. Served while `streams.version` is finalized at 1. Not
supported, as in Kafka 4.3: static members, source topics by regular expression, warm-up tasks, changing a topology.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.group_coordination import (
    GroupCoordination,
    check_streams_protocol,
)
from millstream.broker.coordination.streams_internal_topics import StreamsInternalTopics
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.broker.storage.disk_pool import DiskPool
from millstream.coordinator.group.streams.heartbeat import StreamsHeartbeat
from millstream.coordinator.group.streams.request_check import (
    check_heartbeat,
    check_topic_names,
    topic_names,
)
from millstream.errors import KafkaError, TopicAuthorizationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import StreamsGroupStatus
from millstream.protocol.generated.streams_group_heartbeat import (
    Status,
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
    kept_whole="one member says all that it wants, to its shard in a thread",
)
_FAILURES_TOLD_MAX: Final = 3
_HEARTBEATS_BETWEEN_ATTEMPTS: Final = 2


@dataclass(frozen=True, slots=True)
class Services:
    access: Access
    config: DynamicConfig
    disk_pool: DiskPool
    group_coordinator: GroupCoordination
    long_work: LongWork
    metadata: Metadata
    streams_internal_topics: StreamsInternalTopics


async def handle(
    request: StreamsGroupHeartbeatRequest,
    context: RequestContext,
    services: Services,
) -> StreamsGroupHeartbeatResponse:
    try:
        check_streams_protocol(services.config, services.metadata)
        await _check(request, context, services)
        beat = await services.group_coordinator.shards.ask(
            request.group_id,
            request,
            StreamsHeartbeat,
            context.caller,
        )
    except KafkaError as error:
        return StreamsGroupHeartbeatResponse(error_code=error.code, error_message=str(error))
    if beat.missing_topics:
        refused = await _not_creatable(beat, context, services)
        if refused:
            _tell(beat.response, f"Unauthorized to CREATE on topics {', '.join(refused)}.")
        else:
            _create_missing_topics(beat, context, services.streams_internal_topics)
    return beat.response


async def _check(
    request: StreamsGroupHeartbeatRequest, context: RequestContext, services: Services
) -> None:
    """Raises GroupAuthorizationFailed, TopicAuthorizationFailed, StreamsInvalidTopology, InvalidRequest."""

    async def check(rule: Callable[[], None]) -> None:
        if context.is_long:
            await services.disk_pool.plan(rule)
        else:
            rule()

    services.access.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    if request.topology is not None:
        await check(partial(check_topic_names, request.topology))
        if await services.access.denied_of_many(
            context,
            Operation.DESCRIBE,
            ResourceType.TOPIC,
            dict.fromkeys(topic_names(request.topology)),
            long_work=services.long_work,
        ):
            raise TopicAuthorizationFailed
    await check(partial(check_heartbeat, request))


async def _not_creatable(
    beat: StreamsHeartbeat, context: RequestContext, services: Services
) -> list[str]:
    """Returns the missing topics that this client may not have created, for which none is."""
    access = services.access
    if access.allows_on_cluster(context, Operation.CREATE, quiet=True):
        return []
    refused = await access.denied_of_many(
        context,
        Operation.CREATE,
        ResourceType.TOPIC,
        beat.missing_topics,
        long_work=services.long_work,
    )
    return [name for name in beat.missing_topics if name in refused]


def _tell(response: StreamsGroupHeartbeatResponse, detail: str) -> None:
    """Says more of the missing topics."""
    for status in response.status or ():
        if status.status_code == StreamsGroupStatus.MISSING_INTERNAL_TOPICS:
            status.status_detail += f"; {detail}"
            return
    response.status = [
        *(response.status or ()),
        Status(StreamsGroupStatus.MISSING_INTERNAL_TOPICS, detail),
    ]


def _create_missing_topics(
    beat: StreamsHeartbeat, context: RequestContext, topics: StreamsInternalTopics
) -> None:
    """Not awaited: the next heartbeats tell how it went."""
    response = beat.response
    topics.create(
        beat.missing_topics,
        response.heartbeat_interval_ms * _HEARTBEATS_BETWEEN_ATTEMPTS,
        context.asking(ApiKey.CREATE_TOPICS),
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
