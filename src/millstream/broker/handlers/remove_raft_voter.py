"""RemoveRaftVoter: a controller leaves the metadata quorum (KIP-853).

Version 0. INCONSISTENT_CLUSTER_ID for another cluster, INVALID_REQUEST for what is no voter (a negative id, no directory id),
UNSUPPORTED_VERSION where the quorum is static, VOTER_NOT_FOUND for who does not vote, and for the last voter, which cannot be removed.
"""

from __future__ import annotations

from millstream.broker.node.identity import NodeIdentity
from millstream.broker.node.services import ControllerClient
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import (
    InconsistentClusterId,
    InvalidRequest,
    UnsupportedVersion,
    VoterNotFound,
)
from millstream.model import ZERO_UUID, Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.REMOVE_RAFT_VOTER,
    versions=range(1),
    permissions=(cluster_permission(Operation.ALTER),),
)


def handle(
    request: RemoveRaftVoterRequest,
    _context: RequestContext,
    *,
    controller: ControllerClient,
    identity: NodeIdentity,
) -> RemoveRaftVoterResponse:
    """Refuses to remove a voter, with the error that says why. Raises InconsistentClusterId, InvalidRequest, UnsupportedVersion, VoterNotFound."""
    own = identity.cluster_id
    if request.cluster_id not in {None, own}:
        raise InconsistentClusterId(
            f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{own}"'
        )
    asked = (request.voter_id, Uuid(request.voter_directory_id))
    if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
        raise InvalidRequest("A voter has an id and a directory id")
    if controller.quorum().is_static:
        raise UnsupportedVersion(
            "The quorum is static (kraft.version 0): none of its voters can leave"
        )
    voters = controller.quorum().voters
    if not any((voter.id, voter.directory_id) == asked for voter in voters):
        raise VoterNotFound(f"Nobody with id {request.voter_id} and this directory id votes")
    raise VoterNotFound("The last voter of a quorum cannot be removed")
