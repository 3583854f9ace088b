"""SaslHandshake: which mechanism a client logs in with.

Versions 0-1. Served before a client has logged in to a listener that asks for it; there is none such yet, and on a plaintext listener
the answer is ILLEGAL_SASL_STATE, as Kafka's.
Not supported: SASL listeners.
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
