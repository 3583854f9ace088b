"""Delegation tokens at the edge: who may ask for them at all, and their removal once they have expired."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from millstream.controller.controller import Controller
from millstream.errors import DelegationTokenRequestNotAllowed, RetriableError
from millstream.net.server.client_connection import ANONYMOUS

if TYPE_CHECKING:
    from millstream.broker.node.services import ControllerClient
    from millstream.broker.requests.request_context import RequestContext


def check_may_ask_for_tokens(context: RequestContext) -> None:
    """Raises DelegationTokenRequestNotAllowed. A plaintext listener lets nobody prove anything."""
    if context.connection.principal == ANONYMOUS:
        raise DelegationTokenRequestNotAllowed


async def remove_expired_tokens(controller: ControllerClient, interval_ms: int) -> None:
    """Until cancelled: tokens that nobody can use any more leave the metadata log."""
    while True:
        await asyncio.sleep(interval_ms / 1000)
        with contextlib.suppress(RetriableError):  # the next time is soon enough
            await controller.submit(Controller.handle_expired_delegation_tokens, None)
