"""OffsetDelete: forget some committed offsets of a group that may be alive.

Version 0. Topics that a member of the group reads are refused one by one (GROUP_SUBSCRIBED_TO_TOPIC), and so are topics and
partitions that do not exist; a group with members whose subscriptions cannot be told is refused altogether (NON_EMPTY_GROUP).
"""

from __future__ import annotations

from millstream.broker.coordination.group_coordination import GroupCoordination
from millstream.broker.node.services import Metadata
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import UnknownTopicOrPartition
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
)


async def handle(
    request: OffsetDeleteRequest,
    context: RequestContext,
    *,
    group_coordinator: GroupCoordination,
    metadata: Metadata,
) -> OffsetDeleteResponse:
    image = metadata.image
    known = [_known_part(topic, image) for topic in request.topics]
    response = await group_coordinator.ask(
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
                        codes.get((asked.name, p.partition_index), UnknownTopicOrPartition.code),
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
