"""BrokerRegistration: a broker joins the cluster and is given its epoch (KIP-631).

Versions 0-4. 2+ names data directories, 3+ the epoch before a clean shutdown (KIP-966), 4
features whose lowest level is 0.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.brokers.registration import BROKER_REGISTRATION
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.BROKER_REGISTRATION,
    versions=range(5),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="one broker says all of itself, planned in a thread",
)


def handle(
    request: BrokerRegistrationRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[BrokerRegistrationResponse]:
    return controller.ask(BROKER_REGISTRATION, request, context)
