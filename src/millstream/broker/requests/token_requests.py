"""Checks which clients may ask for delegation tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import DelegationTokenRequestNotAllowed
from millstream.metadata.broker_registration import SecurityProtocol
from millstream.security.principal import ANONYMOUS

if TYPE_CHECKING:
    from millstream.broker.requests.request_context import RequestContext


def check_may_ask_for_tokens(context: RequestContext) -> None:
    """Refuses requests of clients that came with a token, or that nobody has authenticated.

    Raises DelegationTokenRequestNotAllowed.

    How the client of a forwarded request came is known to the broker that forwarded it, which has asked the same.
    """
    if context.principal.token_authenticated:
        raise DelegationTokenRequestNotAllowed
    if context.connection.is_forwarded:
        return
    protocol = context.connection.security_protocol
    is_unknown = protocol is SecurityProtocol.SSL and context.principal == ANONYMOUS
    if protocol is SecurityProtocol.PLAINTEXT or is_unknown:
        raise DelegationTokenRequestNotAllowed
