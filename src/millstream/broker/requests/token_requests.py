"""Checks which clients may ask for delegation tokens, and removes tokens that have expired."""

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
    """Refuses requests about tokens. Raises DelegationTokenRequestNotAllowed: a plaintext listener authenticates no client."""
    if context.connection.principal == ANONYMOUS:
        raise DelegationTokenRequestNotAllowed


async def remove_expired_tokens(controller: ControllerClient, interval_ms: int) -> None:
    """Removes expired tokens from the metadata log until cancelled."""
    while True:
        await asyncio.sleep(interval_ms / 1000)
        with contextlib.suppress(RetriableError):  # the next time is soon enough
            await controller.submit(Controller.handle_expired_delegation_tokens, None)
