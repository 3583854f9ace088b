"""Brokers learn of what the controller did with a delay: tests wait for what must come, with a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

LIMIT_S = 20.0


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    """Asks again until the answer is yes. Raises TimeoutError."""
    async with asyncio.timeout(LIMIT_S):
        while not await holds():  # noqa: ASYNC110  # a broker tells nobody when it has learned
            await asyncio.sleep(0.05)
