"""The stream threads of an instance: what they share."""

from __future__ import annotations

import asyncio
from typing import Any

from millstream.net.client.tasks import TaskScope
from millstream.streams.application.states import ThreadState
from millstream.streams.application.stream_threads import StreamThreads


class Thread:
    """Stands for one that runs until it is stopped."""

    def __init__(self, name: str) -> None:
        self.name, self.state = name, ThreadState.RUNNING
        self.is_paused = False
        self.cache_bytes = 0
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def run(self) -> None:
        await self._stopped.wait()
        self.state = ThreadState.DEAD


async def test_threads_share_the_room_of_their_caches_and_get_more_when_one_goes() -> None:
    scope = TaskScope("threads")

    def make(name: str) -> Any:  # Any: stands for a stream thread
        return Thread(name)

    def failed(*_: object) -> None:
        raise AssertionError("none fails")

    threads = StreamThreads(make, scope, failed, lambda count: 900 // count)
    shares = []
    for _ in range(3):
        threads.add("mine")
        shares.append([each.cache_bytes for each in threads.all])
    assert shares == [[900], [450] * 2, [300] * 3]
    await threads.remove()
    assert [each.cache_bytes for each in threads.all] == [450] * 2
    await threads.stop()
    await scope.close()
