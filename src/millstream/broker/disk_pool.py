"""The threads that wait for the disk, so that the event loop does not. They run functions that touch nothing but files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

ResultT = TypeVar("ResultT")
_THREADS: Final = 4
"""Enough to have several logs synced at once; a disk queue does the rest."""


class DiskPool:
    """Threads start when they are first needed. `close` waits for what is running."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="millstream-disk")

    async def run(self, work: Callable[[], ResultT]) -> ResultT:
        """Raises what `work` raises. A caller that is cancelled leaves `work` running."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)
