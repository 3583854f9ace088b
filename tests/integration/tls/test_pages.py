"""The TLS of pages when their certificate changes while they are served."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path

from millstream.net.server.http_server import CONNECTIONS_MAX, HttpServer
from tests.integration.clients.security.certificates import Authority


@dataclass
class Tls:
    context: ssl.SSLContext


def server_context(path: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


async def shown(server: HttpServer, trusted: ssl.SSLContext) -> bytes | None:
    """The certificate that a client sees, and that the page behind it is served."""
    address, port = server.url.removeprefix("https://").split(":")
    reader, writer = await asyncio.open_connection(address, int(port), ssl=trusted)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 503")
    certificate: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return certificate


async def test_the_next_handshake_has_the_certificate_that_was_read_last(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = Tls(server_context(authority.issue("first")))
    trusted = ssl.create_default_context(cafile=authority.path)
    trusted.check_hostname = False
    server = HttpServer("127.0.0.1", 0, tls)
    serving = asyncio.get_running_loop().create_task(server.serve(server._respond))
    before = await shown(server, trusted)
    tls.context = server_context(authority.issue("second"))
    after = await shown(server, trusted)
    assert before != after
    assert after == await shown(server, trusted)
    serving.cancel()
    await asyncio.wait([serving])
    server.close()


async def test_clients_that_never_shake_hands_take_no_place_of_others(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = Tls(server_context(authority.issue("pages")))
    trusted = ssl.create_default_context(cafile=authority.path)
    trusted.check_hostname = False
    server = HttpServer("127.0.0.1", 0, tls)
    serving = asyncio.get_running_loop().create_task(server.serve(server._respond))
    port = int(server.url.rpartition(":")[2])
    silent = [
        (await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(3 * CONNECTIONS_MAX)
    ]
    assert await shown(server, trusted)
    assert len(server._silent) <= CONNECTIONS_MAX
    for each in silent:
        each.transport.abort()
    serving.cancel()
    await asyncio.wait([serving])
    server.close()
