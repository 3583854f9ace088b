"""One request to a web server, within one limit of time and of bytes for the whole answer.

`http.client` writes the request into memory, `AnswerReader` reads the answer; the connection is the event loop's. So a
server that sends a byte a second is left when the time is over, and a caller that is cancelled waits for nothing.
"""

from __future__ import annotations

import asyncio
import http.client
import ssl
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from millstream.net.client.core.http_answer import PIECE_BYTES, AnswerReader, HttpAnswer
from millstream.net.network import Network, SocketBuffers, SystemNetwork

if TYPE_CHECKING:
    import socket

ANSWER_BYTES_MAX: Final = 1024 * 1024
"""Ours, of an answer with its header: tokens and sets of keys have some kilobytes, and an address that was mistyped may
have a film."""


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One request. `tls` is the context for https."""

    method: str
    url: urllib.parse.SplitResult
    headers: Mapping[str, str]
    body: str | None
    tls: ssl.SSLContext | None


async def ask(
    request: WebRequest, connect_ms: int, answer_ms: int, network: Network | None = None
) -> tuple[int, bytes]:
    """Returns status and body. Another place that the answer names is not gone to: somebody named this one.

    Raises OSError, of which TimeoutError is one, HTTPException, or ValueError for what is no URL.
    """
    sent = _Sent()
    connection = _connection(request, sent)
    target = urllib.parse.urlunsplit(("", "", request.url.path or "/", request.url.query, ""))
    headers = {**request.headers, "Connection": "close"}
    connection.request(request.method, target, request.body, headers)
    try:
        async with asyncio.timeout(connect_ms / 1000):
            reader, writer = await _open(connection, request.tls, network or SystemNetwork())
    except TimeoutError as error:
        raise TimeoutError(f"no connection within {connect_ms} ms") from error
    try:
        async with asyncio.timeout(answer_ms / 1000):
            writer.write(sent.data)
            answer = await _read(reader, AnswerReader(request.method, ANSWER_BYTES_MAX))
    except TimeoutError as error:
        raise TimeoutError(f"no whole answer within {answer_ms} ms") from error
    finally:
        writer.transport.abort()
    return answer.status, answer.body


class _Sent:
    """Stands in for the socket of `http.client`, which only writes the request."""

    def __init__(self) -> None:
        self.data = bytearray()

    def sendall(self, data: bytes) -> None:
        self.data += data


def _connection(request: WebRequest, sent: _Sent) -> http.client.HTTPConnection:
    host, port = request.url.hostname, request.url.port
    if not host:
        raise ValueError("it names no host")
    connection = (
        http.client.HTTPConnection(host, port)
        if request.tls is None
        else http.client.HTTPSConnection(host, port, context=request.tls)
    )
    connection.sock = cast("socket.socket", sent)
    return connection


async def _open(
    connection: http.client.HTTPConnection, tls: ssl.SSLContext | None, network: Network
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Tries every address of the host, in their order."""
    failure: OSError | None = None
    for endpoint in await network.resolve(connection.host, connection.port):
        try:
            sock = await network.connect(endpoint, SocketBuffers())
        except OSError as error:
            failure = error
            continue
        try:
            return await asyncio.open_connection(
                sock=sock, ssl=tls, server_hostname=connection.host if tls else None
            )
        except BaseException:
            sock.close()
            raise
    assert failure is not None, "a name that resolves has addresses"
    raise failure


async def _read(reader: asyncio.StreamReader, answer: AnswerReader) -> HttpAnswer:
    while piece := await reader.read(PIECE_BYTES):
        if answer.receive_data(piece):
            break
    return answer.answer()
