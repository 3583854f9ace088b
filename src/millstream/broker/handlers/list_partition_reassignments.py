"""ListPartitionReassignments: the partitions whose replicas are on their way to other brokers (KIP-455).

Version 0. Null topics: all. Partitions that do not move, and unknown ones, are left out. The active controller answers:
whoever has begun a move sees it at once, and takes no throttle away because a broker has not heard of it yet.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient, Metadata
from millstream.controller.partitions.replica_health import is_reassigning
from millstream.metadata.image import MetadataImage, PartitionImage
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    versions=range(1),
    permissions=(cluster_permission(Operation.DESCRIBE),),
    is_forwarded=True,
    lists=(Lists(("topics", "partition_indexes"), ("topics", "partitions")),),
)


def handle(
    request: ListPartitionReassignmentsRequest,
    context: RequestContext,
    *,
    controller: ControllerClient,
    metadata: Metadata,
) -> ListPartitionReassignmentsResponse | Awaitable[Message]:
    """Describes the moves where the controller leads; other nodes ask that one."""
    if not controller.leads():
        return controller.forward(ApiKey.LIST_PARTITION_REASSIGNMENTS, request, context)
    image = metadata.image
    response = ListPartitionReassignmentsResponse(error_message=None)
    for name, partitions in _asked(request, image):
        moving = [_described(p) for p in partitions if is_reassigning(p)]
        if moving:
            response.topics.append(OngoingTopicReassignment(name=name, partitions=moving))
    return response


def _asked(
    request: ListPartitionReassignmentsRequest, image: MetadataImage
) -> Iterable[tuple[str, Iterable[PartitionImage]]]:
    if request.topics is None:
        return ((topic.name, topic.partitions) for topic in image.topics)
    return (
        (
            topic.name,
            [
                found
                for index in topic.partition_indexes
                if (found := image.partition(topic.name, index)) is not None
            ],
        )
        for topic in request.topics
    )


def _described(partition: PartitionImage) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(
        partition_index=partition.partition,
        replicas=list(partition.replicas),
        adding_replicas=list(partition.adding_replicas),
        removing_replicas=list(partition.removing_replicas),
    )
