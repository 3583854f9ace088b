"""SaslHandshake: which mechanism a client logs in with.

Versions 0-1. Logins are served before dispatch, by `net.server.login_gate`. What comes here is one too many: on a
listener without SASL, after a login whose session has no end, or too soon after the last one. The answer is
ILLEGAL_SASL_STATE, as Kafka's.
"""

from __future__ import annotations

from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import IllegalSaslState
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

# No permissions: part of proving who one is.
API = ApiSpec(ApiKey.SASL_HANDSHAKE, versions=range(2), permissions=())


def handle(request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    del request, context
    return SaslHandshakeResponse(error_code=IllegalSaslState.code)
