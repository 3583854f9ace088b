"""AddRaftVoter: a controller joins the metadata quorum (KIP-853).

Versions 0-1, alike. INCONSISTENT_CLUSTER_ID for another cluster, INVALID_REQUEST for what is no voter (a negative id, no directory id,
no endpoint for the listener of controllers), UNSUPPORTED_VERSION where the quorum is static, DUPLICATE_VOTER for who votes already.
Not supported: a second voter. Every other request is UNSUPPORTED_VERSION with a sentence that says so.
"""

from __future__ import annotations

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.node.identity import NodeIdentity
from millstream.broker.node.services import ControllerClient
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import (
    DuplicateVoter,
    InconsistentClusterId,
    InvalidRequest,
    UnsupportedVersion,
)
from millstream.model import ZERO_UUID
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ADD_RAFT_VOTER,
    versions=range(2),
    permissions=(cluster_permission(Operation.ALTER),),
)


def handle(
    request: AddRaftVoterRequest,
    _context: RequestContext,
    *,
    config: DynamicConfig,
    controller: ControllerClient,
    identity: NodeIdentity,
) -> AddRaftVoterResponse:
    """Refuses to add a voter, with the error that says why. Raises InconsistentClusterId, InvalidRequest, UnsupportedVersion, DuplicateVoter."""
    own = identity.cluster_id
    if request.cluster_id not in {None, own}:
        raise InconsistentClusterId(
            f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{own}"'
        )
    if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
        raise InvalidRequest("A voter has an id and a directory id")
    listener_name = config.current.controller_listener_names[0].upper()
    if listener_name not in {listener.name.upper() for listener in request.listeners}:
        raise InvalidRequest(f"A voter has an endpoint for the listener {listener_name}")
    if controller.quorum().is_static:
        raise UnsupportedVersion(
            "The quorum is static (kraft.version 0): nobody can join its voters"
        )
    if any(voter.id == request.voter_id for voter in controller.quorum().voters):
        raise DuplicateVoter(f"The voter id {request.voter_id} is in the set of voters already")
    raise UnsupportedVersion("This version runs a quorum of one: no voter can be added")
