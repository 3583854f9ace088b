"""Work in a thread is over when its caller goes on, however often the caller is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from millstream.net.client.tasks import uninterrupted


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_caller_that_is_cancelled_is_so_once_the_work_has_ended(times: int) -> None:
    """First by its client that hangs up, then by the server that ends."""
    work: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    caller = asyncio.ensure_future(uninterrupted(work))
    for _ in range(times):
        await asyncio.sleep(0)
        caller.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not caller.done()
    work.set_result(None)
    await asyncio.wait({caller})
    assert caller.cancelled()


async def test_work_that_failed_fails_its_caller_and_nothing_else() -> None:
    work: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    caller = asyncio.ensure_future(uninterrupted(work))
    await asyncio.sleep(0)
    work.set_exception(ValueError("bug"))
    with pytest.raises(ValueError, match="bug"):
        await caller
