"""Runs the threads of a node, which wait for the disk and compute, so that the event loop does neither for long.

What runs here touches nothing but files and what it was given: state belongs to the loop. Computing is divided by what
it may delay: expressions of clients (`match`) never stand in the way of a sync, and neither do long messages
(`convert`) nor packed records (`unpack`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from millstream.errors import KafkaStorageError
from millstream.log.timestamp_lookup import TimeSearch, TimestampedOffset
from millstream.net.client.tasks import uninterrupted

ResultT = TypeVar("ResultT")
_DISK_THREADS: Final = 4
"""Enough to have several logs synced at once; a disk queue does the rest."""


class DiskPool:
    """The threads of a node. They start when they are first needed; `close` waits for running work."""

    def __init__(self) -> None:
        self._disk = _threads("disk", _DISK_THREADS)
        self._matching = _threads("match", 1)
        self._converting = _threads("convert", 1)
        self._unpacking = _threads("unpack", 1)
        self._planning = _threads("plan", 1)
        self._verifying = _threads("verify", 1)

    async def run(self, work: Callable[[], ResultT]) -> ResultT:
        """Runs work with files. Raises its errors. When the caller is cancelled, `work` goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._disk, work)

    async def match(self, work: Callable[[], ResultT]) -> ResultT:
        """Runs the matching of cheap expressions of clients, one after another."""
        return await asyncio.get_running_loop().run_in_executor(self._matching, work)

    async def convert(self, work: Callable[[], ResultT]) -> ResultT:
        """Runs the decoding and encoding of long messages."""
        return await asyncio.get_running_loop().run_in_executor(self._converting, work)

    async def verify(self, work: Callable[[], ResultT]) -> ResultT:
        """Runs the arithmetic of logins: clients that are not known yet hold up each other, and nobody else."""
        return await asyncio.get_running_loop().run_in_executor(self._verifying, work)

    async def unpack(self, work: Callable[[], ResultT]) -> ResultT:
        """Runs the unpacking of records, one batch after another, so that only one is in memory."""
        return await asyncio.get_running_loop().run_in_executor(self._unpacking, work)

    async def plan(self, work: Callable[[], ResultT]) -> ResultT:
        """Runs long work on state whose owner lends it to this thread.

        A caller that is cancelled, as when its client hangs up, is so once the work has ended. Before that the state
        is not the caller's to give back: the next operation would meet the thread in it, and work that still waits for
        the thread would not be done at all.
        """
        return await uninterrupted(asyncio.get_running_loop().run_in_executor(self._planning, work))

    def close(self) -> None:
        for executor in (
            self._disk,
            self._matching,
            self._converting,
            self._unpacking,
            self._planning,
            self._verifying,
        ):
            executor.shutdown(wait=True, cancel_futures=True)


def _threads(name: str, count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix=f"millstream-{name}")


async def first_found(searches: Iterator[TimeSearch], pool: DiskPool) -> TimestampedOffset | None:
    """Returns the result of the first search that finds a record.

    Raises KafkaStorageError, and KafkaError for a damaged batch.
    """
    for search in searches:
        try:
            found = search.run() if search.is_small else await pool.unpack(search.run)
        except OSError as error:
            raise KafkaStorageError(f"cannot read the log: {error.strerror or error}") from error
        if found is not None:
            return found
    return None
