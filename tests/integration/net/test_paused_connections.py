"""Connections that wait for a quota: nothing of theirs starts meanwhile, and nothing waits for them."""

from __future__ import annotations

import gc
import time

from millstream.net.server.connection import ServerConnection
from tests.integration.broker.test_long_lived_objects import Living
from tests.integration.net.test_socket_server import PAUSE_MS, edge
from tests.patience import LONG_ENOUGH_S, until

AN_HOUR_MS = 3_600_000


async def test_a_connection_that_waits_for_its_quota_starts_nothing_until_then() -> None:
    async with edge() as running:
        client, other = await running.connect(), await running.connect()
        began = time.monotonic()
        client.send(b"pause", b"next")
        assert await client.read() == b"pause", "the answer leaves at once"
        other.send(b"bystander")
        assert await other.read() == b"bystander"
        assert await client.read() == b"next"
        assert time.monotonic() - began >= PAUSE_MS / 1000
        assert running.script.started == [b"pause", b"bystander", b"next"]


async def test_what_was_sent_before_the_client_left_waits_for_its_quota_too() -> None:
    async with edge() as running:
        client = await running.connect()
        began = time.monotonic()
        client.send(b"pause", b"next")
        await client.read()
        client.writer.close()
        await until(lambda: running.server.connection_count == 0)
        assert time.monotonic() - began >= PAUSE_MS / 1000
        assert running.script.started == [b"pause", b"next"]


async def test_who_waits_for_a_quota_holds_up_no_stop() -> None:
    async with edge() as running:
        running.script.pause_ms = AN_HOUR_MS
        client = await running.connect()
        client.send(b"pause", b"next")
        assert await client.read() == b"pause"
        assert await running.server.drain(LONG_ENOUGH_S)
        assert running.script.started == [b"pause"]


async def test_a_connection_that_is_closed_takes_the_timer_of_its_wait_along() -> None:
    connections = Living(ServerConnection)
    async with edge() as running:
        running.script.pause_ms = AN_HOUR_MS
        client = await running.connect()
        client.send(b"pause")
        await client.read()
        assert connections.count() == 1
    gc.collect()
    assert connections.count() == 0
