"""SaslAuthenticate: the bytes of a mechanism, until a client is logged in.

Versions 0-2. Logins are served before dispatch, by `net.server.login_gate`. What comes here is one too many: on a
listener without SASL, after a login whose session has no end, or too soon after the last one. The answer is
ILLEGAL_SASL_STATE, as Kafka's.
"""

from __future__ import annotations

from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.request_context import RequestContext
from millstream.errors import IllegalSaslState
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)

# No permissions: part of proving who one is.
API = ApiSpec(ApiKey.SASL_AUTHENTICATE, versions=range(3), permissions=())


def handle(request: SaslAuthenticateRequest, context: RequestContext) -> SaslAuthenticateResponse:
    """Refuses the message, as no listener asks for SASL. Raises IllegalSaslState."""
    del request, context
    raise IllegalSaslState("SaslAuthenticate request received after successful authentication")
