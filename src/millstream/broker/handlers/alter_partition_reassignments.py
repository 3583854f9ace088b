"""AlterPartitionReassignments: replicas of partitions move to other brokers, or a move is called off (KIP-455).

Versions 0-1; 1 may ask that the number of replicas stays. One result for each partition: UNKNOWN_TOPIC_OR_PARTITION,
INVALID_REPLICA_ASSIGNMENT for brokers that are not registered, named twice or not at all, NO_REASSIGNMENT_IN_PROGRESS where there is
nothing to call off.
Not supported: moves that add replicas, which on one node there are none of, are not driven to their end yet.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.node.services import ControllerClient
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.controller.apis import ALTER_PARTITION_REASSIGNMENTS
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    versions=range(2),
    permissions=(cluster_permission(Operation.ALTER),),
)


def handle(
    request: AlterPartitionReassignmentsRequest,
    context: RequestContext,
    *,
    controller: ControllerClient,
) -> Awaitable[AlterPartitionReassignmentsResponse]:
    return controller.ask(ALTER_PARTITION_REASSIGNMENTS, request, context)
