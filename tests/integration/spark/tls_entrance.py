"""A door to a broker that opens only to a client's certificate, or to a login with a password, both over TLS.

Every client needs the settings, or gets nowhere.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from millstream.protocol.api import ApiKey, Message
from millstream.protocol.frames import decode_request, encode_response
from millstream.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from millstream.testing.broker import Broker
from tests.integration.clients.scripted_broker import Exchange, Script
from tests.integration.clients.security.certificates import Authority

PASSWORD = "sesame"  # of the client's key, and of its user


@dataclass(frozen=True)
class Entrance:
    """`settings`: what a client needs besides the address."""

    bootstrap_servers: str
    settings: dict[str, str]
    wrong_password: dict[str, str]
    """Settings with which clients get nowhere."""


@contextmanager
def tls_entrance(directory: Path) -> Iterator[Entrance]:
    """A broker behind TLS; it tells clients to come through the door."""
    authority = Authority(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("broker"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.path)
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(authority.path),
        "ssl.keystore.location": str(authority.issue("client", password=PASSWORD)),
        "ssl.key.password": PASSWORD,
    }
    wrong = {"ssl.key.password": f"{PASSWORD}-2"}
    with _broker_behind(context, mechanism=None) as bootstrap_servers:
        yield Entrance(bootstrap_servers, settings, wrong)


@contextmanager
def sasl_entrance(directory: Path, mechanism: str) -> Iterator[Entrance]:
    """The same with a login. The password is where Java programs have it."""
    authority = Authority(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("broker"))
    settings = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": str(authority.path),
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": _login(mechanism, PASSWORD),
    }
    wrong = {"sasl.jaas.config": _login(mechanism, f"{PASSWORD}-2")}
    with _broker_behind(context, mechanism) as bootstrap_servers:
        yield Entrance(bootstrap_servers, settings, wrong)


def _login(mechanism: str, password: str) -> str:
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return (
        f"org.apache.kafka.common.security.{module}LoginModule required "
        f'username="alice" password="{password}";'
    )


@contextmanager
def _broker_behind(context: ssl.SSLContext, mechanism: str | None) -> Iterator[str]:
    """The broker tells clients to come through the door, whose address this is."""
    with Broker() as first:  # what it advertises later hides its port
        upstream = int(first.bootstrap_servers.rpartition(":")[2])
    with _serving(context, upstream, mechanism) as port:
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        with Broker(port=upstream, settings=advertised, in_process=False):
            yield f"127.0.0.1:{port}"


@contextmanager
def _serving(context: ssl.SSLContext, upstream: int, mechanism: str | None) -> Iterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with _closing(writer):
            to, back = await asyncio.open_connection("127.0.0.1", upstream)
            async with _closing(back):
                if mechanism is None or await _is_let_in(mechanism, reader, writer, to, back):
                    await asyncio.gather(_pump(reader, back), _pump(to, writer))

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    starting = asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    server = asyncio.run_coroutine_threadsafe(starting, loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_ended(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _is_let_in(
    mechanism: str,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    to: asyncio.StreamReader,
    back: asyncio.StreamWriter,
) -> bool:
    """Goes on until the client has logged in. Before that it may ask the broker for nothing but its versions."""
    exchange = Exchange(Script((mechanism,), {"alice": PASSWORD}))
    with suppress(asyncio.IncompleteReadError, OSError):
        while not exchange.is_done:
            frame = await _frame(reader)
            header, request = decode_request(memoryview(frame)[4:])
            key = ApiKey(header.request_api_key)
            if key is ApiKey.API_VERSIONS:
                back.write(frame)
                writer.write(await _frame(to))
            elif (answer := _answered(exchange, request)) is None:
                return False
            else:
                version, number = header.request_api_version, header.correlation_id
                pieces = encode_response(key, version, number, answer)
                writer.writelines(pieces)  # type: ignore[arg-type]  # none of them is in a file
            await writer.drain()
    return exchange.is_done


def _answered(exchange: Exchange, request: Message) -> Message | None:
    match request:
        case SaslHandshakeRequest():
            return exchange.handshake(request)
        case SaslAuthenticateRequest():
            return exchange.authenticate(bytes(request.auth_bytes))
        case _:
            return None


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """With its size prefix."""
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size, "big"))


@asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Closed in the end, also where the test ends first."""
    try:
        yield
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _ended(server: asyncio.Server) -> None:
    server.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
