"""Connections that wait for a quota: nothing of theirs starts meanwhile, and nothing waits for them."""

from __future__ import annotations

import gc
import time

from millstream.net.server.connection import ServerConnection
from tests.integration.net.test_socket_server import PAUSE_MS, edge
from tests.patience import LONG_ENOUGH_S, until
from tests.support.freed_objects import Living

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


async def test_who_leaves_while_it_waits_for_a_quota_is_gone_at_once() -> None:
    """What it sent before is handled: nobody is told of a request without an answer that is lost."""
    async with edge() as running:
        running.script.pause_ms = AN_HOUR_MS
        client = await running.connect()
        client.send(b"pause", b"none", b"pause", b"none")
        assert await client.read() == b"pause"
        client.writer.close()
        await until(lambda: running.server.connection_count == 0)
        assert running.script.started == [b"pause", b"none", b"pause", b"none"]


async def test_who_closes_its_sending_side_alone_does_not_wait_either() -> None:
    async with edge() as running:
        running.script.pause_ms = AN_HOUR_MS
        client = await running.connect()
        client.send(b"pause", b"none")
        assert await client.read() == b"pause"
        client.writer.write_eof()
        assert await client.at_end()
        assert running.script.started == [b"pause", b"none"]


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
