"""The threads of a node beside its event loop: they wait for the disk and compute, so that the loop does neither for long.

What runs here touches nothing but files and what it was given: state belongs to the loop. Computing is divided by what it may delay:
expressions of clients (`match`) never stand in the way of a sync, and neither do long messages (`convert`) nor packed records (`unpack`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

ResultT = TypeVar("ResultT")
_DISK_THREADS: Final = 4
"""Enough to have several logs synced at once; a disk queue does the rest."""


class DiskPool:
    """Threads start when they are first needed. `close` waits for what is running."""

    def __init__(self) -> None:
        self._disk = _threads("disk", _DISK_THREADS)
        self._matching = _threads("match", 1)
        self._converting = _threads("convert", 1)
        self._unpacking = _threads("unpack", 1)
        self._planning = _threads("plan", 1)

    async def run(self, work: Callable[[], ResultT]) -> ResultT:
        """Files. Raises what `work` raises. A caller that is cancelled leaves `work` running."""
        return await asyncio.get_running_loop().run_in_executor(self._disk, work)

    async def match(self, work: Callable[[], ResultT]) -> ResultT:
        """Cheap expressions of clients are compiled and matched, one after another."""
        return await asyncio.get_running_loop().run_in_executor(self._matching, work)

    async def convert(self, work: Callable[[], ResultT]) -> ResultT:
        """Long messages become objects, and objects bytes."""
        return await asyncio.get_running_loop().run_in_executor(self._converting, work)

    async def unpack(self, work: Callable[[], ResultT]) -> ResultT:
        """Packed records are unpacked and checked, one batch after another: so one is in memory."""
        return await asyncio.get_running_loop().run_in_executor(self._unpacking, work)

    async def plan(self, work: Callable[[], ResultT]) -> ResultT:
        """Whoever owns state and has very much to do with it leaves it to this thread for a while."""
        return await asyncio.get_running_loop().run_in_executor(self._planning, work)

    def close(self) -> None:
        for executor in (
            self._disk,
            self._matching,
            self._converting,
            self._unpacking,
            self._planning,
        ):
            executor.shutdown(wait=True, cancel_futures=True)


def _threads(name: str, count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix=f"millstream-{name}")
