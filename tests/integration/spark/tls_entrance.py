"""A door to a broker that only TLS with a client's certificate opens: every client needs the settings, or gets nowhere."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from millstream.testing.broker import Broker
from tests.integration.clients.security.certificates import Authority


@dataclass(frozen=True)
class Entrance:
    """`settings`: what a client needs besides the address."""

    bootstrap_servers: str
    settings: dict[str, str]


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
        "ssl.keystore.location": str(authority.issue("client", password="sesame")),
        "ssl.key.password": "sesame",
    }
    with Broker() as first:  # what it advertises later hides its port
        upstream = int(first.bootstrap_servers.rpartition(":")[2])
    with _serving(context, upstream) as port:
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        with Broker(port=upstream, settings=advertised, in_process=False):
            yield Entrance(f"127.0.0.1:{port}", settings)


@contextmanager
def _serving(context: ssl.SSLContext, upstream: int) -> Iterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with _closing(writer):
            to, back = await asyncio.open_connection("127.0.0.1", upstream)
            async with _closing(back):
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
