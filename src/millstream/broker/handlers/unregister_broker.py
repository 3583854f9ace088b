"""UnregisterBroker: a broker that will not come back is forgotten.

Version 0. BROKER_ID_NOT_REGISTERED for one that is unknown. A broker that is alive is INVALID_REQUEST here; Kafka
forgets it all the same, and the broker finds out by its heartbeats being refused.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.brokers.registration import UNREGISTER_BROKER
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.UNREGISTER_BROKER,
    versions=range(1),
    permissions=(cluster_permission(Operation.ALTER),),
    is_forwarded=True,
)


def handle(
    request: UnregisterBrokerRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[UnregisterBrokerResponse]:
    return controller.ask(UNREGISTER_BROKER, request, context)
