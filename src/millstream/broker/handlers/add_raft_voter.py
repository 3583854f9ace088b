"""AddRaftVoter: a controller joins the metadata quorum (KIP-853).

Versions 0-1. 1 may be answered before the change is committed. INCONSISTENT_CLUSTER_ID for another cluster,
INVALID_REQUEST for what is no voter (a negative id, no directory id, no endpoint for the listener of controllers),
UNSUPPORTED_VERSION where the quorum is static, DUPLICATE_VOTER for who votes already, REQUEST_TIMED_OUT where something
may yet come true: another change under way, a controller that does not answer or has not caught up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from millstream.broker.config.dynamic_config import DynamicConfig
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.errors import InconsistentClusterId, InvalidRequest, RequestTimedOut
from millstream.model import ZERO_UUID, BrokerId, Uuid
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.add_raft_voter import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
)
from millstream.raft.messages import AddVoterRequest
from millstream.raft.voter_set import ReplicaKey, Voter, VoterEndpoint
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ADD_RAFT_VOTER,
    versions=range(2),
    permissions=(cluster_permission(Operation.ALTER),),
    is_forwarded=True,
    kept_whole="about one voter, and where it listens",
)


def handle(
    request: AddRaftVoterRequest,
    context: RequestContext,
    *,
    config: DynamicConfig,
    controller: ControllerClient,
    identity: NodeIdentity,
) -> Awaitable[Message]:
    """Adds a voter where the leader of the quorum is this node; other nodes ask that one.

    Raises InconsistentClusterId, InvalidRequest, and errors of the quorum.
    """
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
    if not controller.leads():
        return controller.forward(ApiKey.ADD_RAFT_VOTER, request, context)
    return _added(request, controller)


async def _added(request: AddRaftVoterRequest, controller: ControllerClient) -> Message:
    key = ReplicaKey(BrokerId(request.voter_id), Uuid(request.voter_directory_id))
    endpoints = tuple(VoterEndpoint(e.name, e.host, e.port) for e in request.listeners)
    change = AddVoterRequest(
        voter=Voter(key, endpoints), ack_when_committed=request.ack_when_committed
    )
    try:
        async with asyncio.timeout(request.timeout_ms / 1000):
            await controller.change_voters(change)
    except TimeoutError:
        raise RequestTimedOut(
            f"node {request.voter_id} was not added within {request.timeout_ms} ms"
        ) from None
    return AddRaftVoterResponse(error_message=None)
