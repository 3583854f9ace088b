"""UpdateRaftVoter: a voter tells the leader where it listens and at which levels of kraft.version it works (KIP-853).

Version 0. Answered before the change is committed; NOT_LEADER_OR_FOLLOWER and errors of epochs come with the leader.
"""

from __future__ import annotations

from millstream.broker.metadata_log.quorum_requests import QuorumRequests
from millstream.broker.metadata_log.wire.partition import check_cluster
from millstream.broker.metadata_log.wire.voters import update_request, update_response
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.update_raft_voter import (
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from millstream.raft.messages import VoterChangeResponse
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.UPDATE_RAFT_VOTER,
    versions=range(1),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="one voter says all of itself",
)


async def handle(
    request: UpdateRaftVoterRequest,
    context: RequestContext,
    *,
    identity: NodeIdentity,
    quorum_requests: QuorumRequests,
) -> UpdateRaftVoterResponse:
    """Notes what the voter says. Raises InconsistentClusterId."""
    check_cluster(request.cluster_id, identity.cluster_id)
    answer = await quorum_requests.answer(update_request(request))
    assert isinstance(answer, VoterChangeResponse), "each request has its own kind of answer"
    return update_response(answer, context.listener_name)
