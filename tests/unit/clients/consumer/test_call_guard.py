"""One call at a time, and who may end it."""

from __future__ import annotations

import asyncio

import pytest

from millstream.clients.consumer.call_guard import CallGuard
from millstream.clients.consumer.core.errors import WakeupError
from millstream.clients.core.illegal_state import ConcurrentUse
from millstream.net.client.tasks import ClientClosed
from tests.patience import LONG_ENOUGH_S


async def wait_in(guard: CallGuard, until: asyncio.Event) -> str:
    with guard.call():
        await until.wait()
    return "done"


async def waiting_in(guard: CallGuard, until: asyncio.Event) -> asyncio.Task[str]:
    task = asyncio.create_task(wait_in(guard, until))
    await asyncio.sleep(0)
    return task


async def test_another_task_is_refused_until_the_call_is_over() -> None:
    guard, until = CallGuard("consumer"), asyncio.Event()
    task = await waiting_in(guard, until)
    with pytest.raises(ConcurrentUse, match=r"using this consumer; wait for its call"):
        guard.check()
    with pytest.raises(ConcurrentUse), guard.call():
        pytest.fail("a second call does not begin")
    until.set()
    assert await task == "done"
    guard.check()


async def test_what_runs_in_the_context_of_the_call_belongs_to_it() -> None:
    """A listener on a thread that comes back to the loop, as blocking clients do it."""
    guard = CallGuard("consumer")
    loop = asyncio.get_running_loop()

    async def call_back() -> str:
        guard.check()
        with guard.call():
            await asyncio.sleep(0)
        return "was let in"

    with guard.call():
        told = await asyncio.to_thread(
            lambda: asyncio.run_coroutine_threadsafe(call_back(), loop).result()
        )
    assert told == "was let in"


async def test_a_wakeup_ends_the_call_that_waits_and_only_that() -> None:
    guard, until = CallGuard("consumer"), asyncio.Event()
    task = await waiting_in(guard, until)
    guard.wake_up()
    with pytest.raises(WakeupError):
        await task
    until.set()
    assert await wait_in(guard, until) == "done"


async def test_a_wakeup_without_a_call_ends_the_next_and_several_are_one() -> None:
    guard, until = CallGuard("consumer"), asyncio.Event()
    until.set()
    guard.wake_up()
    guard.wake_up()
    with pytest.raises(WakeupError):
        await wait_in(guard, until)
    assert await wait_in(guard, until) == "done"


async def test_a_cancellation_stays_one_even_with_a_wakeup() -> None:
    guard, until = CallGuard("consumer"), asyncio.Event()
    task = await waiting_in(guard, until)
    guard.wake_up()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelling() == 1, "the wakeup takes back its own cancellation, and no other"


async def test_time_limits_around_a_call_that_is_woken_up_still_work() -> None:
    guard, until = CallGuard("consumer"), asyncio.Event()

    async def limited() -> None:
        async with asyncio.timeout(LONG_ENOUGH_S):
            await wait_in(guard, until)
        pytest.fail("the wakeup ends the call")

    task = asyncio.create_task(limited())
    await asyncio.sleep(0)
    guard.wake_up()
    with pytest.raises(WakeupError):
        await task


async def test_the_applications_own_code_is_not_interrupted_what_waits_next_is() -> None:
    guard = CallGuard("consumer")
    finished = []

    async def call() -> None:
        with guard.call():
            with guard.shielded():
                await asyncio.sleep(0)
                finished.append("listener")
            guard.check_interruption()

    task = asyncio.create_task(call())
    await asyncio.sleep(0)
    guard.wake_up()
    with pytest.raises(WakeupError):
        await task
    assert finished == ["listener"]


async def test_a_call_may_wake_itself_up_without_cancelling_what_comes_after() -> None:
    guard = CallGuard("consumer")
    with guard.call():
        guard.wake_up()
    await asyncio.sleep(0)
    with pytest.raises(WakeupError), guard.call():
        pytest.fail("the wakeup waits for the next call")


async def test_whoever_closes_ends_the_call_with_its_own_error() -> None:
    guard, until = CallGuard("consumer"), asyncio.Event()
    task = await waiting_in(guard, until)
    await guard.end_other_calls(ClientClosed("closed"))
    with pytest.raises(ClientClosed):
        await task
    with guard.call():
        pass
