"""The share consumer as several tasks use it."""

from __future__ import annotations

import asyncio

import pytest

from millstream.clients import ShareConsumer
from millstream.net.client.tasks import ClientClosed


async def test_who_closes_second_waits_until_the_first_has_told_the_brokers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consumer: ShareConsumer = ShareConsumer(bootstrap_servers="127.0.0.1:1", group_id="g")
    may_leave = asyncio.Event()

    async def leave(_limit_ms: int) -> None:
        await may_leave.wait()

    async def call() -> None:
        with consumer._guard.call():
            await asyncio.Event().wait()

    monkeypatch.setattr(consumer, "_leave", leave)
    calling = asyncio.create_task(call())
    await asyncio.sleep(0)
    closes = [asyncio.create_task(consumer.close()) for _ in range(2)]
    with pytest.raises(ClientClosed):
        await calling
    done, _ = await asyncio.wait(closes, timeout=0.01)  # it must not end by then
    assert not done
    may_leave.set()
    await asyncio.gather(*closes)


async def test_what_is_no_record_is_told_what_to_give() -> None:
    settings = {"bootstrap_servers": "127.0.0.1:1", "group_id": "g"}
    async with ShareConsumer(**settings) as consumer:
        with pytest.raises(TypeError, match=r"a record that poll\(\) returned, got 5; for an off"):
            consumer.acknowledge(5)
