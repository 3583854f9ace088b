"""Who may ask for delegation tokens at all: a client that has proved who it is, and not by a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import DelegationTokenRequestNotAllowed
from millstream.net.client_connection import ANONYMOUS

if TYPE_CHECKING:
    from millstream.broker.request_context import RequestContext


def check_may_ask_for_tokens(context: RequestContext) -> None:
    """Raises DelegationTokenRequestNotAllowed. A plaintext listener lets nobody prove anything."""
    if context.connection.principal == ANONYMOUS:
        raise DelegationTokenRequestNotAllowed
