"""ControllerRegistration: a controller tells where it listens and at which levels of features it can work (KIP-919).

Version 0.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec, cluster_permission
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.services import ControllerClient
from millstream.controller.controller_registration import CONTROLLER_REGISTRATION
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from millstream.security.acl import Operation

API = ApiSpec(
    ApiKey.CONTROLLER_REGISTRATION,
    versions=range(1),
    permissions=(cluster_permission(Operation.CLUSTER_ACTION),),
    kept_whole="one controller says all of itself",
)


def handle(
    request: ControllerRegistrationRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[ControllerRegistrationResponse]:
    return controller.ask(CONTROLLER_REGISTRATION, request, context)
