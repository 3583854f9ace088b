"""What the pages of a node answer to requests that are hostile or meant for somebody else. No sockets: a request is bytes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest

from millstream.net.loopback import is_loopback
from millstream.net.server import http_server
from millstream.net.server.http_server import HttpResponse, HttpServer, plain


class Listening:
    """A socket that is bound to this address."""

    def __init__(self, host: str) -> None:
        self._host = host

    def getsockname(self) -> tuple[str, int]:
        return self._host, 9404


class Writer:
    def __init__(self) -> None:
        self.sent = b""
        self.transport = self

    def write(self, data: bytes) -> None:
        self.sent += data

    async def drain(self) -> None:
        """Has sent everything."""

    def close(self) -> None:
        """Ends."""

    async def wait_closed(self) -> None:
        """Has ended."""

    def abort(self) -> None:
        """Has ended."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> HttpServer:
    return server_at("127.0.0.1", monkeypatch)


def server_at(host: str, monkeypatch: pytest.MonkeyPatch) -> HttpServer:
    monkeypatch.setattr(http_server, "open_listening_socket", lambda *_: Listening(host))
    server = HttpServer(host, 9404)
    server._respond = known_page
    return server


def known_page(path: str) -> HttpResponse:
    return plain(http_server.HTTPStatus(200 if path == "/metrics" else 404), f"{path}\n")


async def answer(server: HttpServer, sent: bytes) -> tuple[int | None, str]:
    """The status, None where the connection is closed without a word, and the whole answer."""
    reader = asyncio.StreamReader(limit=http_server.HEAD_BYTES_MAX)
    reader.feed_data(sent)
    reader.feed_eof()
    writer: Any = Writer()
    await server._converse(reader, writer)
    text = writer.sent.decode("latin-1")
    return (int(text.split(" ")[1]) if text else None), text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:9404", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:9404", 200),
        ("[::1]:9404", 200),
        ("evil.example", 421),
        ("evil.example:9404", 421),
        ("localhost.evil.example", 421),
        ("[::2]:9404", 421),
        ("", 421),
    ],
)
async def test_a_port_of_this_machine_answers_for_this_machine_alone(
    server: HttpServer, host: str, status: int
) -> None:
    """DNS rebinding: the browser believes that it reads the attacker's site."""
    request = f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    assert (await answer(server, request))[0] == status


async def test_a_name_of_this_machine_that_was_given_is_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Debian's machines have their own name resolve to 127.0.1.1."""
    monkeypatch.setattr(http_server, "open_listening_socket", lambda *_: Listening("127.0.1.1"))
    server = HttpServer("Laptop", 9404)
    server._respond = known_page
    for host, status in (("laptop:9404", 200), ("127.0.1.1:9404", 200), ("evil.example", 421)):
        request = f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        assert (await answer(server, request))[0] == status


async def test_a_second_host_does_not_hide_the_first(server: HttpServer) -> None:
    request = b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n"
    assert (await answer(server, request))[0] == 421


async def test_a_probe_that_is_no_browser_may_leave_the_host_out(server: HttpServer) -> None:
    assert (await answer(server, b"GET /metrics HTTP/1.0\r\n\r\n"))[0] == 200


