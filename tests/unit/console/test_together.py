from __future__ import annotations

import asyncio

import pytest

from millstream.console.cluster_reader import together
from millstream.errors import RequestTimedOut


async def test_results_come_in_the_order_of_the_calls() -> None:
    second_done = asyncio.Event()

    async def first() -> int:
        await second_done.wait()
        return 1

    async def second() -> int:
        second_done.set()
        return 2

    assert await together([first(), second()]) == [1, 2]


async def test_the_first_error_ends_the_others_and_is_raised_as_it_is() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")

    async def fails() -> None:
        raise RequestTimedOut("late")

    with pytest.raises(RequestTimedOut, match="late"):
        await together([waits(), fails()])
    assert ended == ["waits"]


async def test_a_call_whose_answer_was_cancelled_has_failed() -> None:
    """CancelledError would say that the browser has gone."""

    async def lost() -> None:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        answer.cancel()
        await answer

    with pytest.raises(RuntimeError, match="waited for was cancelled"):
        await together([lost()])
