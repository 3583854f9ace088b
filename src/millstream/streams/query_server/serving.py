"""Serves the queries of an application beside it, in its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Final, Self

import uvicorn

from millstream.errors import ConfigError
from millstream.net.client.tasks import TaskScope
from millstream.net.loopback import LOOPBACK_NAMES, is_loopback
from millstream.streams.queries.metadata import Partitioner
from millstream.streams.query_server.application import create_query_application, own_address
from millstream.streams.query_server.crowded_http import GivesWay
from millstream.streams.query_server.crowded_server import CrowdedServer
from millstream.streams.query_server.door import QueryTls, check_door
from millstream.streams.query_server.forwarding import HttpForwarder
from millstream.streams.query_server.questions import QueriedApplication

_CONNECTIONS_MAX: Final = 256
"""A quarter of the usual limit of 1,024 open files: the clients and stores of the application need theirs."""
_CLOSING_S: Final = 5
"""Half of what containers are given to end: the application ends after its server."""


class _Connection(GivesWay):
    connections_max = _CONNECTIONS_MAX


class QueryServer:
    """Serves as long as its `async with` block lasts. It listens at `application_server`.

    Who may ask: this machine; with a `token` its holders, with a trust store in `tls` who has a certificate. All
    instances have the same. `host` is another address to listen at, "" all of the machine.
    """

    def __init__(
        self,
        application: QueriedApplication,
        *,
        host: str | None = None,
        partitioners: Mapping[str, Partitioner] | None = None,
        token: str | None = None,
        tls: QueryTls | None = None,
        open_to_all: bool = False,
    ) -> None:
        """`open_to_all`: whoever reaches the address may read the stores.

        Raises ConfigError where the application has no `application_server`, and for a server that
        everybody could ask by accident.
        """
        self._own = own = own_address(application)
        self._host = own.host if host is None else host
        check_door(self._host, token=token, tls=tls, open_to_all=open_to_all)
        theirs, ours = (None, None) if tls is None else tls.contexts()
        web = create_query_application(
            application,
            forwarder=HttpForwarder(token=token, tls=ours),
            partitioners=partitioners,
            token=token,
            allowed_hosts=(*LOOPBACK_NAMES, own.host) if is_loopback(self._host) else ("*",),
        )
        self._config = uvicorn.Config(
            web,
            log_level="warning",
            access_log=False,
            http=_Connection,
            ws="none",
            timeout_graceful_shutdown=_CLOSING_S,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
        )
        self._tls = theirs
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._scope = TaskScope("query server")

    async def __aenter__(self) -> Self:
        """Begins to listen. Raises ConfigError for an address that cannot be listened at."""
        try:
            listening = socket.create_server((self._host, self._own.port))
        except OSError as error:
            raise ConfigError(
                f"the query server cannot listen at {self._host or '*'}:{self._own.port} ({error}): give application_server "
                "a free port, or `host` an address of this machine"
            ) from error
        self._server = _Server(self._config, _Connection, listening, self._tls)
        self._serving = self._scope.start(self._server.serve(), "serve", awaited=True)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._server is not None and self._serving is not None:
                self._server.should_exit = True
                await self._serving
        finally:
            await self._scope.close()


class _Server(CrowdedServer):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the application."""
        yield
