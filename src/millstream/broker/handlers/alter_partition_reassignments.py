"""AlterPartitionReassignments: replicas of partitions move to other brokers, or a move is called off (KIP-455).

Versions 0-1; 1 may ask that the number of replicas stays. One result for each partition: UNKNOWN_TOPIC_OR_PARTITION,
INVALID_REPLICA_ASSIGNMENT for brokers that are not registered, named twice or not at all, NO_REASSIGNMENT_IN_PROGRESS
where there is nothing to call off. Not supported: a move that waits for ever. Kafka 4.3.1 has a replica that an earlier
move adds, and that is not wanted any more, both among those that it adds and those that it removes.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.partitions.reassignments import ALTER_PARTITION_REASSIGNMENTS
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    versions=range(2),
    permissions=(cluster_permission(Operation.ALTER),),
    is_forwarded=True,
    lists=(Lists(("topics", "partitions"), ("responses", "partitions")),),
)


def handle(
    request: AlterPartitionReassignmentsRequest,
    context: RequestContext,
    *,
    controller: ControllerClient,
) -> Awaitable[AlterPartitionReassignmentsResponse]:
    return controller.ask(ALTER_PARTITION_REASSIGNMENTS, request, context)


def failed(
    request: AlterPartitionReassignmentsRequest, _version: int, error: KafkaError
) -> AlterPartitionReassignmentsResponse:
    """Returns the response; it says the error at its top and in every partition."""
    return AlterPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=str(error),
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=asked.partition_index,
                        error_code=error.code,
                        error_message=str(error),
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
