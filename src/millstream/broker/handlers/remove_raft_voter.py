"""RemoveRaftVoter: a controller leaves the metadata quorum (KIP-853).

Version 0. INCONSISTENT_CLUSTER_ID for another cluster, INVALID_REQUEST for what is no voter (a negative id, no
directory id), UNSUPPORTED_VERSION where the quorum is static, VOTER_NOT_FOUND for who does not vote and for the last
voter, REQUEST_TIMED_OUT where another change is under way. A leader that is removed leads until that is committed.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.errors import InconsistentClusterId, InvalidRequest
from millstream.model import ZERO_UUID, BrokerId, Uuid
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from millstream.raft.messages import RemoveVoterRequest
from millstream.raft.voter_set import ReplicaKey
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.REMOVE_RAFT_VOTER,
    versions=range(1),
    permissions=(cluster_permission(Operation.ALTER),),
    is_forwarded=True,
)


def handle(
    request: RemoveRaftVoterRequest,
    context: RequestContext,
    *,
    controller: ControllerClient,
    identity: NodeIdentity,
) -> Awaitable[Message]:
    """Removes a voter if this node leads the quorum, else asks the node that does.

    Raises InconsistentClusterId, InvalidRequest, and errors of the quorum.
    """
    own = identity.cluster_id
    if request.cluster_id not in {None, own}:
        raise InconsistentClusterId(
            f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{own}"'
        )
    if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
        raise InvalidRequest("A voter has an id and a directory id")
    if not controller.leads():
        return controller.forward(ApiKey.REMOVE_RAFT_VOTER, request, context)
    return _removed(request, controller)


async def _removed(request: RemoveRaftVoterRequest, controller: ControllerClient) -> Message:
    key = ReplicaKey(BrokerId(request.voter_id), Uuid(request.voter_directory_id))
    await controller.change_voters(RemoveVoterRequest(voter=key))
    return RemoveRaftVoterResponse(error_message=None)
