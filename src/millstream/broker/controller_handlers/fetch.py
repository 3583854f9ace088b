"""Fetch: replicas of the metadata quorum fetch its log (KIP-595): voters to vote with it, brokers
to follow what is decided.

Versions 4-18, of which no replica uses those before 12: they name neither the epoch of what was fetched last nor the
cluster. Asked for partition 0 of `__cluster_metadata` alone; anything else is INVALID_REQUEST. A fetch that finds
nothing waits, at most half a second; 18 tells how much its sender knows to be committed, and is answered at once when
more is. Where the logs part, and the snapshot that a log begins with, stand in the partition's answer.
"""

from __future__ import annotations

from millstream.broker.metadata_log.quorum_requests import QuorumRequests
from millstream.broker.metadata_log.wire.fetches import (
    fetch_request,
    fetch_response,
    fetched_partition,
)
from millstream.broker.metadata_log.wire.partition import check_cluster
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.fetch import FetchRequest, FetchResponse
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.FETCH,
    versions=range(4, 19),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="a session is one whole; it is read in turns",
    tells_all=True,
    answer_lists=("responses", "partitions"),
)


async def handle(
    request: FetchRequest,
    context: RequestContext,
    *,
    identity: NodeIdentity,
    quorum_requests: QuorumRequests,
) -> FetchResponse:
    """Returns records of the metadata log, or why there are none. Raises InconsistentClusterId, InvalidRequest."""
    check_cluster(request.cluster_id, identity.cluster_id)
    version = context.version
    asked = fetch_request(request, version)
    limit_bytes = fetched_partition(request, version).partition_max_bytes
    answer = await quorum_requests.fetch(asked, request.max_wait_ms, limit_bytes)
    return fetch_response(answer, context.listener_name, version, quorum_requests.log_start_offset)
