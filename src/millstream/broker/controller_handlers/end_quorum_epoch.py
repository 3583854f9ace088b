"""EndQuorumEpoch: the leader steps down and says who should stand at once (KIP-595).

Versions 0-1. 1 names successors with their directories (KIP-853).
"""

from __future__ import annotations

from millstream.broker.metadata_log.quorum_requests import QuorumRequests
from millstream.broker.metadata_log.wire.elections import end_request, end_response
from millstream.broker.metadata_log.wire.partition import check_cluster
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.end_quorum_epoch import (
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
)
from millstream.raft import messages as raft
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.END_QUORUM_EPOCH,
    versions=range(2),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="about one partition, and where one leader listens",
)


async def handle(
    request: EndQuorumEpochRequest,
    context: RequestContext,
    *,
    identity: NodeIdentity,
    quorum_requests: QuorumRequests,
) -> EndQuorumEpochResponse:
    """Takes note that the leader has gone. Raises InconsistentClusterId, InvalidRequest."""
    check_cluster(request.cluster_id, identity.cluster_id)
    answer = await quorum_requests.answer(end_request(request))
    assert isinstance(answer, raft.EndQuorumEpochResponse), (
        "each request has its own kind of answer"
    )
    return end_response(answer, context.listener_name)
