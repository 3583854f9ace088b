"""Serves the pages in this process until SIGTERM or Ctrl-C."""

from __future__ import annotations

import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final, NoReturn

import uvicorn

from millstream.console.application import ANY_HOST, create_application
from millstream.console.cluster_reader import ClusterReader
from millstream.streams.query_server.crowded_http import GivesWay

_CONNECTIONS_MAX: Final = 64
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1", "[::1]")


class _Connection(GivesWay):
    connections_max = _CONNECTIONS_MAX


def serve(
    listening: socket.socket,
    settings: Mapping[str, Any],  # Any: the clients check the values
    timeout_ms: int,
    announce: Callable[[str], None],
) -> None:
    """Serves the console. `announce` gets the address of the pages, before the first is served. Raises ConfigError for `settings`."""
    host, port = listening.getsockname()[:2]
    allowed_hosts = _LOOPBACK_NAMES if ipaddress.ip_address(host).is_loopback else ANY_HOST
    application = create_application(ClusterReader(settings, timeout_ms), allowed_hosts)
    server = uvicorn.Server(
        uvicorn.Config(
            application,
            log_level="warning",
            http=_Connection,
            timeout_graceful_shutdown=2 * timeout_ms // 1000 + 1,
            server_header=False,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn stops on the signal, then raises it once more for the handler before: with the default action a clean
        # end would be a death by signal.
        signal.signal(number, _stop)
    shown = f"[{host}]" if ":" in host else host
    with contextlib.suppress(_Stopped):
        announce(f"http://{shown}:{port}/")
        server.run(sockets=[listening])


class _Stopped(BaseException):
    """A signal has asked to end: before the server was there, or after it has ended."""


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped
