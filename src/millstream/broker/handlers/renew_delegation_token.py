"""RenewDelegationToken: a token is good for longer, up to the end of its life (KIP-48).

Versions 1-2, alike. For the owner of the token, who asked for it, and its renewers; for others
DELEGATION_TOKEN_OWNER_MISMATCH. Refused as CreateDelegationToken is.
"""

from __future__ import annotations

from collections.abc import Awaitable

from millstream.broker.requests.api_spec import ApiSpec
from millstream.broker.requests.request_context import RequestContext
from millstream.broker.requests.token_requests import check_may_ask_for_tokens
from millstream.broker.services import ControllerClient
from millstream.controller.security.delegation_tokens import RENEW_DELEGATION_TOKEN
from millstream.errors import DelegationTokenRequestNotAllowed, KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

# No permissions: owners and renewers of a token may, which the controller knows.
API = ApiSpec(ApiKey.RENEW_DELEGATION_TOKEN, versions=range(1, 3), permissions=())


def handle(
    request: RenewDelegationTokenRequest, context: RequestContext, *, controller: ControllerClient
) -> Awaitable[RenewDelegationTokenResponse]:
    """Renews a token. Raises DelegationTokenRequestNotAllowed."""
    check_may_ask_for_tokens(context)
    return controller.ask(RENEW_DELEGATION_TOKEN, request, context)


def failed(
    _request: RenewDelegationTokenRequest, _version: int, error: KafkaError
) -> RenewDelegationTokenResponse:
    """Returns the response. Kafka's brokers say -1 where its controllers say 0."""
    is_brokers = isinstance(error, DelegationTokenRequestNotAllowed)
    return RenewDelegationTokenResponse(
        error_code=error.code, expiry_timestamp_ms=-1 if is_brokers else 0
    )
