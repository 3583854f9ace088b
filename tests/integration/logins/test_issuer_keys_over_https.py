"""The keys of token issuers over HTTPS: from who can prove to be the host of the URL, from nowhere else, and within bounds."""

from __future__ import annotations

import asyncio
import http.client
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from millstream.broker.login.issuer_keys import fetch_document
from tests.integration.clients.security.certificates import Authority

KEYS = b'{"keys": []}'


class Issuer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "/keys?v=1")
            self.end_headers()
            return
        self.send_response(200 if self.path in {"/keys?v=1", "/large"} else 404)
        self.end_headers()
        self.wfile.write(b" " * (2 << 20) if self.path == "/large" else KEYS)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """The one that this process believes."""
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.path))
    return made


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[HTTPServer]:
    """Its certificate is set by a test."""
    server = HTTPServer(("127.0.0.1", 0), Issuer)
    yield server
    server.server_close()


def serve(server: HTTPServer, certificate: Path) -> Thread:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/keys?v=1", None),
        ("/nowhere", "status 404"),
        ("/elsewhere", "status 302"),
        ("/large", "more than 1048576 bytes"),
    ],
)
def test_a_document_is_fetched_within_bounds(
    authority: Authority, issuer: HTTPServer, path: str, problem: str | None
) -> None:
    thread = serve(issuer, authority.issue("issuer"))
    url = f"https://127.0.0.1:{issuer.server_port}{path}"
    try:
        if problem is None:
            assert asyncio.run(fetch_document(url)) == KEYS
        else:
            with pytest.raises((ValueError, http.client.HTTPException), match=problem):
                asyncio.run(fetch_document(url))
    finally:
        issuer.shutdown()
        thread.join()


@pytest.mark.parametrize("host", ["127.0.0.2", "issuer.example"])
def test_another_host_is_not_believed(authority: Authority, issuer: HTTPServer, host: str) -> None:
    thread = serve(issuer, authority.issue("issuer", host=host))
    try:
        with pytest.raises(ssl.SSLCertVerificationError):
            asyncio.run(fetch_document(f"https://127.0.0.1:{issuer.server_port}/keys?v=1"))
    finally:
        issuer.shutdown()
        thread.join()


def test_a_stranger_is_not_believed(
    authority: Authority, issuer: HTTPServer, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "stranger")
    thread = serve(issuer, stranger.issue("issuer"))
    try:
        with pytest.raises(ssl.SSLCertVerificationError):
            asyncio.run(fetch_document(f"https://127.0.0.1:{issuer.server_port}/keys?v=1"))
    finally:
        issuer.shutdown()
        thread.join()
