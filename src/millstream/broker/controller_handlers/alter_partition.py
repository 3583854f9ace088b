"""AlterPartition: the leader of a partition says who is in sync with it, and that it has recovered.

Versions 2-3; the first tells no broker epochs of the replicas. Errors of a partition stand in its place.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.partitions.alter_partition import ALTER_PARTITION
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ALTER_PARTITION,
    versions=range(2, 4),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="planned in a thread, by the number of partitions",
)


def handle(
    request: AlterPartitionRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[AlterPartitionResponse]:
    return controller.ask(ALTER_PARTITION, request, context)
