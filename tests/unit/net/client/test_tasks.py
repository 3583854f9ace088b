"""Background tasks have an owner, end with it, and never fail in silence."""

from __future__ import annotations

import asyncio
import os

import pytest

from millstream.errors import NetworkException
from millstream.net.client.tasks import (
    ClientClosed,
    ForkedClient,
    TaskScope,
    WrongEventLoop,
)
from tests.support.patched_library import patch_library


async def forever() -> None:
    await asyncio.Event().wait()


async def fail(error: Exception) -> None:
    raise error


async def wait_for(answer: asyncio.Future[None]) -> None:
    await answer


async def test_close_ends_every_task_and_what_they_started() -> None:
    scope = TaskScope("client")

    async def parent() -> None:
        scope.start(forever(), "child")
        try:
            await forever()
        finally:
            await asyncio.sleep(0)  # cleaning up takes its time

    scope.start(parent(), "parent")
    await asyncio.sleep(0)
    await scope.close()
    assert scope.task_count == 0
    await scope.close()
    with pytest.raises(ClientClosed, match="client is closed"):
        scope.check()


async def test_a_failed_task_ends_the_others_wakes_waiters_and_is_raised_by_the_next_use() -> None:
    woken = []
    scope = TaskScope("client", lambda: woken.append(True))
    other = scope.start(forever(), "other")
    scope.start(fail(ValueError("bug")), "buggy")
    await asyncio.wait((other,))
    assert (other.cancelled(), woken) == (True, [True])
    with pytest.raises(RuntimeError, match="client: a background task failed") as caught:
        scope.check()
    assert isinstance(caught.value.__cause__, ValueError)
    await scope.close()  # told already


async def test_a_failure_that_nobody_saw_is_raised_by_close() -> None:
    scope = TaskScope("client")
    scope.start(fail(ValueError("bug")), "buggy")
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="a background task failed"):
        await scope.close()


async def test_a_task_that_waits_for_what_is_cancelled_has_failed() -> None:
    """Without its work a client would wait for ever, and say nothing."""
    scope = TaskScope("client")
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = scope.start(wait_for(answer), "fetcher")
    await asyncio.sleep(0)
    answer.cancel()
    await asyncio.wait((task,))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="client: a background task failed") as caught:
        scope.check()
    assert str(caught.value.__cause__) == "what 'client: fetcher' waited for was cancelled"
    await scope.close()


async def test_whoever_awaits_a_task_hears_that_what_it_waited_for_was_cancelled() -> None:
    """As an error: CancelledError would say that the awaiter was cancelled, and end it in silence."""
    scope = TaskScope("client")
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = scope.start(wait_for(answer), "join", awaited=True)
    await asyncio.sleep(0)
    answer.cancel()
    with pytest.raises(RuntimeError, match="what 'client: join' waited for was cancelled"):
        await task
    scope.check()
    await scope.close()


async def test_a_task_that_was_cancelled_has_not_failed() -> None:
    scope = TaskScope("client")
    task = scope.start(forever(), "fetcher")
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,))
    await asyncio.sleep(0)
    scope.check()
    assert not scope.has_ended
    await scope.close()


async def test_the_error_of_an_awaited_task_is_its_awaiters() -> None:
    scope = TaskScope("client")
    task = scope.start(fail(NetworkException("gone")), "asked", awaited=True)
    with pytest.raises(NetworkException):
        await task
    scope.check()
    await scope.close()


def test_a_client_stays_in_the_event_loop_of_its_first_use() -> None:
    scope = TaskScope("client")

    async def use() -> None:
        scope.check()

    asyncio.run(use())
    with pytest.raises(WrongEventLoop, match="this client works in another event loop; make one"):
        asyncio.run(use())
    with pytest.raises(WrongEventLoop):
        asyncio.run(scope.close())


async def test_a_refused_task_leaves_no_coroutine_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    scope = TaskScope("client")
    scope.check()
    patch_library(monkeypatch, TaskScope.__module__, os, getpid=lambda: -1)
    with pytest.raises(ForkedClient, match="made before a fork; make a new one"):
        scope.start(forever(), "late")
