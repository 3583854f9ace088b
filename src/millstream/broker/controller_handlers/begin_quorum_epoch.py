"""BeginQuorumEpoch: a new leader says to a voter that it leads, and where it listens (KIP-595).

Versions 0-1. 1 names the voter and its directory, and the leader's listeners (KIP-853).
"""

from __future__ import annotations

from millstream.broker.metadata_log.quorum_requests import QuorumRequests
from millstream.broker.metadata_log.wire.elections import begin_request, begin_response
from millstream.broker.metadata_log.wire.partition import check_cluster
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.begin_quorum_epoch import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
)
from millstream.raft import messages as raft
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.BEGIN_QUORUM_EPOCH,
    versions=range(2),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="about one partition, and where one leader listens",
)


async def handle(
    request: BeginQuorumEpochRequest,
    context: RequestContext,
    *,
    identity: NodeIdentity,
    quorum_requests: QuorumRequests,
) -> BeginQuorumEpochResponse:
    """Takes note of the leader. Raises InconsistentClusterId, InvalidRequest."""
    check_cluster(request.cluster_id, identity.cluster_id)
    answer = await quorum_requests.answer(begin_request(request, identity.node_id))
    assert isinstance(answer, raft.BeginQuorumEpochResponse), (
        "each request has its own kind of answer"
    )
    return begin_response(answer, context.listener_name)
