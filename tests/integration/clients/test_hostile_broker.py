"""A listener that is no broker: silent, garbage, a TLS port. Clients say what they met, in time."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from millstream.clients import Admin, Producer
from millstream.errors import BrokerNotAvailable, RequestTimedOut
from millstream.net.client.connections import NoBrokerReachable
from tests.integration.clients.refusals import refusal
from tests.integration.clients.scripted_broker import Script, scripted_broker
from tests.patience import LONG_ENOUGH_S

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
        refused = await refusal(lambda: producer.send("t", b"x"), sentence, address)
        assert isinstance(refused, BrokerNotAvailable)


async def test_an_administrator_gives_up_when_its_time_is_over() -> None:
    async def ask(address: str) -> None:
        async with Admin(
            bootstrap_servers=address, default_api_timeout_ms=300, request_timeout_ms=100
        ) as admin:
            await admin.list_topics()

    async with asyncio.timeout(LONG_ENOUGH_S), listener(silent) as address:
        silence = await refusal(lambda: ask(address), "did not answer API_VERSIONS", address)
        assert isinstance(silence, NoBrokerReachable)
        nobody = await refusal(lambda: ask("127.0.0.1:1"), "refused", "127.0.0.1:1")
        assert isinstance(nobody, NoBrokerReachable)


async def relay_slowly(
    broker: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answers of `broker`, a few bytes at a time."""
    host, port = broker.split(":")
    from_broker, to_broker = await asyncio.open_connection(host, int(port))
    try:
        while size := await reader.read(4):
            to_broker.write(size + await reader.readexactly(int.from_bytes(size, "big")))
            answered = await from_broker.readexactly(4)
            answer = answered + await from_broker.readexactly(int.from_bytes(answered, "big"))
            for at in range(0, len(answer), 7):
                writer.write(answer[at : at + 7])
                await writer.drain()
    finally:
        to_broker.close()


async def test_answers_in_small_pieces_are_put_together() -> None:
    names = tuple(f"topic-{number}" for number in range(300))
    async with (
        scripted_broker(Script(topics=names)) as broker,
        listener(functools.partial(relay_slowly, broker.address)) as address,
        Admin(bootstrap_servers=address) as admin,
    ):
        assert sorted(await admin.list_topics()) == sorted(names)


@pytest.mark.parametrize("announced", [1000, 100_000], ids=["small", "large"])
async def test_half_an_answer_is_waited_for_no_longer_than_a_request_may_take(
    announced: int,
) -> None:
    async def half(broker: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The first answer is whole, of the second there is one half."""
        host, port = broker.split(":")
        from_broker, to_broker = await asyncio.open_connection(host, int(port))
        size = await reader.readexactly(4)
        to_broker.write(size + await reader.readexactly(int.from_bytes(size, "big")))
        answered = await from_broker.readexactly(4)
        writer.write(answered + await from_broker.readexactly(int.from_bytes(answered, "big")))
        to_broker.close()
        size = await reader.readexactly(4)
        request = await reader.readexactly(int.from_bytes(size, "big"))
        writer.write(announced.to_bytes(4, "big") + request[4:8] + bytes(announced // 2))
        await reader.read()

    async with (
        scripted_broker() as broker,
        listener(functools.partial(half, broker.address)) as address,
        Producer(bootstrap_servers=address, max_block_ms=400, request_timeout_ms=100) as producer,
    ):
        sentence = "did not answer METADATA within 0.1 s"
        refused = await refusal(lambda: producer.send("t", b"x"), sentence)
        assert isinstance(refused, RequestTimedOut)
