"""What counts as the time of a request: its work, whenever that is done, and never its waits."""

from __future__ import annotations

import asyncio

import pytest

from millstream.broker.quotas.request_time import RequestTime


class Hand:
    """A clock of nanoseconds, and one of a thread, that go on when a test says so."""

    def __init__(self) -> None:
        self.now_ns = 100
        self.busy_ns = 0

    def time(self) -> RequestTime:
        return RequestTime(100, lambda: self.now_ns, lambda: self.busy_ns)


def test_it_runs_from_the_beginning_until_it_is_stopped() -> None:
    hand = Hand()
    time = hand.time()
    hand.now_ns += 5
    assert time.spent_ns() == 5
    time.stop()
    hand.now_ns += 1_000
    assert time.spent_ns() == 5


async def test_the_steps_of_a_coroutine_count_and_what_lies_between_them_does_not() -> None:
    hand, released = Hand(), asyncio.Event()
    time = hand.time()

    async def work() -> str:
        hand.now_ns += 3
        await released.wait()
        hand.now_ns += 4
        await asyncio.sleep(0)
        hand.now_ns += 5
        return "answer"

    hand.now_ns += 2
    timed = time.during(work())
    hand.now_ns += 1_000
    task = asyncio.ensure_future(timed)
    await asyncio.sleep(0)
    hand.now_ns += 10_000
    released.set()
    assert await task == "answer"
    assert time.spent_ns() == 2 + 3 + 4 + 5


async def test_a_cancellation_reaches_the_work_and_an_error_leaves_it() -> None:
    hand, heard = Hand(), []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            hand.now_ns += 7
            heard.append("cancelled")
            raise

    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    time = hand.time()
    task = asyncio.ensure_future(time.during(waits()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (heard, time.spent_ns()) == (["cancelled"], 7)
    with pytest.raises(KeyError):
        await time.during(fails())


def test_of_a_thread_the_time_of_the_processor_counts() -> None:
    hand = Hand()
    time = hand.time()
    time.stop()

    def work() -> str:
        hand.now_ns += 1_000
        hand.busy_ns += 30
        return "done"

    assert time.in_thread(work) == "done"
    assert time.spent_ns() == 30
