"""DescribeCluster: the controllers of the cluster, which of them is active, and the id of the cluster (KIP-919).

Versions 0-2. Only controllers (2) are described here: brokers (1), which older versions mean, are
MISMATCHED_ENDPOINT_TYPE, anything else UNSUPPORTED_ENDPOINT_TYPE. A controller without an endpoint for the listener the
request came over is left out.
"""

from __future__ import annotations

from typing import Final

from millstream.broker.node_state import NodeIdentity
from millstream.broker.requests.access import Access
from millstream.broker.requests.api_spec import ApiSpec, Permission, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient, Metadata
from millstream.errors import (
    MismatchedEndpointType,
    UnsupportedEndpointType,
    UnsupportedVersion,
)
from millstream.metadata.broker_registration import ControllerRegistration
from millstream.metadata.features import Capability, can
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
    permissions=(
        cluster_permission(Operation.ALTER),
        Permission(Operation.DESCRIBE, ResourceType.CLUSTER),
    ),
)

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(
    request: DescribeClusterRequest,
    context: RequestContext,
    *,
    access: Access,
    controller: ControllerClient,
    identity: NodeIdentity,
    metadata: Metadata,
) -> DescribeClusterResponse:
    """Describes the controllers. Raises UnsupportedVersion, MismatchedEndpointType, UnsupportedEndpointType."""
    if not can(metadata.image, Capability.CONTROLLER_REGISTRATION):
        raise UnsupportedVersion(
            "Direct-to-controller communication is not supported with the current MetadataVersion."
        )
    if request.endpoint_type == _BROKERS:
        raise MismatchedEndpointType(
            "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"
        )
    if request.endpoint_type != _CONTROLLERS:
        raise UnsupportedEndpointType(f"Unsupported endpoint type {request.endpoint_type}")
    response = DescribeClusterResponse(
        endpoint_type=_CONTROLLERS,
        cluster_id=identity.cluster_id,
        controller_id=controller.quorum().leader_id,
        brokers=[
            described
            for each in metadata.image.controllers.values()
            for described in _described(each, context.listener_name)
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = access.cluster_operations(context)
    return response


def _described(controller: ControllerRegistration, listener: str) -> list[DescribeClusterBroker]:
    return [
        DescribeClusterBroker(
            broker_id=controller.controller_id, host=each.host, port=each.port, rack=None
        )
        for each in controller.endpoints
        if each.listener.upper() == listener.upper()
    ]
