"""Vote: a replica stands for election, or asks first whether it would win one (KIP-595, pre-vote of KIP-996).

Versions 0-2. 1+ names directory ids, without which another disk could vote for this one (KIP-853); INVALID_VOTER_KEY
where they are those of another. 2 asks for pre-votes.
"""

from __future__ import annotations

from millstream.broker.metadata_log.quorum_requests import QuorumRequests
from millstream.broker.metadata_log.wire.elections import vote_request, vote_response
from millstream.broker.metadata_log.wire.partition import check_cluster
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.vote import VoteRequest, VoteResponse
from millstream.raft import messages as raft
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.VOTE,
    versions=range(3),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="about one partition",
)


async def handle(
    request: VoteRequest,
    context: RequestContext,
    *,
    identity: NodeIdentity,
    quorum_requests: QuorumRequests,
) -> VoteResponse:
    """Gives the vote or says why not. Raises InconsistentClusterId, InvalidRequest."""
    check_cluster(request.cluster_id, identity.cluster_id)
    answer = await quorum_requests.answer(vote_request(request, identity.node_id))
    assert isinstance(answer, raft.VoteResponse), "each request has its own kind of answer"
    return vote_response(answer, context.listener_name)
