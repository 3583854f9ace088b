"""StreamsGroupDescribe: state, topology, members and tasks of streams groups (KIP-1071).

Version 0. Each group has its own error: GROUP_ID_NOT_FOUND also for a group of another kind. The topology has
the derived numbers of partitions once it can run. The operations a client may use can be asked for: without
an authorizer, all there are.
"""

from __future__ import annotations

from collections.abc import Iterator

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.coordination.group_coordination import (
    GroupCoordination,
    check_streams_protocol,
)
from millstream.broker.long_work import LongWork
from millstream.broker.requests.access import Access, withhold_groups
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import InvalidGroupId, KafkaError, TopicAuthorizationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.STREAMS_GROUP_DESCRIBE,
    versions=range(1),
    permissions=(
        Permission(Operation.DESCRIBE, ResourceType.GROUP),
        Permission(Operation.DESCRIBE, ResourceType.TOPIC),
    ),
    lists=(Lists(("group_ids",), ("groups",)),),
    tells_all=True,
)


async def handle(
    request: StreamsGroupDescribeRequest,
    context: RequestContext,
    *,
    access: Access,
    config: DynamicConfig,
    group_coordinator: GroupCoordination,
    long_work: LongWork,
    metadata: Metadata,
) -> StreamsGroupDescribeResponse:
    check_streams_protocol(config, metadata)
    groups = [
        await _describe(group_id, context, access=access, group_coordinator=group_coordinator)
        for group_id in request.group_ids
    ]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = access.operations(
                    context, ResourceType.GROUP, group.group_id
                )
    return StreamsGroupDescribeResponse(
        groups=await withhold_groups(
            access, context, groups, _topics, _withheld, long_work=long_work
        )
    )


def failed(
    request: StreamsGroupDescribeRequest, _version: int, error: KafkaError
) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(
        groups=[
            DescribedGroup(error_code=error.code, group_id=group) for group in request.group_ids
        ]
    )


async def _describe(
    group_id: str,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
) -> DescribedGroup:
    request = StreamsGroupDescribeRequest(group_ids=[group_id])
    try:
        access.check(context, Operation.DESCRIBE, ResourceType.GROUP, group_id)
        if not group_id:
            raise InvalidGroupId
        response = await group_coordinator.shards.ask(
            group_id,
            request,
            StreamsGroupDescribeResponse,
            context.caller,
        )
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return response.groups[0]


def _withheld(group: DescribedGroup) -> DescribedGroup:
    """Returns the answer for a group with a topic that the client may not describe."""
    return DescribedGroup(
        group_id=group.group_id,
        error_code=TopicAuthorizationFailed.code,
        error_message="The described group uses topics that the client is not authorized to describe.",
    )


def _topics(group: DescribedGroup) -> Iterator[str]:
    """Yields the topics of its topology."""
    for subtopology in () if group.topology is None else group.topology.subtopologies or ():
        yield from subtopology.source_topics
        yield from subtopology.repartition_sink_topics
        for topic in (*subtopology.repartition_source_topics, *subtopology.state_changelog_topics):
            yield topic.name
