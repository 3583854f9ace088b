"""A small HTTP server for probes and scrapes: GET and HEAD, one request a connection, a few connections at a time.

Owns sockets, limits and deadlines. What is said under which path is the responder's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from millstream.net.listening_socket import open_listening_socket

_LOGGER = logging.getLogger(__name__)
CONNECTIONS_MAX: Final = 32
HEAD_BYTES_MAX: Final = 8 * 1024
_REQUEST_TIMEOUT_S: Final = 10
_RESPONSE_TIMEOUT_S: Final = 60


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The body comes in pieces, so that a long one gives way to other work between them."""

    status: HTTPStatus
    content_type: str
    body: AsyncIterator[bytes]


Responder = Callable[[str], HttpResponse]
"""From a path, without its query, to what is said there."""


async def one_piece(data: bytes) -> AsyncIterator[bytes]:
    yield data


def plain(status: HTTPStatus, text: str) -> HttpResponse:
    return HttpResponse(status, "text/plain; charset=utf-8", one_piece(text.encode()))


class HttpServer:
    """Bound when it is made, so that a wrong port fails before anything else happens."""

    def __init__(self, host: str, port: int) -> None:
        """Raises ConfigError with a sentence for the operator."""
        self._listening = open_listening_socket(host, port, CONNECTIONS_MAX)
        self._respond: Responder = lambda _path: plain(HTTPStatus.SERVICE_UNAVAILABLE, "")
        self._open = 0

    @property
    def url(self) -> str:
        host, port = self._listening.getsockname()[:2]
        return f"http://{host}:{port}"

    def close(self) -> None:
        """Nothing is accepted any more."""
        self._listening.close()

    async def serve(self, respond: Responder) -> None:
        """Until cancelled; then everything is dropped."""
        self._respond = respond
        async with asyncio.TaskGroup() as tasks:

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                tasks.create_task(self._converse(reader, writer))

            server = await asyncio.start_server(accept, sock=self._listening, limit=HEAD_BYTES_MAX)
            try:
                await asyncio.Event().wait()  # not serve_forever: it would wait for slow clients
            finally:
                server.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request. Whoever is slow, says nothing sensible or goes away is dropped without a word."""
        self._open += 1
        try:
            if self._open <= CONNECTIONS_MAX:
                async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                async with asyncio.timeout(_RESPONSE_TIMEOUT_S):
                    await self._answer(head, writer)
        except (
            TimeoutError,
            OSError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ) as why:
            _LOGGER.debug("an HTTP connection was dropped: %s", why)
        except Exception:
            _LOGGER.exception("a page could not be made")  # no probe may take the node down
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        method, path = _request_line(head)
        response = self._respond(path) if method in ("GET", "HEAD") else _refusal(method)
        writer.write(
            f"HTTP/1.1 {response.status.value} {response.status.phrase}\r\n"
            f"Content-Type: {response.content_type}\r\n"
            "Cache-Control: no-store\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        if method != "HEAD":
            async for piece in response.body:
                writer.write(piece)
                await writer.drain()
        await writer.drain()


def _request_line(head: bytes) -> tuple[str, str]:
    """Method and path; empty when the first line is not one of HTTP."""
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return "", ""
    return words[0], words[1].partition("?")[0]


def _refusal(method: str) -> HttpResponse:
    if not method:
        return plain(HTTPStatus.BAD_REQUEST, "this is not HTTP/1\n")
    return plain(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are served\n")
