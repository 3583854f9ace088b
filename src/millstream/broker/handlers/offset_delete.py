"""OffsetDelete: forget some committed offsets of a group that may be alive.

Version 0. Topics that a member of the group reads are refused one by one (GROUP_SUBSCRIBED_TO_TOPIC), and so
are topics and partitions that do not exist; a group with members whose subscriptions cannot be told is
refused altogether (NON_EMPTY_GROUP).
"""

from __future__ import annotations

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Lists, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import TopicAuthorizationFailed, UnknownTopicOrPartition
from millstream.metadata.image import MetadataImage
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.OFFSET_DELETE,
    versions=range(1),
    permissions=(
        Permission(Operation.DELETE, ResourceType.GROUP),
        Permission(Operation.READ, ResourceType.TOPIC),
    ),
    lists=(Lists(("topics", "partitions"), ("topics", "partitions"), 200),),
)


async def handle(
    request: OffsetDeleteRequest,
    context: RequestContext,
    *,
    access: Access,
    group_coordinator: GroupCoordination,
    metadata: Metadata,
) -> OffsetDeleteResponse:
    """Deletes what exists and may be read. Raises GroupAuthorizationFailed."""
    access.check(context, Operation.DELETE, ResourceType.GROUP, request.group_id)
    image = metadata.image
    denied = access.denied(
        context, Operation.READ, ResourceType.TOPIC, (topic.name for topic in request.topics)
    )
    known = [_known_part(topic, image) for topic in request.topics if topic.name not in denied]
    response = await group_coordinator.shards.ask(
        request.group_id,
        request.replaced(topics=[topic for topic in known if topic.partitions]),
        OffsetDeleteResponse,
        context.caller,
    )
    codes = {
        (topic.name, p.partition_index): p.error_code
        for topic in response.topics
        for p in topic.partitions
    }
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                asked.name,
                [
                    OffsetDeleteResponsePartition(
                        p.partition_index,
                        TopicAuthorizationFailed.code
                        if asked.name in denied
                        else codes.get(
                            (asked.name, p.partition_index), UnknownTopicOrPartition.code
                        ),
                    )
                    for p in asked.partitions
                ],
            )
            for asked in request.topics
        ]
    )


def _known_part(topic: OffsetDeleteRequestTopic, image: MetadataImage) -> OffsetDeleteRequestTopic:
    return OffsetDeleteRequestTopic(
        topic.name,
        [
            OffsetDeleteRequestPartition(p.partition_index)
            for p in topic.partitions
            if image.partition(topic.name, p.partition_index) is not None
        ],
    )
