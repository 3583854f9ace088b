"""The event loop of a task, in a thread of its own: async functions of the user run there, whatever the runner is."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from threading import Thread

from millstream.streams.errors import AsyncCallTimedOut
from millstream.streams.topology.operators import AsyncCall, AsyncCalls, Outcome


class TaskEventLoop:
    """Starts with the first call, and goes on between calls, so that clients of the user keep their connections."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def run(
        self, chains: Iterable[Sequence[int]], call: AsyncCall, calls: AsyncCalls
    ) -> Mapping[int, Outcome]:
        """Returns the outcome of `call(row)` for each row, when all are there.

        Rows of one chain are called one after the other, up to one that fails. After that no call begins any more,
        unless `chains_fail_alone`.
        """
        if self._loop is None:
            self._start()
        assert self._loop is not None, "just started"
        future = asyncio.run_coroutine_threadsafe(_all(chains, call, calls), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # of an interrupted wait: nobody waits for the calls any more
            raise

    def close(self) -> None:
        """Cancels what still runs in the loop, and ends its thread. It starts again with another call."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = self._thread = None
        asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _start(self) -> None:
        self._loop = asyncio.new_event_loop()
        name = f"event-loop-{self._name}"
        self._thread = Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


async def _all(
    chains: Iterable[Sequence[int]], call: AsyncCall, calls: AsyncCalls
) -> Mapping[int, Outcome]:
    """Outcomes by row. Calls that run when another one fails are waited for."""
    outcomes: dict[int, Outcome] = {}
    waiting = deque(chains)
    failed: set[int] = set()

    async def work() -> None:
        while waiting:
            for row in waiting.popleft():
                if failed and not calls.chains_fail_alone:
                    return
                outcomes[row] = await _one(row, call, calls.timeout_ms)
                if outcomes[row][1] is not None:
                    failed.add(row)
                    break

    await asyncio.gather(*(work() for _ in range(min(calls.max_in_flight, len(waiting)))))
    return outcomes


async def _one(row: int, call: AsyncCall, timeout_ms: int | None) -> Outcome:
    seconds = None if timeout_ms is None else timeout_ms / 1000
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await call(row), None
    except TimeoutError as error:
        return None, AsyncCallTimedOut() if limit.expired() else error
    except Exception as error:  # noqa: BLE001  # raised again by the operator, with the row noted
        return None, error
