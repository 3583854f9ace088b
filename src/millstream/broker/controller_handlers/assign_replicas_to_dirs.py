"""AssignReplicasToDirs: a broker tells in which of its data directories replicas live (KIP-858).

Version 0. Errors of a partition stand in its place.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.partitions.replica_directories import ASSIGN_REPLICAS_TO_DIRS
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    versions=range(1),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="planned in a thread, by the number of partitions",
)


def handle(
    request: AssignReplicasToDirsRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[AssignReplicasToDirsResponse]:
    return controller.ask(ASSIGN_REPLICAS_TO_DIRS, request, context)
