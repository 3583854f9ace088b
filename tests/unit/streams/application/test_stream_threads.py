"""The stream threads of an instance: what they share."""

from __future__ import annotations

import asyncio
from typing import Any

from millstream.clients.core.illegal_state import IllegalState
from millstream.net.client.tasks import TaskScope
from millstream.streams.application.states import ThreadState
from millstream.streams.application.stream_threads import StreamThreads


class Thread:
    """Stands for one that runs until it is stopped."""

    def __init__(self, name: str) -> None:
        self.name, self.state = name, ThreadState.RUNNING
        self.is_paused = False
        self.cache_bytes = 0
        self.ended = asyncio.Event()
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def run(self) -> None:
        await self._stopped.wait()
        self.state = ThreadState.DEAD
        self.ended.set()


def stream_threads(scope: TaskScope) -> StreamThreads:
    def make(name: str) -> Any:  # Any: stands for a stream thread
        return Thread(name)

    def failed(*_: object) -> None:
        raise AssertionError("none fails")

    return StreamThreads(make, scope, failed, lambda count: 900 // count)


async def test_threads_share_the_room_of_their_caches_and_get_more_when_one_goes() -> None:
    scope = TaskScope("threads")
    threads = stream_threads(scope)
    shares = []
    for _ in range(3):
        threads.add("mine")
        shares.append([each.cache_bytes for each in threads.all])
    assert shares == [[900], [450] * 2, [300] * 3]
    await threads.remove()
    assert [each.cache_bytes for each in threads.all] == [450] * 2
    await threads.stop()
    await scope.close()


async def test_two_calls_at_a_time_remove_two_threads_and_never_the_last() -> None:
    scope = TaskScope("threads")
    threads = stream_threads(scope)
    first, *others = [threads.add("mine") for _ in range(3)]
    removed = await asyncio.gather(*(threads.remove() for _ in range(3)), return_exceptions=True)
    assert removed[:2] == others[::-1]
    assert isinstance(removed[2], IllegalState)
    assert [each.name for each in threads.all] == [first]
    await threads.stop()
    await scope.close()


async def test_a_thread_that_was_told_to_go_goes_although_the_caller_waits_no_more() -> None:
    scope = TaskScope("threads")
    threads = stream_threads(scope)
    names = [threads.add("mine") for _ in range(2)]
    ending: Any = threads.all[-1]  # Any: stands for a stream thread
    removing = asyncio.ensure_future(threads.remove())
    await asyncio.sleep(0)
    removing.cancel()
    await asyncio.wait({removing})
    await ending.ended.wait()
    assert [each.name for each in threads.all] == names[:1]
    assert [each.cache_bytes for each in threads.all] == [900]
    await threads.stop()
    await scope.close()


async def test_a_thread_whose_wait_was_cancelled_has_failed() -> None:
    """Nobody has told it to go: the application would go on without it, and say nothing."""
    failed: list[Exception] = []
    scope = TaskScope("threads")

    class Waiting(Thread):
        async def run(self) -> None:
            answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            answer.cancel()
            await answer

    made: Any = Waiting  # Any: stands for a stream thread
    threads = StreamThreads(made, scope, lambda _, error: failed.append(error), lambda _: 0)
    name = threads.add("mine")
    await asyncio.sleep(0.0)
    await asyncio.sleep(0.0)
    assert [str(error) for error in failed] == [f"what {name!r} waited for was cancelled"]
    assert threads.failed_count == 1
    await scope.close()
