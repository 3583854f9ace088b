"""Checks which clients may ask for delegation tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import DelegationTokenRequestNotAllowed
from millstream.security.authorizer import ANONYMOUS

if TYPE_CHECKING:
    from millstream.broker.requests.request_context import RequestContext


def check_may_ask_for_tokens(context: RequestContext) -> None:
    """Refuses requests about tokens. Raises DelegationTokenRequestNotAllowed: a plaintext listener authenticates no client."""
    if context.connection.principal == ANONYMOUS:
        raise DelegationTokenRequestNotAllowed
