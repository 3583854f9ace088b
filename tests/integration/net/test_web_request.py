"""A web server is asked within a limit of time and of bytes for the whole answer, and nobody waits for it longer."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from millstream.net.client.core.http_answer import AnswerTooLong
from millstream.net.client.web_request import WebRequest, ask
from tests.patience import LONG_ENOUGH_MS, LONG_ENOUGH_S

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\n"


class Server:
    """Answers each request with what a test says, then closes."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        self.heads: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        self.asked.set()
        with contextlib.suppress(OSError):
            await self._answer(writer)
            await writer.drain()
        writer.close()
        self.left.set()


@contextlib.asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[tuple[Server, WebRequest]]:
    made = Server(answer)
    listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    url = urllib.parse.urlsplit(f"http://127.0.0.1:{port}/a?b=c")
    async with listening:
        yield made, WebRequest("GET", url, {"Accept": "text/plain"}, None, None)


async def test_the_request_names_its_host_and_an_answer_in_chunks_is_one_body() -> None:
    async def chunks(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")

    async with server(chunks) as (made, request):
        assert await ask(request, LONG_ENOUGH_MS, LONG_ENOUGH_MS) == (200, b"abcde")
    lines = made.heads[0].decode().splitlines()
    assert lines[0] == "GET /a?b=c HTTP/1.1"
    assert {f"Host: {request.url.netloc}", "Accept: text/plain", "Connection: close"} <= {*lines}


async def test_a_server_that_leaves_its_connection_open_is_not_waited_for() -> None:
    """`Connection: close` is a wish; the answer says where it ends."""
    heard = asyncio.Event()

    async def stay(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Content-Length: 3\r\n\r\nabc")
        await heard.wait()

    async with server(stay) as (_, request):
        assert await ask(request, LONG_ENOUGH_MS, LONG_ENOUGH_MS) == (200, b"abc")
        heard.set()


async def test_an_answer_that_is_cut_off_is_none() -> None:
    async def half(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Content-Length: 10\r\n\r\nabc")

    async with server(half) as (_, request):
        with pytest.raises(http.client.IncompleteRead):
            await ask(request, LONG_ENOUGH_MS, LONG_ENOUGH_MS)


async def test_a_server_that_sends_a_byte_now_and_then_is_left_when_the_time_is_over() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with server(drip) as (made, request):
        with pytest.raises(TimeoutError, match="no whole answer within 200 ms"):
            await ask(request, LONG_ENOUGH_MS, 200)
        async with asyncio.timeout(LONG_ENOUGH_S):
            await made.left.wait()


async def test_an_answer_without_an_end_is_read_up_to_a_bound() -> None:
    async def film(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        while not writer.is_closing():
            writer.write(b"x" * 65536)
            await writer.drain()

    async with server(film) as (made, request):
        with pytest.raises(AnswerTooLong, match="more than 1048576 bytes"):
            await ask(request, LONG_ENOUGH_MS, LONG_ENOUGH_MS)
        async with asyncio.timeout(LONG_ENOUGH_S):
            await made.left.wait()


async def test_who_is_cancelled_waits_for_no_answer() -> None:
    may_answer = asyncio.Event()

    async def silence(_: asyncio.StreamWriter) -> None:
        await may_answer.wait()

    async with server(silence) as (made, request):
        asking = asyncio.ensure_future(ask(request, LONG_ENOUGH_MS, LONG_ENOUGH_MS))
        await made.asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(LONG_ENOUGH_S / 2):
                await asking
        may_answer.set()


async def test_nobody_listens() -> None:
    async with server(lambda _: asyncio.sleep(0)) as (_, request):
        pass
    with pytest.raises(ConnectionRefusedError):
        await ask(request, LONG_ENOUGH_MS, LONG_ENOUGH_MS)


@pytest.mark.parametrize("url", ["https://", "http://a:99999/"])
async def test_what_is_no_url_is_refused(url: str) -> None:
    request = WebRequest("GET", urllib.parse.urlsplit(url), {}, None, None)
    with pytest.raises(ValueError, match=r"names no host|[Pp]ort"):
        await ask(request, LONG_ENOUGH_MS, LONG_ENOUGH_MS)
