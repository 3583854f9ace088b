"""The admin client connected to controllers instead of brokers (KIP-919, `bootstrap_controllers`).

Controllers do not answer Metadata: DescribeCluster says which of them there are, and which is active.
"""

from __future__ import annotations

from typing import Final

from millstream.clients.admin.core.releases import unsupported
from millstream.clients.admin.core.results import check
from millstream.net.client.connection import Connection
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)

BROKERS: Final = 1
CONTROLLERS: Final = 2
"""Kinds of endpoints."""
_FIRST_WITH_ENDPOINT_TYPE: Final = 1


async def ask_controllers(
    connection: Connection, request: MetadataRequest
) -> tuple[MetadataResponse, int]:
    """Asks controllers for the answer that brokers give to Metadata: the nodes are the
    controllers, and there are no topics.
    """
    del request
    if not connection.versions.supports(ApiKey.DESCRIBE_CLUSTER, _FIRST_WITH_ENDPOINT_TYPE):
        raise unsupported(ApiKey.DESCRIBE_CLUSTER)
    response = await connection.request(
        ApiKey.DESCRIBE_CLUSTER,
        DescribeClusterRequest(endpoint_type=CONTROLLERS),
        DescribeClusterResponse,
    )
    check(response.error_code, "bootstrap_controllers", response.error_message)
    nodes = [
        MetadataResponseBroker(each.broker_id, each.host, each.port, each.rack)
        for each in response.brokers
    ]
    metadata = MetadataResponse(
        brokers=nodes, cluster_id=response.cluster_id, controller_id=response.controller_id
    )
    return metadata, MetadataResponse.HIGHEST_VERSION
