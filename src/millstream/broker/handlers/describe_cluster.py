"""DescribeCluster: the brokers, the controller and the id of the cluster (KIP-700).

Versions 0-2. 1+ names the kind of endpoint it wants: only brokers (1) are served here, controllers (2) are
MISMATCHED_ENDPOINT_TYPE, anything else UNSUPPORTED_ENDPOINT_TYPE. 2 may ask for fenced brokers too, which say so. A
broker without an endpoint for the listener the request came over is left out.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.cluster.cluster_view import advertised_brokers, any_broker_for_controller
from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import Metadata
from millstream.errors import MismatchedEndpointType, UnsupportedEndpointType
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from millstream.security.acl import Operation, ResourceType

API = ApiSpec(
    ApiKey.DESCRIBE_CLUSTER,
    versions=range(3),
    permissions=(Permission(Operation.DESCRIBE, ResourceType.CLUSTER),),
)

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(
    request: DescribeClusterRequest,
    context: RequestContext,
    *,
    access: Access,
    identity: NodeIdentity,
    metadata: Metadata,
) -> DescribeClusterResponse:
    """Describes the cluster's brokers, or its controllers. Raises MismatchedEndpointType, UnsupportedEndpointType."""
    if request.endpoint_type == _CONTROLLERS:
        raise MismatchedEndpointType(
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        )
    if request.endpoint_type != _BROKERS:
        raise UnsupportedEndpointType(f"Unsupported endpoint type {request.endpoint_type}")
    image = metadata.image
    brokers = advertised_brokers(
        image, context.listener_name, include_fenced=request.include_fenced_brokers
    )
    response = DescribeClusterResponse(
        cluster_id=identity.cluster_id,
        controller_id=any_broker_for_controller(image, identity.node_id),
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.id,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
                is_fenced=broker.fenced,
            )
            for broker in brokers
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = access.cluster_operations(context)
    return response
