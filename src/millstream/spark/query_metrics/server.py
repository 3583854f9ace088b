"""`/metrics` of a driver, for Prometheus: one small HTTP server in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from millstream.broker.metrics.exposition import CONTENT_TYPE


class MetricsServer:
    """Serves what `text` returns, from the moment it is made until `close`. There is no login: keep the port on a private network."""

    def __init__(self, text: Callable[[], str], *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Port 0 takes a free one; `url` says which."""
        self._server = ThreadingHTTPServer((host, port), _handler(text))
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(text: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10.0
        """A client that sends nothing keeps no thread."""

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(HTTPStatus.NOT_FOUND, "there is /metrics")
                return
            body = text().encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's signature
            """Says nothing: a scrape every few seconds is no news."""

    return Handler
