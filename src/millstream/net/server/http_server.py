"""A small HTTP server for probes and scrapes: GET and HEAD, one request a connection, a few connections at a time.

Owns sockets, limits and deadlines. What is said under which path is the responder's business. A probe must be answered however
many slow clients there are, or the node would be restarted for nothing: when there are too many connections the one that has been
silent for the longest time makes room, and if all have asked, the one that has been reading its answer for the longest time.
"""

from __future__ import annotations

import asyncio
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
    """The HTTP server. It binds its port when it is made, so that a wrong port fails before anything else happens."""

    def __init__(self, host: str, port: int) -> None:
        """Raises ConfigError with a sentence for the operator."""
        self._listening = open_listening_socket(host, port, CONNECTIONS_MAX)
        self._respond: Responder = lambda _path: plain(HTTPStatus.SERVICE_UNAVAILABLE, "")
        self._silent: dict[asyncio.Task[None], None] = {}
        """Who has not asked yet, the oldest first."""
        self._answered: dict[asyncio.Task[None], None] = {}
        """Who is being answered, the oldest first."""
        self._making = asyncio.Lock()

    @property
    def url(self) -> str:
        host, port = self._listening.getsockname()[:2]
        return f"http://{host}:{port}"

    def close(self) -> None:
        """Stops accepting connections."""
        self._listening.close()

    async def serve(self, respond: Responder) -> None:
        """Serves until cancelled, then drops all connections."""
        self._respond = respond
        async with asyncio.TaskGroup() as tasks:

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = tasks.create_task(self._converse(reader, writer))
                self._silent[task] = None
                task.add_done_callback(self._forget)
                self._make_room()

            server = await asyncio.start_server(accept, sock=self._listening, limit=HEAD_BYTES_MAX)
            try:
                await asyncio.Event().wait()  # not serve_forever: it would wait for slow clients
            finally:
                server.close()

    def _make_room(self) -> None:
        if len(self._silent) + len(self._answered) > CONNECTIONS_MAX:
            crowded = self._silent if len(self._silent) > 1 else self._answered
            oldest = next(iter(crowded))
            self._forget(oldest)
            # Not before its first step: its connection would stay open.
            asyncio.get_running_loop().call_soon(oldest.cancel)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._silent.pop(task, None)
        self._answered.pop(task, None)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request. A client that is slow, sends no valid request or goes away is dropped without an answer."""
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            self._asked()
            async with asyncio.timeout(_RESPONSE_TIMEOUT_S):
                await self._answer(head, writer)
                writer.close()
                await writer.wait_closed()
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
            writer.transport.abort()  # close() would wait until all is read; once closed it does nothing

    def _asked(self) -> None:
        task = asyncio.current_task()
        if task in self._silent:
            del self._silent[task]
            self._answered[task] = None

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
            while (piece := await self._next_piece(response.body)) is not None:
                writer.write(piece)
                await writer.drain()
        await writer.drain()

    async def _next_piece(self, body: AsyncIterator[bytes]) -> bytes | None:
        """Makes the next piece, one at a time, so that many scrapes at once take no more of the loop than one."""
        async with self._making:
            return await anext(body, None)


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
