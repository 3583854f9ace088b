"""Waits for work in a thread, which a cancelled caller cannot interrupt."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TypeVar

_Result = TypeVar("_Result")


async def uninterrupted(work: asyncio.Future[_Result]) -> _Result:
    """Returns the result. A caller that is cancelled is so once the work has ended: nobody else meets it under way."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            # Cancelled again, as when its client has hung up and now the node ends, it has as little to give back.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({work})
        raise
