"""The room in the producer's buffer, given to those who wait: first come, first served."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable

from millstream.clients.producer.core.accumulator import RecordAccumulator
from millstream.errors import RequestTimedOut


class BufferMemory:
    """Waiting only; bytes are counted by the accumulator."""

    def __init__(self, accumulator: RecordAccumulator, now_ms: Callable[[], int]) -> None:
        self._accumulator = accumulator
        self._now_ms = now_ms
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._is_closed = False

    @property
    def is_awaited(self) -> bool:
        return bool(self._waiters)

    def admits(self, size_bytes: int, *, waited: bool = False) -> bool:
        """The bytes may be taken now: there is room, and no earlier caller still waits for it."""
        return (
            self._accumulator.has_room(size_bytes)
            and (waited or not self._waiters)
            and not self._is_closed
        )

    async def wait(self, size_bytes: int, deadline_ms: int) -> None:
        """Waits until it is this caller's turn to look again. Raises RequestTimedOut at the deadline."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout((deadline_ms - self._now_ms()) / 1000):
                await waiter
        except TimeoutError as error:
            raise RequestTimedOut(
                f"no room for a record of {size_bytes} bytes within max_block_ms:"
                f" {self._accumulator.memory_used} bytes of buffer_memory wait for brokers"
            ) from error
        finally:
            with contextlib.suppress(ValueError):
                self._waiters.remove(waiter)
            self.let_in()

    def let_in(self) -> None:
        """Wake the first; when it has taken its bytes it wakes the next."""
        if self._waiters and self._accumulator.has_room(0):
            waiter = self._waiters[0]
            if not waiter.done():
                waiter.set_result(None)

    def close(self) -> None:
        """Ends all waits: the producer has ended, and no more bytes are taken."""
        self._is_closed = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
