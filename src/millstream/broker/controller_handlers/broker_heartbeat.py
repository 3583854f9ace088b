"""BrokerHeartbeat: a broker lives, has read the metadata so far, and wants to be unfenced or to stop (KIP-631).

Versions 0-2. 1+ names data directories that are offline (KIP-858), 2 those that take no new partitions (KIP-1066).
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.brokers.broker_lifecycle import BROKER_HEARTBEAT
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.BROKER_HEARTBEAT,
    versions=range(3),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="one broker says all of itself, planned in a thread",
)


def handle(
    request: BrokerHeartbeatRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[BrokerHeartbeatResponse]:
    return controller.ask(BROKER_HEARTBEAT, request, context)
