"""A listener that is no broker: silent, garbage, a TLS port. Clients say what they met, in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from millstream.clients import Producer
from millstream.errors import BrokerNotAvailable

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listener(behaviour: Behaviour) -> AsyncIterator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await behaviour(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"{host}:{port}"
    finally:
        server.close()
        await server.wait_closed()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()  # until the client gives up


async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write(b"\x00\x00\x00\x0a" + b"\xff" * 10)
    await writer.drain()
    await reader.read()


async def tls_alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What a TLS port answers to plain bytes."""
    await reader.read(10)
    writer.write(bytes.fromhex("15030300020246"))
    await writer.drain()


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        (silent, r"no answer from .* within \d+ ms"),
        (garbage, "sent what is not Kafka's protocol: .*answered request -1; 0 was next"),
        (tls_alert, "answered in TLS; set security_protocol to SSL or SASL_SSL"),
        (hang_up, "closed the connection before it answered.*try security_protocol=SSL"),
    ],
)
async def test_what_the_client_met_is_in_the_error(behaviour: Behaviour, sentence: str) -> None:
    async with (
        listener(behaviour) as address,
        Producer(
            bootstrap_servers=address, max_block_ms=500, socket_connection_setup_timeout_ms=100
        ) as producer,
    ):
        async with asyncio.timeout(5):
            with pytest.raises(BrokerNotAvailable, match=sentence) as caught:
                await producer.send("t", b"x")
        assert address in str(caught.value)
