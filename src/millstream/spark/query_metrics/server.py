"""`/metrics` of a driver, for Prometheus: the HTTP server of nodes, on the loop thread of the blocking clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus

from millstream.broker.metrics.exposition import CONTENT_TYPE
from millstream.clients.blocking.loop_thread import shared
from millstream.net.client.tasks import TaskScope
from millstream.net.server.http_server import HttpResponse, HttpServer, plain


class MetricsServer:
    """Serves what `text` returns, from the moment it is made until `close`.

    There is no login: keep the port on a private network.
    """

    def __init__(self, text: Callable[[], str], *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Port 0 takes a free one; `url` says which. Raises ConfigError for an address that cannot be listened at."""
        self._text = text
        self._server = HttpServer(host, port)
        self._scope = TaskScope("metrics server")
        self._loop = shared()
        self._loop.call(lambda: self._scope.start(self._server.serve(self._respond), "serve"))

    @property
    def url(self) -> str:
        return f"{self._server.url}/metrics"

    def close(self) -> None:
        self._loop.run(self._scope.close())
        self._server.close()

    def _respond(self, path: str) -> HttpResponse:
        if path != "/metrics":
            return plain(HTTPStatus.NOT_FOUND, "there is /metrics\n")
        return HttpResponse(HTTPStatus.OK, CONTENT_TYPE, self._page())

    async def _page(self) -> AsyncIterator[bytes]:
        """Made in another thread, since it is a function of users."""
        yield (await asyncio.to_thread(self._text)).encode()
