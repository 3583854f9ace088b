"""FetchSnapshot: a replica whose log the leader's does not reach back to fetches a snapshot, piece by piece (KIP-630).

Versions 0-1. 1 names the directory of the replica and where the leader listens (KIP-853). SNAPSHOT_NOT_FOUND for one
that is gone, POSITION_OUT_OF_RANGE beyond its end.
"""

from __future__ import annotations

from millstream.broker.metadata_log.quorum_requests import QuorumRequests
from millstream.broker.metadata_log.wire.fetches import (
    fetch_snapshot_request,
    fetch_snapshot_response,
)
from millstream.broker.metadata_log.wire.partition import check_cluster
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.FETCH_SNAPSHOT,
    versions=range(2),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="about one partition",
)


async def handle(
    request: FetchSnapshotRequest,
    context: RequestContext,
    *,
    identity: NodeIdentity,
    quorum_requests: QuorumRequests,
) -> FetchSnapshotResponse:
    """Returns a piece of a snapshot, or why there is none. Raises InconsistentClusterId, InvalidRequest."""
    check_cluster(request.cluster_id, identity.cluster_id)
    asked = fetch_snapshot_request(request)
    answer = await quorum_requests.fetch_snapshot(asked, request.max_bytes)
    return fetch_snapshot_response(answer, context.listener_name)
