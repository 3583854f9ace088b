"""The event loop that edges run on: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


def event_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Returns the factory for `asyncio.Runner(loop_factory=...)`."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
