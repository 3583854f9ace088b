"""How long a test waits for what must come.

On a machine that is busy with other things a step of milliseconds may take seconds, and everything may stand still for
a while. What is to succeed is therefore given LONG_ENOUGH_S, whatever it takes when nobody else is about; it costs
nothing, because a test goes on as soon as it has what it waits for. Only tests of a time limit set a short one. What
has happened by now is asked with `until`, never assumed after a sleep.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

LONG_ENOUGH_S = 60.0
"""Less than pytest gives a test: who waits in vain says what for."""
LONG_ENOUGH_MS = 60_000
WAITS_FOR_CLUSTER: dict[str, Any] = {
    "bootstrap_wait_ms": LONG_ENOUGH_MS
}  # Any: settings of any client
"""Settings of a client that may be made while its cluster restarts."""
_AGAIN_S = 0.02


async def until(holds: Callable[[], bool]) -> None:
    """Raises TimeoutError."""
    async with asyncio.timeout(LONG_ENOUGH_S):
        while not holds():  # noqa: ASYNC110  # for what is told by no event
            await asyncio.sleep(_AGAIN_S)


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    """Asks again until the answer is yes: brokers learn with a delay what the controller did. Raises TimeoutError."""
    async with asyncio.timeout(LONG_ENOUGH_S):
        while not await holds():  # noqa: ASYNC110  # a broker tells nobody when it has learned
            await asyncio.sleep(_AGAIN_S)


def wait_until(holds: Callable[[], bool]) -> None:
    """In a test without an event loop. Raises TimeoutError."""
    deadline = time.monotonic() + LONG_ENOUGH_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_AGAIN_S)
