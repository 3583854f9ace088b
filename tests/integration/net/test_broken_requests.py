"""A broken request ends its connection once what came before it is answered, as Kafka does: it has one request of a connection in work."""

from __future__ import annotations

import pytest

from tests.integration.net.test_socket_server import edge
from tests.patience import until


async def test_what_came_before_a_broken_request_is_still_answered() -> None:
    async with edge() as running:
        client = await running.connect()
        client.send(b"one", b"two", b"bad")
        assert [await client.read(), await client.read()] == [b"one", b"two"]
        assert await client.at_end()


@pytest.mark.parametrize("broken", [b"bad", b"w+malformed", b"w+bad", None])
async def test_what_waits_is_answered_before_a_broken_request_ends_its_connection(
    broken: bytes | None,
) -> None:
    """None: a frame of an impossible size."""
    async with edge() as running:
        client = await running.connect()
        client.send(b"w+1", b"w+2")
        await running.has_started(b"w+1", b"w+2")
        if broken is None:
            client.writer.write(b"\xff\xff\xff\xff")
        else:
            client.send(broken)
        client.send(b"w+never")
        await client.writer.drain()
        begun = [b"w+1", b"w+2"] + ([broken] if broken == b"w+malformed" else [])
        if broken == b"w+bad":
            begun += [b"w+bad", b"w+never"]
        await running.has_started(*begun)
        running.script.released.set()
        assert [await client.read(), await client.read()] == [b"w+1", b"w+2"]
        assert await client.at_end()
        assert running.script.started == (begun if broken != b"bad" else [*begun, b"bad"])


async def test_a_client_that_hangs_up_behind_a_broken_request_is_gone_at_once() -> None:
    async with edge() as running:
        client, other = await running.connect(), await running.connect()
        client.send(b"w+1")
        await running.has_started(b"w+1")
        client.send(b"w+malformed", b"w+never")
        await running.has_started(b"w+1", b"w+malformed")
        client.writer.close()
        await until(lambda: running.script.cancelled == 1)
        other.send(b"fine")
        assert await other.read() == b"fine"
        assert running.script.started == [b"w+1", b"w+malformed", b"fine"]