@pytest.mark.parametrize("address", ["0.0.0.0", "10.1.2.3", "::"])
async def test_a_port_that_others_reach_is_asked_by_any_name(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prometheus and kubelets ask by the address of a pod, or a name that only they know."""
    server = server_at(address, monkeypatch)
    assert server.is_reachable_from_outside
    assert (await answer(server, b"GET /metrics HTTP/1.1\r\nHost: node7\r\n\r\n"))[0] == 200


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /../../etc/passwd HTTP/1.1", 404),
        ("GET /metrics/../metrics HTTP/1.1", 404),
        ("GET /%6detrics HTTP/1.1", 404),
        ("GET //metrics HTTP/1.1", 404),
        ("GET http://evil.example/metrics HTTP/1.1", 404),
        ("GET /metrics?x=1 HTTP/1.1", 200),
        ("POST /metrics HTTP/1.1", 405),
        ("TRACE /metrics HTTP/1.1", 405),
        ("GET /metrics", 400),
        ("GET  /metrics HTTP/1.1", 400),
        ("\x16\x03\x01\x02\x00", 400),
    ],
)
async def test_only_the_pages_that_there_are_are_served(
    server: HttpServer, request_line: str, status: int
) -> None:
    assert (await answer(server, f"{request_line}\r\n\r\n".encode("latin-1")))[0] == status


async def broken() -> AsyncIterator[bytes]:
    raise OSError("the directory is gone")
    yield b""  # a page is made in pieces


def unmade(path: str) -> HttpResponse:
    if path == "/readyz":
        raise ZeroDivisionError
    return HttpResponse(http_server.HTTPStatus.OK, "text/plain", broken())


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/metrics", "/readyz"])
async def test_a_page_that_cannot_be_made_is_no_empty_page(
    server: HttpServer, caplog: pytest.LogCaptureFixture, path: str, method: str
) -> None:
    """A scrape without a line would be taken for a node that measures nothing, a probe of 200 for one that is well."""
    server._respond = unmade
    status, text = await answer(server, f"{method} {path} HTTP/1.1\r\n\r\n".encode())
    assert status == 500
    body = "this page could not be made; the log of the node says why\n" if method == "GET" else ""
    assert text.partition("\r\n\r\n")[2] == body
    assert "a page could not be made" in caplog.text


@pytest.mark.parametrize(("method", "body"), [("GET", "onetwo"), ("HEAD", "")])
async def test_a_page_comes_whole_and_its_head_alone_where_that_is_asked(
    server: HttpServer, method: str, body: str
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"one", b"", b"two"):
            yield piece

    server._respond = lambda _: HttpResponse(http_server.HTTPStatus.OK, "text/plain", pieces())
    status, text = await answer(server, f"{method} /metrics HTTP/1.1\r\n\r\n".encode())
    assert (status, text.partition("\r\n\r\n")[2]) == (200, body)


async def test_a_head_that_is_too_long_gets_no_answer(server: HttpServer) -> None:
    long = b"GET /metrics HTTP/1.1\r\nX: " + b"x" * http_server.HEAD_BYTES_MAX
    assert await answer(server, long + b"\r\n\r\n") == (None, "")


async def test_nothing_that_was_asked_comes_back_as_a_header(server: HttpServer) -> None:
    _, text = await answer(
        server, b"GET /x%0d%0aSet-Cookie:a=b HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    head = text.partition("\r\n\r\n")[0]
    assert "Set-Cookie" not in head
    assert "X-Content-Type-Options: nosniff" in head


@pytest.mark.parametrize(
    ("host", "is_of_this_machine"),
    [("127.0.0.1", True), ("127.8.0.1", True), ("::1", True), ("localhost", True), ("", False),
     ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("localhost.evil.example", False)],
)  # fmt: skip
def test_which_addresses_are_those_of_this_machine(host: str, *, is_of_this_machine: bool) -> None:
    assert is_loopback(host) is is_of_this_machine


@pytest.mark.parametrize(
    ("asked", "is_asked"),
    [(ssl.CERT_REQUIRED, True), (ssl.CERT_OPTIONAL, False), (ssl.CERT_NONE, False)],
)
def test_who_may_be_answered_is_known(
    asked: ssl.VerifyMode, *, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not server_at("0.0.0.0", monkeypatch).asks_for_certificates

    class Tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    Tls.context.verify_mode = asked
    assert HttpServer("0.0.0.0", 9404, Tls()).asks_for_certificates is is_asked


def test_the_address_of_a_page_names_ipv6_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert server_at("::1", monkeypatch).url == "http://[::1]:9404"
