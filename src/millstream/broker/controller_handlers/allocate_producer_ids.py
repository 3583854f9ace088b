"""AllocateProducerIds: a block of producer ids for a broker, which gives them to its clients (KIP-730).

Version 0. STALE_BROKER_EPOCH for another incarnation of the broker than is registered.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.producer_ids import ALLOCATE_PRODUCER_IDS
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.ALLOCATE_PRODUCER_IDS,
    versions=range(1),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
)


def handle(
    request: AllocateProducerIdsRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[AllocateProducerIdsResponse]:
    return controller.ask(ALLOCATE_PRODUCER_IDS, request, context)
