"""A small HTTP server for probes and scrapes: GET and HEAD, one request a connection, a few connections at a
time, with TLS or without.

Where only this machine can reach it, it answers only who asks for this machine: a web page of somebody else can have
its own name resolve to 127.0.0.1 (DNS rebinding), and would read the answers in the browser of whoever looks at it.

Owns sockets, limits and deadlines. What is said under which path is the responder's business. A probe must be answered
however many slow clients there are, or the node would be restarted for nothing: when there are too many connections the
one that has been silent for the longest time makes room, and if all have asked, the one that has been reading its
answer for the longest time.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from millstream.net.listening_socket import accepted, open_listening_socket
from millstream.net.loopback import LOOPBACK_NAMES, is_loopback

_LOGGER = logging.getLogger(__name__)
CONNECTIONS_MAX: Final = 32
"""Ours: probes and scrapes come from a few places, every few seconds."""
HEAD_BYTES_MAX: Final = 8 * 1024
"""As other servers take (Apache's, nginx's)."""
_REQUEST_TIMEOUT_S: Final = 10
"""Ours: of the handshake, and once more of the request. A probe has given up by then
(Kubernetes: 1 s, Prometheus: 10 s)."""
_RESPONSE_TIMEOUT_S: Final = 60
"""Ours: the metrics of thousands of partitions over a slow line."""
_NOT_MADE: Final = b"this page could not be made; the log of the node says why\n"


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


class TlsOfPages(Protocol):
    """The TLS of the pages: its context of the moment."""

    context: ssl.SSLContext


class HttpServer:
    """The HTTP server. It binds its port when it is made, so that a wrong port fails before anything else happens."""

    def __init__(self, host: str, port: int, tls: TlsOfPages | None = None) -> None:
        """Raises ConfigError with a sentence for the operator."""
        self._listening = open_listening_socket(host, port, CONNECTIONS_MAX)
        self._tls = tls
        bound = self._listening.getsockname()[0]
        self._names = (*LOOPBACK_NAMES, host.lower(), bound) if is_loopback(bound) else None
        """What may be asked for; None: everything."""
        self._respond: Responder = lambda _path: plain(HTTPStatus.SERVICE_UNAVAILABLE, "")
        self._silent: dict[asyncio.Task[None], None] = {}
        """Who has not asked yet, the oldest first."""
        self._answered: dict[asyncio.Task[None], None] = {}
        """Who is being answered, the oldest first."""
        self._making = asyncio.Lock()

    @property
    def url(self) -> str:
        host, port = self._listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        return f"{'http' if self._tls is None else 'https'}://{shown}:{port}"

    @property
    def is_reachable_from_outside(self) -> bool:
        """Whether other machines can reach it."""
        return self._names is None

    @property
    def asks_for_certificates(self) -> bool:
        """Whether only who shows a certificate is answered."""
        return self._tls is not None and self._tls.context.verify_mode == ssl.CERT_REQUIRED

    def close(self) -> None:
        """Stops accepting connections."""
        self._listening.close()

    async def serve(self, respond: Responder) -> None:
        """Serves until cancelled, then drops all connections."""
        self._respond = respond
        async with asyncio.TaskGroup() as tasks:
            async for connection in accepted(self._listening):
                task = tasks.create_task(self._serve(connection))
                self._silent[task] = None
                task.add_done_callback(self._forget)
                self._make_room()

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

    async def _serve(self, connection: socket.socket) -> None:
        """Serves one client. It counts from the moment it is accepted, also while it does not shake hands."""
        with connection:
            try:
                async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                    reader, writer = await self._opened(connection)
            except (OSError, TimeoutError) as why:  # ssl.SSLError is an OSError
                _LOGGER.debug("an HTTP connection was dropped in its handshake: %s", why)
                return
            await self._converse(reader, writer)

    async def _opened(
        self, connection: socket.socket
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=HEAD_BYTES_MAX)
        protocol = asyncio.StreamReaderProtocol(reader)
        context = None if self._tls is None else self._tls.context
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=context)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request.

        A client that is slow, sends no valid request or goes away is dropped without an answer.
        """
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            self._note_request()
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
            _LOGGER.exception("a page broke off")  # no probe may take the node down
        finally:
            writer.transport.abort()  # close() would wait until all is read; once closed it does nothing

    def _note_request(self) -> None:
        task = asyncio.current_task()
        if task in self._silent:
            del self._silent[task]
            self._answered[task] = None

    async def _answer(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        method, path = _request_line(head)
        response, piece = await self._begun(method, path, head)
        writer.write(
            f"HTTP/1.1 {response.status.value} {response.status.phrase}\r\n"
            f"Content-Type: {response.content_type}\r\n"
            "Cache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        while method != "HEAD" and piece is not None:
            writer.write(piece)
            await writer.drain()
            piece = await self._next_piece(response.body)
        await writer.drain()

    async def _begun(
        self, method: str, path: str, head: bytes
    ) -> tuple[HttpResponse, bytes | None]:
        """A response with its first piece: only then is it known whether the page can be made, and
        a status cannot be taken back.
        """
        try:
            response = self._response(method, path, head)
            return response, await self._next_piece(response.body)
        except Exception:
            _LOGGER.exception("a page could not be made")  # no probe may take the node down
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR, ""), _NOT_MADE

    def _response(self, method: str, path: str, head: bytes) -> HttpResponse:
        if method not in ("GET", "HEAD"):
            return _refusal(method)
        if self._names is not None and not all(each in self._names for each in _hosts(head)):
            return plain(
                HTTPStatus.MISDIRECTED_REQUEST,
                "this port is for this machine alone: ask for localhost, or have it listen at another address\n",
            )
        return self._respond(path)

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


def _hosts(head: bytes) -> list[str]:
    """The hosts that a request is for, without their ports. What is no browser may leave them out."""
    lines = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
    told = [value.strip().decode("latin-1") for name, _, value in lines if name == b"host"]
    return [
        each.partition("]")[0] + "]" if "]" in each else each.partition(":")[0] for each in told
    ]


def _refusal(method: str) -> HttpResponse:
    if not method:
        return plain(HTTPStatus.BAD_REQUEST, "this is not HTTP/1\n")
    return plain(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are served\n")
