"""ElectLeaders: the preferred replica of partitions leads again, or any that is up where none in sync is (KIP-460).

Versions 0-2, alike here but for the error of the whole request, which 1+ has at the top too. Null partitions: all of
them, of which only those are told where something happened. ELECTION_NOT_NEEDED where the leader is who it should be,
which on one node is everywhere.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, Lists, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.partitions.elect_leaders import ELECT_LEADERS
from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ELECT_LEADERS,
    versions=range(3),
    permissions=(cluster_permission(Operation.ALTER),),
    is_forwarded=True,
    lists=(
        Lists(("topic_partitions", "partitions"), ("replica_election_results", "partition_result")),
    ),
)


def handle(
    request: ElectLeadersRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[ElectLeadersResponse]:
    return controller.ask(ELECT_LEADERS, request, context)


def failed(request: ElectLeadersRequest, version: int, error: KafkaError) -> ElectLeadersResponse:
    """Returns the response; from version 1 on, the error is at the top too."""
    return ElectLeadersResponse(
        error_code=error.code if version >= 1 else 0,
        replica_election_results=[
            ReplicaElectionResult(
                topic=asked.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=partition, error_code=error.code, error_message=str(error)
                    )
                    for partition in asked.partitions
                ],
            )
            for asked in request.topic_partitions or ()
        ],
    )
